"""`counterfoil run`: take one act the whole road.

Content goes to stdout, the decision to stderr. Exit status: 0 done, 2 denied, 1 usage or executed
and failed. In mode dry-run, and with `--dry-run`, it ends like `check` does.
"""

from __future__ import annotations

import argparse
import sys

from gateway.cli import act
from gateway.cli.main import say


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    parser = verbs.add_parser("run", help=text, description=text)
    parser.add_argument(
        "--dry-run", action="store_true", help="decide and record, as `check` does; execute nothing"
    )
    act.add_act(parser)


def run(args: argparse.Namespace) -> int:
    """Run, show, return the exit status."""
    request, given = act.answer(args, execute=True)
    act.show(args, request, given)
    if given.allowed and given.result is None and not args.json:
        say("dry run: nothing was done", sys.stderr)
    return act.status_of(given)
