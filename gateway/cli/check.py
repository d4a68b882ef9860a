"""`counterfoil check`: decide acts and record the decisions; nothing is executed, nobody asked.

One act as for `run`, or many with `--requests`: a request as JSON on each line. Exit status for one
act: 0 allow, 2 deny, 3 ask, 1 usage. With `--fail-on` (for CI), and for many: 2 when a decision is
one of those named (default `deny,ask`), else 0.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from gateway.cli import act
from gateway.cli.main import say
from gateway.doors.deny import standing_deny
from gateway.errors import CounterfoilError
from gateway.kit import canon
from gateway.link.link import InProcess, connect
from gateway.model.names import Effect
from gateway.model.outcome import Answer
from gateway.model.request import ActionRequest
from gateway.normalize.request import parse_request

PROGRESS: Final = 1000
_EFFECTS: Final = tuple(effect.word for effect in Effect)


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    parser = verbs.add_parser("check", help=text, description=text)
    act.add_act(parser)
    parser.add_argument(
        "--requests", metavar="FILE", help="many requests, JSON a line, `-` for standard input"
    )
    parser.add_argument(
        "--fail-on",
        type=_effects,
        metavar="EFFECT[,EFFECT]",
        help="exit 2 when a decision is one of these, else 0 (default for many: deny,ask)",
    )


def run(args: argparse.Namespace) -> int:
    """Decide, show, return the exit status."""
    if args.requests is not None:
        return _many(args)
    request, given = act.answer(args, execute=False)
    act.show(args, request, given)
    if args.fail_on is None:
        return act.status_of(given)
    return 2 if given.decision.effect.word in args.fail_on else 0


def _many(args: argparse.Namespace) -> int:
    if args.tool is not None or args.request is not None or args.argv is not None:
        args.usage("--requests and an act on the command line exclude each other")
    counts: Counter[str] = Counter()
    with _opened(args) as stream:
        for number, request, given in _decided(args, stream):
            counts[given.decision.effect.word] += 1
            if args.json:
                act.show(args, request, given)
            else:
                say(f"{number}: {act.show_decision(given.decision)}", sys.stdout)
            if counts.total() % PROGRESS == 0:
                say(f"{counts.total()} requests ...", sys.stderr)
    words = ", ".join(f"{counts[word]} {word}" for word in _EFFECTS)
    say(f"{counts.total()} requests: {words}", sys.stderr)
    failing = args.fail_on or {"deny", "ask"}
    return 2 if any(counts[word] for word in failing) else 0


def _decided(
    args: argparse.Namespace, stream: BinaryIO
) -> Iterator[tuple[int, ActionRequest, Answer]]:
    """Yield line, request and answer; once the gate cannot stand, every answer is its deny."""
    link: InProcess | None = None
    fault: CounterfoilError | None = None
    try:
        try:
            link = connect(act.options(args))
        except CounterfoilError as error:
            fault = error
        for number, request in _requests(stream):
            given = standing_deny(request, fault) if link is None else link.check(request)
            yield number, request, given
    finally:
        if link is not None:
            link.close()


def _requests(stream: BinaryIO) -> Iterator[tuple[int, ActionRequest]]:
    number = 0
    while line := stream.readline(canon.MAX_BYTES + 1):
        number += 1
        if not line.strip():
            continue
        try:
            yield number, parse_request(line)
        except canon.JsonError as error:
            yield number, ActionRequest(tool="", params={}, malformed=str(error))


def _opened(args: argparse.Namespace) -> BinaryIO:
    if args.requests == "-":
        return sys.stdin.buffer
    try:
        return Path(args.requests).open("rb")
    except OSError as error:
        args.usage(f"--requests {args.requests}: {error.strerror}")
        raise


def _effects(value: str) -> frozenset[str]:
    words = frozenset(value.split(","))
    unknown = words - set(_EFFECTS)
    if unknown:
        known = ", ".join(_EFFECTS)
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))!r}: write some of {known}")
    return words
