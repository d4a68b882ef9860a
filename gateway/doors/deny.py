"""The deny of a gate that does not stand: no pipeline could be opened, so nothing is judged.

It is not recorded, for there is no log to record it in; the answer has no action id.
"""

from __future__ import annotations

from gateway.errors import CounterfoilError
from gateway.model.action import Action, Refusal
from gateway.model.decision import Decision
from gateway.model.outcome import Answer
from gateway.model.request import ActionRequest


def standing_deny(request: ActionRequest, fault: CounterfoilError | None) -> Answer:
    """Return the deny for a request that reached a gate which could not be opened."""
    code = fault.code if fault is not None else "internal_error"
    action = Action.unjudged(request.tool, Refusal(reason=code, message=str(fault or "")))
    return Answer(decision=Decision.fault(action, code, str(fault or "")), action_id=None)
