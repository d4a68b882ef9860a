"""`counterfoil check`: decide an act and record the decision; nothing is executed, nobody asked.

Exit status: 0 allow, 2 deny, 3 ask, 1 usage.
"""

from __future__ import annotations

import argparse

from gateway.cli import act


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    act.add_act(verbs.add_parser("check", help=text, description=text))


def run(args: argparse.Namespace) -> int:
    """Decide, show, return the exit status."""
    request, given = act.answer(args, execute=False)
    act.show(args, request, given)
    return act.status_of(given)
