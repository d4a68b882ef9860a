"""The permit: an act that was decided, approved and durably recorded, good for one execution.

Only the pipeline makes one (`Permit.issue` is called nowhere else; a test reads the tree for it),
and `use` works once. This guards against mistakes; it is not a security boundary.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.errors import InvariantError
from gateway.model.action import Action
from gateway.model.decision import Decision
from gateway.model.event import Event, Kind
from gateway.model.names import Effect
from gateway.model.outcome import Result
from gateway.model.request import Caller

_MINT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """The only thing `execute` accepts.

    `action_id` names the intent record; `approval_id` the approval it consumed, if any.
    `parent_id` is set for acts that came back through `submit`.
    """

    action: Action
    decision: Decision
    caller: Caller
    action_id: str
    approval_id: str | None = None
    parent_id: str | None = None
    _mint: object = field(repr=False)
    _used: list[bool] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._mint is not _MINT or self.decision.effect is not Effect.ALLOW:
            raise InvariantError("a permit is issued by the pipeline, for an allowed act only")

    @classmethod
    def issue(cls, intent: Event) -> Permit:
        """Make a permit; for the pipeline, after the intent is durable."""
        return cls(
            action=intent.act,
            decision=intent.verdict,
            caller=intent.caller,
            action_id=intent.action_id,
            approval_id=intent.approval_id,
            parent_id=intent.parent_id,
            _mint=_MINT,
        )

    def outcome(self, result: Result) -> Event:
        """Make the event that closes this permit's intent."""
        return Event(
            kind=Kind.OUTCOME,
            caller=self.caller,
            action_id=self.action_id,
            action=self.action,
            decision=self.decision,
            result=result,
            approval_id=self.approval_id,
            parent_id=self.parent_id,
        )

    def use(self) -> Action:
        """Spend the permit and hand out its action.

        Raises:
            InvariantError: it was spent before.
        """
        if self._used:
            raise InvariantError("a permit is good for one execution")
        self._used.append(True)
        return self.action
