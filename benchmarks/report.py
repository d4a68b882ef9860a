"""What every benchmark prints: one JSON object last, and its exit status."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Final

ROUNDS: Final = 15
_VERSIONS: Final = ("cryptography", "flask", "google-re2", "orjson", "pydantic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure; `bar` is the most it may be, None when none is set."""

    name: str
    value: float
    unit: str
    bar: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the bar holds."""
        return self.bar is None or self.value <= self.bar


def ratio(
    one: Callable[[], object], reference: Callable[[], object], *, times: int, rounds: int = ROUNDS
) -> float:
    """Return the median of the paired ratios of two loops, run in turn."""
    ratios = []
    for _ in range(rounds):
        first, second = _seconds(one, times), _seconds(reference, times)
        ratios.append(first / second)
    return round(statistics.median(ratios), 3)


def tail_ratio(
    one: Callable[[], object], reference: Callable[[], object], *, times: int = 2000
) -> float:
    """Return the ratio of the 99th percentiles of single calls, taken in turn."""
    mine, theirs = [], []
    for _ in range(times):
        mine.append(_seconds(one, 1))
        theirs.append(_seconds(reference, 1))
    return round(statistics.quantiles(mine, n=100)[98] / statistics.quantiles(theirs, n=100)[98], 3)


def finish(figures: Sequence[Figure]) -> int:
    """Print the figures and return the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true", help="print only the JSON object")
    args = parser.parse_args()
    if not args.json:
        for one in figures:
            bar = "" if one.bar is None else f"  (bar {one.bar})"
            print(f"{'ok ' if one.ok else 'NOT'} {one.name}: {one.value} {one.unit}{bar}")
    whole = {
        "figures": [{**asdict(one), "ok": one.ok} for one in figures],
        "machine": {
            "system": platform.platform(),
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
        },
        "versions": {name: metadata.version(name) for name in _VERSIONS},
    }
    print(json.dumps(whole))
    return 0 if all(one.ok for one in figures) else 1


def _seconds(loop: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        loop()
    return time.perf_counter() - start
