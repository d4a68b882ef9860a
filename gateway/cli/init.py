"""`counterfoil init`: make keys, starter policy and configuration; keep what exists."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gateway.assembly.places import places
from gateway.assembly.setup import initialize, recipe_names
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
    parser.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="NAME",
        help=f"rules for a kind of tool, may be given again: {', '.join(recipe_names())}",
    )
    parser.set_defaults(usage=parser.error)


def run(args: argparse.Namespace) -> int:
    """Make what is missing and say what was made."""
    where = places(config=args.config, state_dir=args.state_dir)
    policy = None if args.policy is None else Path(args.policy)
    if policy is not None and args.recipe:
        args.usage("--recipe is for the starter policy: include its file in yours instead")
    made = initialize(where, workspace=Path(args.workspace), policy=policy, recipes=args.recipe)
    if args.json:
        lines: list[Json] = [{"path": str(one.path), "new": one.new} for one in made]
        say(canon.dumps(lines).decode(), sys.stdout)
        return 0
    for one in made:
        say(f"{'made' if one.new else 'kept'}  {one.path}", sys.stdout)
    policy_file = made[0]
    if args.recipe and not policy_file.new:
        names = ", ".join(f"{name}.yaml" for name in args.recipe)
        say(f"{policy_file.path} was there: write `include: [{names}]` into it", sys.stdout)
    say("next: counterfoil check fs.read path=README.md", sys.stdout)
    return 0
