"""What the pipeline tells the recorder; the recorder alone decides how it is written.

The recorder turns values into keyed digests; an event may therefore carry the whole action, and
never reaches anything but the recorder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gateway.errors import InvariantError
from gateway.model.action import Action
from gateway.model.decision import Decision
from gateway.model.names import Json, Taint
from gateway.model.outcome import Result
from gateway.model.request import Caller


class Kind(StrEnum):
    """Kinds of record that pipelines and commands write; the writer has more of its own."""

    DECISION = "decision"  # a check: decided, nothing executed
    DENIED = "denied"
    APPROVAL_REQUEST = "approval.request"
    APPROVAL_ANSWER = "approval.answer"
    INTENT = "intent"
    OUTCOME = "outcome"
    POLICY_LOAD = "policy.load"
    SESSION_CLEAR = "session.clear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. `action_id` ties the records of one act together.

    `taint`: what the act adds to the scope's taint. `detail`: public facts (codes, counts, ids),
    never values.
    """

    kind: Kind
    caller: Caller
    action_id: str
    action: Action | None = None
    decision: Decision | None = None
    result: Result | None = None
    approval_id: str | None = None
    parent_id: str | None = None
    taint: frozenset[Taint] = frozenset()
    detail: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        kind: Kind,
        caller: Caller,
        action_id: str,
        action: Action,
        decision: Decision,
        parent_id: str | None = None,
    ) -> Event:
        """Make the event of one judged act; it carries the taint the decision found."""
        return cls(
            kind=kind,
            caller=caller,
            action_id=action_id,
            action=action,
            decision=decision,
            parent_id=parent_id,
            taint=decision.taint,
        )

    @property
    def act(self) -> Action:
        """The action of an event that has one."""
        if self.action is None:
            raise InvariantError(f"a {self.kind} event without an action")
        return self.action

    @property
    def verdict(self) -> Decision:
        """The decision of an event that has one."""
        if self.decision is None:
            raise InvariantError(f"a {self.kind} event without a decision")
        return self.decision

    def denied(self, reason: str, message: str = "") -> Event:
        """Return the same event with a deny for this reason."""
        return replace(self, decision=self.verdict.deny(reason, message))
