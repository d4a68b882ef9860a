"""What a door answers when the gate itself fails: before it was opened, or while it was closed.

Without a pipeline nothing is judged: a deny, not recorded, without action id. When the log cannot
be synced at the end, what was only decided is a deny, and what was executed is withheld, as the
pipeline does with an outcome that cannot be recorded.
"""

from __future__ import annotations

from dataclasses import replace

from gateway.errors import CounterfoilError
from gateway.kit.faults import unknown
from gateway.model.action import Action, Refusal
from gateway.model.decision import Decision
from gateway.model.outcome import Answer
from gateway.model.request import ActionRequest


def standing_deny(request: ActionRequest, fault: CounterfoilError | None) -> Answer:
    """Return the deny for a request that reached a gate which could not be opened."""
    code = fault.code if fault is not None else "internal_error"
    action = Action.unjudged(request.tool, Refusal(reason=code, message=str(fault or "")))
    return Answer(decision=Decision.fault(action, code, str(fault or "")), action_id=None)


def withheld(given: Answer, fault: CounterfoilError) -> Answer:
    """Return the answer whose records could not be made durable when the gate was closed."""
    if given.result is None:
        return replace(given, decision=given.decision.deny(fault.code, str(fault)))
    return replace(given, result=unknown(fault))
