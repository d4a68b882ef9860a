"""What came of an execution, and what goes back through the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.model.decision import Decision
from gateway.model.names import Effect, Json, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Raw result of `execute` (or of a hook's host), before observation.

    `content`: what goes to the agent, bytes as produced. `data`: structured facts that are public
    (exit code, entry count, HTTP status, `jti`); no secret, no content. `reason`: a code when
    status is not `done`.
    """

    status: Status
    content: bytes = b""
    data: Mapping[str, Json] = field(default_factory=dict)
    reason: str = "done"
    message: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """What came of taking configuration and policies anew.

    `digest`: the effective policy that counts from now on. When `ok` is False it is the one that
    counted before (empty when none did), and `reason` and `message` say why.
    """

    ok: bool
    digest: str
    reason: str = "done"
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a door gives back: the decision, and, if it was executed, what came of it.

    `result` is None when nothing was executed: a deny, a check, a dry run. `action_id` names the
    record.
    """

    decision: Decision
    action_id: str | None
    result: Result | None = None

    @property
    def allowed(self) -> bool:
        """Whether the act was allowed, whatever came of it."""
        return self.decision.effect is Effect.ALLOW

    @property
    def ok(self) -> bool:
        """Whether the act was allowed and done."""
        return self.result is not None and self.result.status is Status.DONE
