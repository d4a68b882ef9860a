"""From a spelling to a place beneath a declared root, by spelling alone; nothing is opened.

Relative paths are taken from `cwd` (itself from the first root). A path outside every root and a
refused spelling come back as :class:`Refused` with the resource they name, so that naming a
protected file, also in disguise or by `~/`, counts as naming it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateway.kit import posix
from gateway.model.action import Refusal
from gateway.model.names import Operation
from gateway.model.resource import PathResource
from gateway.normalize.roots import Root, Roots
from gateway.normalize.spelling import (
    MAX_PATH_BYTES,
    as_meant,
    components,
    encodable,
    folded,
    lexical,
)

_MAX_SHOWN: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why not, and what was named (None when it names nothing)."""

    refusal: Refusal
    resource: PathResource | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A place beneath a root: `spelled` with its `..`, `relative` with them resolved.

    `slash`: the spelling ended with one (or with `.`), so it must be a directory.
    """

    root: Root
    spelled: str
    relative: str
    resource: PathResource
    slash: bool

    def refuse(self, reason: str, message: str, *, also: Iterable[str] = ()) -> Refused:
        """Return a refusal that lists this place and the given names for it."""
        names = dict.fromkeys((*self.resource.also, *also))
        names.pop(self.resource.path, None)
        return Refused(
            refusal=_refusal(self.resource.path, reason, message),
            resource=dataclasses.replace(self.resource, also=tuple(names)),
        )


def place(roots: Roots, spelled: str, operation: Operation, cwd: str | None) -> Target | Refused:
    """Judge the spelling, make it absolute, find its root; nothing is opened."""
    base = roots.first.path
    for text in (cwd, spelled):
        if text is None:
            continue
        refusal = lexical(text)
        if refusal is not None:
            meant = _absolute(base, as_meant(spelled))
            literal = _absolute(base, encodable(spelled))
            above = roots.above(components(meant))
            resource = PathResource(
                operation=operation,
                path=meant,
                also=() if literal == meant else (literal,),
                root=above.name if above else None,
            )
            return Refused(
                refusal=_refusal(encodable(text), refusal.reason, refusal.message),
                resource=resource,
            )
        base = _joined(base, text)
    parts = components(base)
    plain = folded(parts)
    root = roots.above(plain)
    resource = PathResource(
        operation=operation, path="/" + "/".join(plain), root=root.name if root else None
    )
    if root is None:
        known = ", ".join(one.path for one in roots.all)
        message = f"the path is outside every declared root ({known})"
        return Refused(
            refusal=_refusal(resource.path, "path_outside_roots", message), resource=resource
        )
    depth = len(root.parts)
    target = Target(
        root=root,
        spelled="/".join(parts[depth:]) or ".",
        relative="/".join(plain[depth:]) or ".",
        resource=resource,
        slash=spelled.rpartition("/")[2] in {"", "."},
    )
    if tuple(parts[:depth]) != root.parts:
        return target.refuse("path_component", "the path leaves its root through `..`")
    return target


def _joined(base: str, text: str) -> str:
    return text if text.startswith("/") else f"{base.rstrip('/')}/{text}"


def _absolute(base: str, text: str) -> str:
    """Return the absolute path a refused spelling names, `~/` expanded; by spelling only."""
    if text == "~" or text.startswith("~/"):
        text = posix.home_directory() + text[1:]
    parts = (part for part in components(_joined(base, text)) if part)
    return ("/" + "/".join(folded(list(parts))))[:MAX_PATH_BYTES]


def _refusal(path: str, reason: str, message: str) -> Refusal:
    shown = path if len(path) <= _MAX_SHOWN else f"{path[:_MAX_SHOWN]}..."
    return Refusal(reason=reason, message=f"{shown}: {message}")
