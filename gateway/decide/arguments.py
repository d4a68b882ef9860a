"""Constraints on the arguments of a call.

A list is judged element by element: an allow needs every element, a deny needs one. An object
where a plain value is wanted fails an allow and meets a deny. Numbers and booleans are never equal
to each other. A missing argument denies unless the constraint says `optional`. Where a path
(:mod:`gateway.decide.argument_path`) leads to several values, an allow needs all of them and a
deny one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from gateway.decide.argument_path import Found, Steps, is_list, select
from gateway.decide.conditions import Condition, Outcome
from gateway.decide.glob import Caseless, Exact, Glob, fold
from gateway.decide.schema import Constraint, Scalar
from gateway.model.names import Effect, Json
from gateway.model.request import Caller
from gateway.model.resource import ApiResource, McpResource, Resource
from gateway.model.session import SessionState

Check: TypeAlias = Callable[[Json], bool]


_TYPES: Final[Mapping[str, Check]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": is_list,
    "object": lambda value: isinstance(value, Mapping),
}


def arguments(
    constraints: Mapping[Steps, Constraint],
    under: Mapping[Steps, Sequence[Glob]],
    effect: Effect,
) -> Condition:
    """Every constrained argument is there and is what its constraint says.

    `under` has the globs of each constraint's `under`, variables filled in and covering all
    beneath.
    """
    deny = effect is Effect.DENY
    checks = [
        (steps, _checks(constraint, under.get(steps), effect), constraint.optional)
        for steps, constraint in constraints.items()
    ]

    def test(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
        if not isinstance(resource, (ApiResource, McpResource)):
            return Outcome.FAILS
        kept = Outcome.HOLDS
        for steps, wanted, optional in checks:
            outcome = _judge(select(steps, resource.arguments), wanted, deny=deny)
            if outcome is Outcome.FAILS:
                return outcome
            if outcome is Outcome.MISSING and not optional:
                kept = outcome
        return kept

    return "arguments", test


def _judge(found: Found, wanted: Sequence[Check], *, deny: bool) -> Outcome:
    """One value is enough for a deny, and so is one that cannot be judged; an allow needs all."""
    passes = (all(check(value) for check in wanted) for value in found.values)
    if deny:
        if found.misfit or any(passes):
            return Outcome.HOLDS
        return Outcome.MISSING if found.missing else Outcome.FAILS
    if found.misfit or not all(passes):
        return Outcome.FAILS
    return Outcome.MISSING if found.missing else Outcome.HOLDS


def _checks(
    constraint: Constraint, under: Sequence[Glob] | None, effect: Effect
) -> tuple[Check, ...]:
    deny = effect is Effect.DENY
    checks: list[Check] = []
    alone = constraint.model_fields_set <= {"type", "optional"}
    if constraint.type is not None and (alone or not deny):
        checks.append(_TYPES[constraint.type])  # in a deny, another type must be no way around
    if constraint.max_length is not None or constraint.min_length is not None:
        checks.append(_long(constraint.min_length or 0, constraint.max_length, deny=deny))
    scalars: list[Check] = []
    if under is not None:
        scalars.append(_under(under, deny=deny))
    if constraint.in_ is not None:
        scalars.append(_one_of(constraint.in_, deny=deny))
    if constraint.equals is not None:
        scalars.append(_one_of((constraint.equals,), deny=deny))
    if constraint.not_in is not None:
        listed = _one_of(constraint.not_in, deny=not deny)
        scalars.append(lambda value: not listed(value))
    if constraint.contains_none is not None:
        scalars.append(_contains_none(constraint.contains_none, deny=deny))
    if constraint.min is not None or constraint.max is not None:
        scalars.append(_between(constraint.min, constraint.max, deny=deny))
    if scalars:
        checks.append(_each(scalars, deny=deny))
    return tuple(checks)


def _each(scalars: Sequence[Check], *, deny: bool) -> Check:
    """All plain values inside must pass; for a deny, one is enough, and an object always is."""

    def judge(element: Json) -> bool:
        if isinstance(element, Mapping):
            return deny
        return all(check(element) for check in scalars)

    def test(value: Json) -> bool:
        results = map(judge, _elements(value))
        return any(results) if deny else all(results)

    return test


def _elements(value: Json) -> Iterator[Json]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _elements(item)
    else:
        yield value


def _one_of(wanted: Sequence[Scalar], *, deny: bool) -> Check:
    keys = frozenset(_key(value, deny=deny) for value in wanted)
    return lambda value: _key(value, deny=deny) in keys


def _key(value: Json, *, deny: bool) -> tuple[str, Json]:
    """Numbers compare by value, never equal to booleans; a deny compares strings caselessly."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, (int, float)):
        return "number", value
    if isinstance(value, str):
        return "string", fold(value) if deny else value
    return "other", None


def _contains_none(parts: Sequence[str], *, deny: bool) -> Check:
    folded = tuple(map(fold, parts))

    def test(value: Json) -> bool:
        if not isinstance(value, str):
            return deny
        text = fold(value)
        return not any(part in text for part in folded)

    return test


def _long(low: int, high: int | None, *, deny: bool) -> Check:
    def test(value: Json) -> bool:
        if not isinstance(value, (str, Sequence)):
            return deny
        if low <= len(value) and (high is None or len(value) <= high):
            return True
        return deny and is_list(value) and any(map(test, value))

    return test


def _between(low: float | None, high: float | None, *, deny: bool) -> Check:
    def test(value: Json) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return deny
        return (low is None or value >= low) and (high is None or value <= high)

    return test


def _under(globs: Sequence[Glob], *, deny: bool) -> Check:
    """Accept a plain absolute path beneath; any other spelling could mean another file."""
    compiled = Caseless(globs) if deny else Exact(globs)

    def test(value: Json) -> bool:
        if not isinstance(value, str) or not _plain(value):
            return deny
        return compiled.matches(value)

    return test


def _plain(path: str) -> bool:
    return (
        path.startswith("/")
        and path.isprintable()
        and "\\" not in path
        and not any(part in {"", ".", ".."} for part in path[1:].split("/"))
    )
