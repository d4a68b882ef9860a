"""Acts that two policies may decide differently: points of every rule, and of every two rules.

For each area of either policy: a point in it, a point it shares with each area of the same
operation and with each protected entry, and points in which it goes beyond each of them. Where two
policies differ in what is compared here (paths, names, hosts, users), such a point shows it; a
difference only in a condition that :mod:`gateway.decide.analysis.space` does not understand need
not show, and is named instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from gateway.decide.analysis.acts import Act, act_at
from gateway.decide.analysis.automata import Language
from gateway.decide.analysis.space import Area, Point, areas, point_in
from gateway.decide.compile import Policy
from gateway.decide.glob import Glob
from gateway.model.names import Operation

MAX_PAIRS: Final = 20_000


def candidates(first: Policy, second: Policy, variables: Mapping[str, str]) -> Iterator[Act]:
    """Yield acts, each once; both policies stand under the same roots.

    After MAX_PAIRS pairs of areas only single areas are looked at; `complete` tells beforehand.
    """
    every = [*areas(first, variables), *areas(second, variables)]
    top = next(iter(first.roots.values()))
    by_operation: dict[Operation, list[Area]] = {}
    for area in every:
        by_operation.setdefault(area.operation, []).append(area)
    seen: set[tuple[Operation, tuple[tuple[str, str], ...], str]] = set()
    pairs = 0
    protected = dict.fromkeys((*first.protected_globs, *second.protected_globs))
    for area in every:
        points = list(_alone(area, top))
        if "path" in area.sets:
            points += _protected(area, protected)
        for other in by_operation[area.operation]:
            if other is not area and pairs < MAX_PAIRS:
                pairs += 1
                points += _beside(area, other, top)
        for point in points:
            act = act_at(area, point, first.roots)
            key = (area.operation, tuple(sorted(point.items())), repr(act.request))
            if key not in seen:
                seen.add(key)
                yield act


def complete(first: Policy, second: Policy, variables: Mapping[str, str]) -> bool:
    """Return whether every pair of areas is looked at."""
    every = [*areas(first, variables), *areas(second, variables)]
    counts = Counter(area.operation for area in every).values()
    return sum(count * (count - 1) for count in counts) <= MAX_PAIRS


def differing(first: Policy, second: Policy) -> tuple[str, ...]:
    """Return the ids of rules that only one has, or that say something else in the other."""
    mine = {rule.id: rule.model.model_copy(update={"examples": None}) for rule in first.rules}
    theirs = {rule.id: rule.model.model_copy(update={"examples": None}) for rule in second.rules}
    return tuple(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))


def _alone(area: Area, top: str) -> Iterator[Point]:
    for text in (f"{top}/example", top):
        point = point_in(area, likely={"path": [text], "cwd": [top]})
        if point is not None:
            yield point


def _protected(area: Area, entries: Iterable[Glob]) -> Iterator[Point]:
    for entry in entries:
        sets = {**area.sets, "path": Language(caseless=(entry,))}
        shared = point_in(area, also=replace(area, sets=sets))
        if shared is not None:
            yield shared


def _beside(area: Area, other: Area, top: str) -> Iterator[Point]:
    likely = {"cwd": [top]}
    shared = point_in(area, also=other, likely=likely)
    if shared is not None:
        yield shared
    for name, language in other.sets.items():
        if language == area.sets[name]:
            continue
        beyond = point_in(area, never={name: language}, likely=likely)
        if beyond is not None:
            yield beyond
