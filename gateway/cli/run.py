"""`counterfoil run`: take one act the whole road.

Content goes to stdout, the decision to stderr. Exit status: 0 done, 2 denied, 1 usage or executed
and failed.
"""

from __future__ import annotations

import argparse

from gateway.cli import act


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    act.add_act(verbs.add_parser("run", help=text, description=text))


def run(args: argparse.Namespace) -> int:
    """Run, show, return the exit status."""
    request, given = act.answer(args, execute=True)
    act.show(args, request, given)
    return act.status_of(given)
