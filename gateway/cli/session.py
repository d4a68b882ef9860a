"""`counterfoil session`: what the log says about this user and workspace, and clearing it.

`show` prints taint and where it came from, and what rules with limits have let through. `clear`
takes `attempted` away, `clear --usage` lets the limits count from nothing again: for a person at a
terminal only, with a reason that is recorded. `exposed` stays: what came back cannot be unseen.
"""

from __future__ import annotations

import argparse
import sys

from gateway.assembly.build import assemble_judge, log_settings, new_id
from gateway.cli import act
from gateway.cli.confirm import confirm
from gateway.cli.main import say
from gateway.kit import canon
from gateway.link.link import require_served
from gateway.model.event import Event, Kind
from gateway.model.names import Json, Taint
from gateway.record import keys
from gateway.record.stage import open_log, peek
from gateway.record.state import USAGE

MAX_REASON = 200
_ATTEMPTED = (str(Taint.ATTEMPTED), "taint `attempted`")
_USAGE = (USAGE, "usage of limits")


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    parser = verbs.add_parser("session", help=text, description=text)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = actions.add_parser("show", help="show taint and where it came from")
    clear = actions.add_parser("clear", help="take the taint `attempted` away; asks you")
    clear.add_argument(
        "--usage", action="store_true", help="instead: what rules with limits have let through"
    )
    clear.add_argument("--reason", required=True, help=f"at most {MAX_REASON} characters, recorded")
    for one in (show, clear):
        act.add_places(one)
        one.add_argument("--policy", metavar="FILE", help="as for `run`, when none is registered")


def run(args: argparse.Namespace) -> int:
    """Show or clear."""
    options = act.options(args)
    require_served(options)
    judge = assemble_judge(options)
    judge.close()
    log_keys = keys.load(options.places.keys)
    state = peek(options.places.state_dir, log_keys, log_settings(), judge.caller.scope)
    if args.action == "show":
        whole: dict[str, Json] = {
            "scope": judge.caller.scope,
            "taint": sorted(map(str, state.taint)),
            "suspended": state.suspended,
            "sources": [{"taint": word, "action_id": source} for word, source in state.sources],
            "usage": {
                rule: {"count": used.count, "bytes": used.bytes}
                for rule, used in state.usage.items()
            },
        }
        if args.json:
            say(canon.dumps(whole).decode(), sys.stdout)
            return 0
        say(f"user and workspace: {judge.caller.user}, {judge.caller.scope}", sys.stdout)
        say(f"taint: {', '.join(sorted(state.taint)) or 'none'}", sys.stdout)
        for word, source in state.sources:
            say(f"  {word} since act {source}", sys.stdout)
        for rule, used in state.usage.items():
            say(f"limits of {rule}: {used.count} acts, {used.bytes} bytes used", sys.stdout)
        return 0
    if not 0 < len(args.reason) <= MAX_REASON:
        say(f"--reason: 1 to {MAX_REASON} characters", sys.stderr)
        return 1
    word, what = _USAGE if args.usage else _ATTEMPTED
    if not (state.usage if args.usage else Taint.ATTEMPTED in state.taint):
        say(f"nothing to clear: the session has no {what}", sys.stdout)
        return 0
    confirm(f"Clear the {what} of {judge.caller.scope}? Reason: {args.reason}")
    event = Event(
        kind=Kind.SESSION_CLEAR,
        caller=judge.caller,
        action_id=new_id(),
        detail={"cleared": [word], "reason": args.reason},
    )
    with open_log(options.places.state_dir, log_keys, log_settings(options.mode)) as log:
        log.append(event, sync=True, expect=state.version)
    say("cleared", sys.stdout)
    return 0
