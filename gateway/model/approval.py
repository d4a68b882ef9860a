"""A question to a person and the answer; silence is never consent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gateway.model.action import Action
from gateway.model.decision import Decision
from gateway.model.event import Event
from gateway.model.names import Json
from gateway.model.request import Caller


class Verdict(StrEnum):
    """How a question ended; only `approved` lets the act go on. Values are reason codes."""

    APPROVED = "approval_granted"
    DENIED = "approval_denied"
    TIMEOUT = "approval_timeout"
    CANCELLED = "approval_cancelled"
    UNAVAILABLE = "approval_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person is asked: the normalized action, never the agent's words."""

    approval_id: str
    action: Action
    decision: Decision
    caller: Caller
    timeout_s: int

    @classmethod
    def of(cls, event: Event) -> Question:
        """Make the question for an event that carries an approval id."""
        return cls(
            approval_id=event.approval_id or "",
            action=event.act,
            decision=event.verdict,
            caller=event.caller,
            timeout_s=event.verdict.obligations.approval_timeout_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswer:
    """The answer to one question, bound to its id; `approver` names the person or is empty."""

    approval_id: str
    verdict: Verdict
    approver: str = ""

    @property
    def told(self) -> dict[str, Json]:
        """What the record holds of it."""
        return {"verdict": str(self.verdict), "approver": self.approver}
