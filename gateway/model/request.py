"""The hostile request, as spelled, and the caller as the door proved it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.model.names import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRequest:
    """What an agent asked for. Nothing in it is believed.

    `actor` and `session` are claims: no stage uses them to judge; the door's `Caller` counts.
    `malformed`: why the door could not read it; such a request is refused and recorded like any.
    """

    tool: str
    params: Mapping[str, Json]
    id: str | None = None
    actor: str | None = None
    session: str | None = None
    malformed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is asking, proved by the door, never by the request.

    `scope` names the union (user and workspace) that taint and locks belong to; `session` is only
    a label inside it, so that a new session id never launders anything.
    """

    user: str
    uid: int
    door: str
    session: str
    scope: str
    agent: str | None = None
