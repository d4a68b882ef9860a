"""Putting an action together: strict parameters, refusals, descriptors owned, one digest.

Parameters are read by a table of what a tool accepts; a missing, unknown or wrongly typed one is
`params_invalid` and the message names it and what is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from gateway.kit import canon, posix
from gateway.model.action import Action, Refusal
from gateway.model.names import Json, Operation
from gateway.model.plan import Identity, Plan
from gateway.model.request import ActionRequest
from gateway.model.resource import Resource

Kind: TypeAlias = Literal["string", "object", "array of strings"]

_MAX_NAMED: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter of a tool. `max_length` counts characters or items."""

    kind: Kind = "string"
    required: bool = True
    max_length: int = 8 * 1024 * 1024


@dataclass(slots=True)
class Descriptors:
    """Descriptors one action owns; `close` may be called more than once."""

    fds: list[int] = field(default_factory=list)

    def own(self, fd: int) -> int:
        """Take a descriptor over and return it."""
        self.fds.append(fd)
        return fd

    def close(self) -> None:
        """Close every descriptor still owned."""
        while self.fds:
            posix.close_quietly(self.fds.pop())


def check_params(
    tool: str, params: Mapping[str, Json], accepted: Mapping[str, Param]
) -> Refusal | None:
    """Return why the parameters are not what the tool accepts, or None."""
    problem = _unknown(params, accepted) or _wrong(params, accepted)
    if problem is None:
        return None
    known = ", ".join(
        f"{name} ({param.kind}{'' if param.required else ', optional'})"
        for name, param in accepted.items()
    )
    return Refusal(reason="params_invalid", message=f"{problem}; {tool} accepts {known}")


def text(params: Mapping[str, Json], name: str, default: str = "") -> str:
    """Return a string parameter that was checked before."""
    value = params.get(name, default)
    return value if isinstance(value, str) else default


def refused(
    request: ActionRequest,
    operation: Operation,
    refusal: Refusal,
    *resources: Resource,
) -> Action:
    """Return the action of a refusal; it owns nothing and plans nothing.

    What was asked stands in it as a digest only: nobody is asked to approve it.
    """
    normalized: dict[str, Json] = {
        "operation": str(operation),
        "tool": request.tool[:_MAX_NAMED],
        "refused": refusal.reason,
        "asked": canon.digest(request.params),
    }
    return Action(
        tool=request.tool,
        operation=operation,
        normalized=normalized,
        digest=canon.digest(normalized),
        resources=resources,
        refusal=refusal,
        request_id=request.id,
    )


def accepted(
    request: ActionRequest,
    operation: Operation,
    normalized: Mapping[str, Json],
    *resources: Resource,
    plan: Plan | None = None,
    owned: Descriptors | None = None,
) -> Action:
    """Return an action; its picture begins with the operation, its digest is over the picture."""
    picture = {"operation": str(operation), **normalized}
    owned = owned or Descriptors()
    try:
        digest = canon.digest(picture)
    except BaseException:
        owned.close()
        raise
    return Action(
        tool=request.tool,
        operation=operation,
        normalized=picture,
        digest=digest,
        resources=resources,
        plan=plan,
        request_id=request.id,
        release=owned.close,
    )


def identity_json(identity: Identity) -> dict[str, Json]:
    """Return which object it is, for a digest; decimal strings, since inodes may exceed 2^53."""
    return {
        "device": str(identity.device),
        "inode": str(identity.inode),
        "size": str(identity.size),
        "modified_ns": str(identity.mtime_ns),
    }


def _unknown(params: Mapping[str, Json], accepted: Mapping[str, Param]) -> str | None:
    for name in params:
        if name not in accepted:
            return f"params.{name[:_MAX_NAMED]!r} is not known"
    return None


def _wrong(params: Mapping[str, Json], accepted: Mapping[str, Param]) -> str | None:
    for name, param in accepted.items():
        if name not in params:
            if param.required:
                return f"params.{name} is missing"
            continue
        value = params[name]
        if not _is(value, param.kind):
            return f"params.{name} is not of type {param.kind}"
        if isinstance(value, (str, Mapping, list, tuple)) and len(value) > param.max_length:
            return f"params.{name} is longer than {param.max_length}"
    return None


def _is(value: Json, kind: Kind) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "object":
        return isinstance(value, Mapping)
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
