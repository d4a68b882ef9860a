"""What `check`, `run` and `explain` share: reading an act from the command line, showing answers.

An act is a tool and its parameters: `NAME=TEXT`, `NAME:=JSON`, an argv list behind `--`, or a
whole request as JSON from a file or standard input (`--request`).
"""

from __future__ import annotations

import argparse
import base64
import sys
from pathlib import Path

from gateway.assembly.build import Options, options_from
from gateway.cli.main import say
from gateway.doors.deny import standing_deny, withheld
from gateway.errors import CounterfoilError
from gateway.kit import canon, text
from gateway.link.link import connect
from gateway.model.decision import Decision
from gateway.model.names import TOOLS, Effect, Json
from gateway.model.outcome import Answer, Result
from gateway.model.request import ActionRequest
from gateway.normalize.request import parse_request

EXIT = {Effect.ALLOW: 0, Effect.ASK: 3, Effect.DENY: 2}


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the options every command has."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--config", metavar="FILE", help="configuration (default: XDG place)")
    parser.add_argument("--state-dir", metavar="DIR", help="keys, log and state (default: XDG)")


def add_act(parser: argparse.ArgumentParser) -> None:
    """Add the options that name an act."""
    add_places(parser)
    parser.set_defaults(usage=parser.error)
    parser.add_argument(
        "--policy",
        metavar="FILE",
        help="may only narrow a registered policy; used as it is when none is registered",
    )
    parser.add_argument(
        "--request", metavar="FILE", help="a whole request as JSON, `-` for standard input"
    )
    parser.add_argument("tool", nargs="?", help=f"one of: {' '.join(TOOLS)}")
    parser.add_argument(
        "params",
        nargs="*",
        metavar="NAME=TEXT",
        help="a parameter; NAME:=JSON for other than text; argv words behind --",
    )


def request_from(args: argparse.Namespace) -> ActionRequest:
    """Read the act the command line names; a wrong command line is a usage error (exit 1).

    Raises:
        canon.JsonError: it is not a request; the message names the parameter.
    """
    if args.request is not None:
        if args.tool is not None or args.argv is not None:
            args.usage("--request and an act on the command line exclude each other")
        try:
            return parse_request(_read(args))
        except canon.JsonError as error:
            return ActionRequest(tool="", params={}, malformed=str(error))
    if args.tool is None:
        args.usage(f"name a tool ({' '.join(TOOLS)}) or --request FILE")
    params: dict[str, Json] = {}
    for word in args.params:
        name, mark, value = word.partition("=")
        if not mark or not name.rstrip(":"):
            args.usage(f"{word!r} is not NAME=TEXT or NAME:=JSON")
        plain = name.removesuffix(":")
        if plain in params:
            args.usage(f"parameter {plain!r} stands twice")
        params[plain] = canon.loads(value.encode()) if name.endswith(":") else value
    if args.argv is not None:
        if "argv" in params:
            args.usage("parameter 'argv' stands twice")
        params["argv"] = list(args.argv)
    return ActionRequest(tool=args.tool, params=params)


def options(args: argparse.Namespace) -> Options:
    """Return the options of the link from the command line."""
    return options_from(
        door="cli",
        policy=args.policy,
        config=args.config,
        state_dir=args.state_dir,
        dry_run=getattr(args, "dry_run", False),
    )


def answer(args: argparse.Namespace, *, execute: bool) -> tuple[ActionRequest, Answer]:
    """Take the act down the road; a gate that cannot be opened answers with its deny."""
    request = request_from(args)
    given: Answer | None = None
    try:
        with connect(options(args)) as link:
            given = link.run(request) if execute else link.check(request)
    except CounterfoilError as error:
        given = standing_deny(request, error) if given is None else withheld(given, error)
    return request, given


def show_decision(decision: Decision) -> str:
    """Return one line for a person."""
    would = "" if decision.would is None else f", would {decision.would.word}"
    where = f"{decision.operation} by {decision.rule} ({decision.reason}{would})"
    return f"{decision.effect.word}: {where}: {text.escape(decision.message)}"


def show(args: argparse.Namespace, request: ActionRequest, given: Answer) -> None:
    """Print an answer: content on stdout, the decision on stderr, or one JSON object."""
    if args.json:
        whole: dict[str, Json] = {**given.decision.to_json(), "action_id": given.action_id}
        if request.id is not None:
            whole["id"] = request.id
        if given.result is not None:
            whole["result"] = result_json(given.result)
        sys.stdout.buffer.write(canon.dumps(whole) + b"\n")
        return
    say(show_decision(given.decision), sys.stderr)
    if given.result is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(given.result.content)
        sys.stdout.buffer.flush()
        if given.result.reason != "done":
            more = f": {given.result.message}" if given.result.message else ""
            say(f"{given.result.status}: {given.result.reason}{text.escape(more)}", sys.stderr)
        if given.result.truncated:
            say("the output is not whole", sys.stderr)


def result_json(result: Result) -> dict[str, Json]:
    """Return a result as JSON; content that is not UTF-8 goes as base64."""
    shown: dict[str, Json] = {
        "status": str(result.status),
        "reason": result.reason,
        "message": result.message,
        "data": dict(result.data),
        "truncated": result.truncated,
    }
    try:
        shown["content"] = result.content.decode("utf-8")
    except UnicodeDecodeError:
        shown["content_base64"] = base64.b64encode(result.content).decode("ascii")
    return shown


def status_of(given: Answer) -> int:
    """Return the exit status of an answer."""
    if given.result is None:
        return EXIT[given.decision.effect]
    return 0 if given.ok and given.result.reason == "done" else 1


def _read(args: argparse.Namespace) -> bytes:
    if args.request == "-":
        return sys.stdin.buffer.read(canon.MAX_BYTES + 1)
    try:
        with Path(args.request).open("rb") as file:
            return file.read(canon.MAX_BYTES + 1)
    except OSError as error:
        args.usage(f"--request {args.request}: {error.strerror}")
        raise
