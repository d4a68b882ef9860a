"""`counterfoil why ID`: what the log says of one act, from the decision to the outcome.

Shows who asked, what was decided by which rule and why, whether a person was asked, and what came
of it; and the rule itself, if the registered policy is still the one it was decided under. Values
stand in the log as keyed digests only, so the act itself is not shown. Exit status: 0 found, 2 not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from gateway.assembly.build import Options, options_from
from gateway.assembly.policies import load_policy
from gateway.cli import act
from gateway.cli.audit import record_line
from gateway.cli.main import say
from gateway.decide.compile import CompiledRule
from gateway.errors import PolicyError
from gateway.kit import canon
from gateway.kit import text as texts
from gateway.model.names import Json
from gateway.model.reasons import REASONS
from gateway.record.read import records

Record = dict[str, Any]


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    parser = verbs.add_parser("why", help=text, description=text)
    parser.add_argument("id", metavar="ID", help="the action_id of an answer or a record")
    act.add_places(parser)


def run(args: argparse.Namespace) -> int:
    """Show every record of one act."""
    options = options_from(door="cli", policy=None, config=args.config, state_dir=args.state_dir)
    found = [one for one in records(options.places.log) if one.get("action_id") == args.id]
    children = [one for one in records(options.places.log) if one.get("parent_id") == args.id]
    decided = next((one for one in reversed(found) if "reason_code" in one), None)
    if decided is None:
        say(f"no act {texts.escape(args.id)!r} in {options.places.log}", sys.stderr)
        return 2
    rule, note = _rule(options, decided)
    if args.json:
        where: Json = (
            None if rule is None else {"source": rule.place.source, "line": rule.place.line}
        )
        whole: dict[str, Json] = {"records": [*found, *children], "rule": where, "note": note}
        say(canon.dumps(whole).decode(), sys.stdout)
        return 0
    _show(found, children, decided)
    say(note, sys.stdout)
    return 0


def _show(found: list[Record], children: list[Record], decided: Record) -> None:
    code = str(decided["reason_code"])
    for record in found:
        say(record_line(record), sys.stdout)
    for record in children:
        say(f"  found on the way: {record_line(record)}", sys.stdout)
    say(f"{decided['effect']} by {decided['rule_id']}: {REASONS.get(code, code)}", sys.stdout)


def _rule(options: Options, decided: Record) -> tuple[CompiledRule | None, str]:
    """Return the rule that decided, if it can still be shown, and where it stands or why not."""
    name, digest = str(decided["rule_id"]), str(decided.get("policy_digest", ""))
    if name.startswith("builtin:"):
        return None, f"{name} is built in; docs/policy.md says what it denies"
    if options.config is None or options.config.policy is None:
        return None, "no policy is registered here, so the rule cannot be shown"
    path = options.config.policy.path
    try:
        policy = load_policy(Path(path)).policy
    except PolicyError as error:
        return None, f"the registered policy cannot be read: {error}"
    if policy.digest != digest:
        return (
            None,
            f"decided under {digest or 'no policy'}; the registered one is now {policy.digest}",
        )
    rule = next((rule for rule in policy.rules if rule.id == name), None)
    if rule is None:
        return None, f"no rule matched, so {path} counts with `default: {policy.document.default}`"
    return rule, f"rule {name} stands at {rule.place.source}:{rule.place.line}"
