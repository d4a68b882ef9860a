"""`counterfoil init`: make keys, starter policy and configuration; keep what exists."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gateway.assembly.places import places
from gateway.assembly.setup import initialize
from gateway.cli import act
from gateway.cli.main import say
from gateway.kit import canon
from gateway.model.names import Json


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    parser = verbs.add_parser("init", help=text, description=text)
    act.add_places(parser)
    parser.add_argument(
        "--workspace", metavar="DIR", default=".", help="where the agent works (default: here)"
    )
    parser.add_argument(
        "--policy", metavar="FILE", help="register this file instead of writing a starter policy"
    )


def run(args: argparse.Namespace) -> int:
    """Make what is missing and say what was made."""
    where = places(config=args.config, state_dir=args.state_dir)
    policy = None if args.policy is None else Path(args.policy)
    made = initialize(where, workspace=Path(args.workspace), policy=policy)
    if args.json:
        lines: list[Json] = [{"path": str(one.path), "new": one.new} for one in made]
        say(canon.dumps(lines).decode(), sys.stdout)
        return 0
    for one in made:
        say(f"{'made' if one.new else 'kept'}  {one.path}", sys.stdout)
    say("next: counterfoil check fs.read path=README.md", sys.stdout)
    return 0
