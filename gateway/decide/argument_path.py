"""Where in the arguments of a call a constraint looks.

    name             the argument of that name
    a.b              the member b of the object a
    a[].b            the member b of every element of the list a
    "odd.name"       a name with dots, brackets, quotes or stars, as a JSON string
    **               every plain value, and every member's name, at any depth
    a.**             the same, beneath a

A step that meets the wrong shape (a member of a list, the elements of a text) is a misfit: the
constraint cannot be judged there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from gateway.errors import CounterfoilError
from gateway.model.names import Json

MAX_STEPS: Final = 16


class ArgumentPathError(CounterfoilError):
    """The text is no path of this language; the message says what to write instead."""

    code = "policy_invalid"


class Every(Enum):
    """Steps that are not a name."""

    ELEMENT = "[]"
    DEEP = "**"


Step: TypeAlias = str | Every
Steps: TypeAlias = tuple[Step, ...]

_STEP: Final = re.compile(
    r"""(?P<name>[^.\[\]"*]+)|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<deep>\*\*\Z)"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What stands at a path: `missing` when a member was not there, `misfit` for a wrong shape."""

    values: tuple[Json, ...]
    missing: bool
    misfit: bool


def parse_argument(text: str) -> Steps:
    """Parse a path.

    Raises:
        ArgumentPathError: it is none.
    """
    steps: list[Step] = []
    at = 0
    while True:
        match = _STEP.match(text, at)
        if match is None:
            raise ArgumentPathError(
                f"no argument path at {text[at : at + 40]!r}: write `a`, `a.b`, `a[].b`, `**` or "
                '`"odd.name"`'
            )
        steps.append(_step(match))
        at = match.end()
        while text.startswith("[]", at):
            steps.append(Every.ELEMENT)
            at += 2
        if len(steps) > MAX_STEPS:
            raise ArgumentPathError(f"an argument path of more than {MAX_STEPS} steps")
        if at == len(text):
            return tuple(steps)
        if text[at] != ".":
            raise ArgumentPathError(f"a `.` is wanted before {text[at : at + 40]!r}")
        at += 1


def _step(match: re.Match[str]) -> Step:
    if match["deep"] is not None:
        return Every.DEEP
    if match["quoted"] is None:
        return match["name"]
    try:
        return str(json.loads(match["quoted"]))
    except ValueError:
        raise ArgumentPathError(f"{match['quoted'][:40]} is no JSON string") from None


def select(steps: Steps, arguments: Mapping[str, Json]) -> Found:
    """Return what stands at a path."""
    found: list[Json] = [arguments]
    missing = misfit = False
    for step in steps:
        after: list[Json] = []
        for value in found:
            if step is Every.DEEP:
                after.extend(_leaves(value))
            elif step is Every.ELEMENT:
                misfit = misfit or not is_list(value)
                after.extend(_elements(value))
            elif not isinstance(value, Mapping):
                misfit = True
            elif step in value:
                after.append(value[step])
            else:
                missing = True
        found = after
    return Found(values=tuple(found), missing=missing, misfit=misfit)


def is_list(value: Json) -> bool:
    """Whether it is a list; a text is none."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def _elements(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _leaves(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield name
            yield from _leaves(member)
    elif is_list(value):
        for element in _elements(value):
            yield from _leaves(element)
    else:
        yield value
