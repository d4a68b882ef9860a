"""`counterfoil policy simulate`: what a policy would decide for every call of a trace.

Nothing is executed or recorded. With `--json` one decision a line; else the same for people and a
count at the end. Exit status: 0 when the trace was gone through, whatever was decided.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from gateway.assembly.build import options_from
from gateway.cli import act
from gateway.cli.main import say
from gateway.kit import canon
from gateway.replay.simulate import ON_ASK, Simulated, simulate
from gateway.replay.stand import Session, standing
from gateway.replay.trace import Trace, TraceError, read_bundle, read_trace

PROGRESS: Final = 5000


def add_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--policy", required=True, metavar="FILE", help="the policy to try out")
    parser.add_argument(
        "--on-ask", choices=ON_ASK, default="deny", help="what a person would say (default deny)"
    )
    parser.add_argument("--user", metavar="NAME", help="who is asking (default: you)")
    parser.add_argument(
        "--batch", metavar="BUNDLE", help='many traces: JSONL of {"name", "events"}, also gzipped'
    )
    parser.add_argument("trace", nargs="?", metavar="TRACE", help="JSONL events, `-` for stdin")
    act.add_places(parser)
    parser.set_defaults(usage=parser.error)


def run(args: argparse.Namespace) -> int:
    """Simulate one trace or a bundle."""
    if (args.trace is None) is (args.batch is None):
        args.usage("name a TRACE, or --batch BUNDLE")
    options = options_from(door="cli", policy=None, config=args.config, state_dir=args.state_dir)
    counts: Counter[str] = Counter()
    with standing(options, Path(args.policy), user=args.user) as session:
        for one in _simulated(args, session):
            counts["asked" if one.asked else one.decision.effect.word] += 1
            if args.json:
                sys.stdout.buffer.write(canon.dumps(one.to_json()) + b"\n")
            else:
                name = "" if one.trace is None else f"{one.trace} "
                say(f"{name}{one.id}: {act.show_decision(one.decision)}", sys.stdout)
            if args.batch and counts.total() % PROGRESS == 0:
                say(f"{counts.total()} calls ...", sys.stderr)
    if not args.json:
        words = ", ".join(f"{counts[word]} {word}" for word in ("allow", "asked", "deny"))
        say(f"{counts.total()} calls: {words}", sys.stdout)
    return 0


def _simulated(args: argparse.Namespace, session: Session) -> Iterator[Simulated]:
    with _opened(args.batch or args.trace) as stream:
        for trace in _traces(args, stream):
            yield from simulate(trace, session.fresh(), args.on_ask)


def _traces(args: argparse.Namespace, stream: BinaryIO) -> Iterator[Trace]:
    if args.batch is not None:
        yield from read_bundle(stream, args.batch)
    else:
        yield read_trace(stream, args.trace)


def _opened(name: str) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise TraceError(f"{name}: {error.strerror}") from None
