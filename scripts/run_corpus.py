"""The corpus at every door: what was blocked, what was let through, what was in the way, and why.

Each case stands in a world of its own (:mod:`benchmarks.corpus.world`). Exit status 0 when every
case came out as it must at every door; a known shortfall is counted apart, and one that has been
mended is a failure too, so that its mark is removed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from benchmarks.corpus.case import Case, load
from benchmarks.corpus.doors import DOORS
from benchmarks.corpus.judge import Verdict, judge

_WORDS: Final = ("blocked", "allowed", "LOOSE", "WRONG", "known", "mended")
_NARROW: Final = 60


def main(words: Sequence[str] | None = None) -> int:
    """Run what was asked for and print it."""
    args = _arguments(words)
    cases = [case for case in load() if args.only in case.id or args.only == case.area]
    if not cases:
        print(f"corpus: no case has {args.only!r} in its id", file=sys.stderr)
        return 1
    doors = [args.door] if args.door else list(DOORS)
    verdicts = []
    for verdict in _tried([(case, door) for door in doors for case in cases], args.jobs):
        verdicts.append(verdict)
        if sys.stderr.isatty():
            print(f"\r{len(verdicts)} of {len(cases) * len(doors)} ", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r" + " " * _NARROW + "\r", end="", file=sys.stderr)
    shown = report(verdicts)
    if not args.json:
        _table(verdicts, doors)
    print(json.dumps(shown) if args.json else shown["summary"])
    return 0 if shown["ok"] else 1


def report(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the whole outcome as JSON."""
    doors: dict[str, dict[str, int]] = {}
    for verdict in verdicts:
        counts = doors.setdefault(verdict.door, dict.fromkeys(_WORDS, 0))
        counts[verdict.word] += 1
    cases = {verdict.case.id: verdict.case for verdict in verdicts}
    benign = sum(case.kind == "benign" for case in cases.values())
    wrong = [verdict for verdict in verdicts if not verdict.ok]
    return {
        "cases": len(cases),
        "attacks": len(cases) - benign,
        "benign": benign,
        "doors": doors,
        "known": sorted(
            {f"{one.id}: {one.known}" for one in cases.values() if one.known is not None}
        ),
        "failures": [
            {"case": one.case.id, "door": one.door, "is": one.word, "why": list(one.faults)}
            for one in wrong
        ],
        "summary": f"{len(cases)} cases ({benign} benign) at {', '.join(doors)}: "
        + (f"{len(wrong)} not as they must be" if wrong else "all as they must be"),
        "ok": not wrong,
    }


def _tried(work: Sequence[tuple[Case, str]], jobs: int) -> Iterator[Verdict]:
    """Try each case at each door, several at a time in processes of their own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs) as pool:
        yield from pool.imap(_try, [(case.id, door) for case, door in work])


def _try(work: tuple[str, str]) -> Verdict:
    name, door = work
    return judge(_cases()[name], door, DOORS[door])


_LOADED: dict[str, Case] = {}


def _cases() -> dict[str, Case]:
    """Read the cases once in each process."""
    if not _LOADED:
        _LOADED.update({case.id: case for case in load()})
    return _LOADED


def _table(verdicts: Sequence[Verdict], doors: Sequence[str]) -> None:
    areas = sorted({verdict.case.area for verdict in verdicts})
    for door in doors:
        print(f"{door:10}" + "".join(f"{word:>13}" for word in _WORDS))
        for area in areas:
            counted = Counter(
                one.word for one in verdicts if (one.door, one.case.area) == (door, area)
            )
            print(f"  {area:8}" + "".join(f"{counted[word] or '':>13}" for word in _WORDS))
    for one in verdicts:
        if one.case.known is not None and one.door == doors[0]:
            print(f"known: {one.case.id} ({one.case.title}): {one.case.known}")
    for one in verdicts:
        if not one.ok:
            print(f"{one.word}: {one.case.id} at {one.door} ({one.case.title})")
            for fault in one.faults:
                print(f"    {fault}")


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run_corpus", description=__doc__)
    parser.add_argument("--door", choices=list(DOORS), help="one door; default: every door")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="cases with this in their id, or an area"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
