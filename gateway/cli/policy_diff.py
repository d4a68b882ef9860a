"""`counterfoil policy diff`: what another policy decides otherwise, each shown by an act.

`loosened` and `tightened` are told apart; `owes` is the same effect with other obligations. Exit
status: 0, or 2 when `--fail-on` names what was found, or not all could be compared.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway.assembly.build import options_from
from gateway.assembly.policies import load_policy, variables
from gateway.cli import act
from gateway.cli.main import say
from gateway.decide.analysis.compare import MAX_PAIRS, complete
from gateway.kit import canon, text
from gateway.model.names import Json
from gateway.record.disk import Disk
from gateway.record.read import records
from gateway.replay.diff import Change, from_log, from_rules, from_traces
from gateway.replay.simulate import ON_ASK
from gateway.replay.stand import standing
from gateway.replay.trace import Trace, TraceError, read_trace

KINDS: Final = ("loosened", "tightened", "owes")


def add_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("before", metavar="BEFORE", help="a policy")
    parser.add_argument("after", metavar="AFTER", help="the policy that would take its place")
    parser.add_argument(
        "--trace", action="append", default=[], metavar="TRACE",
        help="also compare the calls of this trace (JSONL; may be given again)",
    )  # fmt: skip
    parser.add_argument("--log", action="store_true", help="also count the acts of the log")
    parser.add_argument(
        "--on-ask", choices=ON_ASK, default="deny", help="what a person would say (default deny)"
    )
    parser.add_argument(
        "--fail-on", default="", metavar="KINDS", help=f"exit 2 for these: {','.join(KINDS)}"
    )
    act.add_places(parser)
    parser.set_defaults(usage=parser.error)


def run(args: argparse.Namespace) -> int:
    """Compare two policies under the roots of the first."""
    wanted = {word for word in args.fail_on.split(",") if word}
    if wanted - set(KINDS):
        args.usage(f"--fail-on: {', '.join(sorted(wanted - set(KINDS)))} is none of {KINDS}")
    options = options_from(door="cli", policy=None, config=args.config, state_dir=args.state_dir)
    first = load_policy(Path(args.before)).policy
    names = load_policy(Path(args.after), roots=first.roots).policy.document.roots
    roots = first.roots if set(names) <= set(first.roots) else None
    if roots is None:
        args.usage("the policies have different roots; only the same can be compared")
    with (
        standing(options, Path(args.before), roots=roots) as before,
        standing(options, Path(args.after), roots=roots) as after,
    ):
        whole_look = complete(before.policy, after.policy, variables())
        changes, unseen = from_rules(before, after, variables())
        changes += from_traces(before, after, _traces(args.trace), args.on_ask)
        disk = Disk(root=options.places.state_dir)
        recorded = from_log(before, after, records(disk.log)) if args.log else None
    counts = Counter(change.kind for change in changes)
    whole: dict[str, Json] = {
        "changes": [change.to_json() for change in changes],
        "counts": {kind: counts[kind] for kind in KINDS},
        "unseen": list(unseen),
        "complete": whole_look,
    }
    if recorded is not None:
        by_rule: dict[str, Json] = dict(recorded.by_rule)
        whole["log"] = {"acts": recorded.acts, "not_replayed": recorded.acts, "by_rule": by_rule}
    if args.json:
        say(canon.dumps(whole).decode(), sys.stdout)
    else:
        for line in _lines(changes, whole):
            say(text.escape(line), sys.stdout)
    return 2 if wanted and (not whole_look or any(counts[kind] for kind in wanted)) else 0


def _traces(names: list[str]) -> Iterator[Trace]:
    for name in names:
        try:
            with Path(name).open("rb") as stream:
                yield read_trace(stream, name)
        except OSError as error:
            raise TraceError(f"{name}: {error.strerror}") from None


def _lines(changes: list[Change], whole: dict[str, Json]) -> Iterator[str]:
    for kind in KINDS:
        for change in changes:
            if change.kind == kind:
                before, after = (
                    f"{one.effect.word} by {one.rule} ({one.reason})"
                    for one in (change.before, change.after)
                )
                yield f"{kind} ({change.source}): {before} -> {after}"
                yield f"    shown by {canon.dumps(dict(change.request)).decode()}"
    unseen = whole["unseen"]
    if isinstance(unseen, list) and unseen:
        yield f"differ, and no act was found that shows it: {', '.join(map(str, unseen))}"
    if not whole["complete"]:
        yield f"more than {MAX_PAIRS} pairs of rules: not all were compared with each other"
    log = whole.get("log")
    if isinstance(log, dict):
        yield (
            f"log: {log['acts']} acts, none of which can be judged again (only digests are kept); "
            f"decided by rules that differ: {log['by_rule'] or 'none'}"
        )
    counts = whole["counts"]
    if isinstance(counts, dict):
        yield ", ".join(f"{number} {kind}" for kind, number in counts.items())
