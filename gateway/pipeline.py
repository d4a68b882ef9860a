"""The one road: normalize, decide, approve, record, execute, observe. It knows the order, no more.

`admit` goes up to the durable intent, `settle` observes and records what came of it. What goes
wrong before the intent is a deny; what goes wrong after it is an outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gateway.errors import ExecutionError
from gateway.kit import faults
from gateway.model.action import Action, Refusal
from gateway.model.approval import Question, Verdict
from gateway.model.decision import Decision
from gateway.model.event import Event, Kind
from gateway.model.names import Effect, Status
from gateway.model.outcome import Answer, Result
from gateway.model.permit import Permit
from gateway.model.ports import Approver, Decider, Executor, Normalizer, Observer, Recorder
from gateway.model.request import ActionRequest, Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The stages in their order. `timer_ns` is a monotonic time in ns."""

    normalizer: Normalizer
    decider: Decider
    approver: Approver
    recorder: Recorder
    executor: Executor
    observer: Observer
    new_id: Callable[[], str]
    timer_ns: Callable[[], int]

    def check(self, request: ActionRequest, caller: Caller) -> Answer:
        """Decide and record; ask nobody, execute nothing."""
        return self._close(self._judge(Kind.DECISION, request, caller, None))

    def run(self, request: ActionRequest, caller: Caller) -> Answer:
        """Admit, execute, settle."""
        permit = self.admit(request, caller)
        if isinstance(permit, Answer):
            return permit
        try:
            result = self.executor.execute(permit, self.submit, self.settle)
        except ExecutionError as error:
            result = Result(status=Status(error.status), reason=error.code, message=str(error))
        except Exception as error:  # noqa: BLE001 - a fault while executing is an outcome
            result = faults.unknown(error)
        except BaseException:
            self.settle(permit, Result(status=Status.UNKNOWN, reason="cancelled"))
            raise
        return self.settle(permit, result)

    def admit(self, request: ActionRequest, caller: Caller) -> Permit | Answer:
        """Go the road up to the durable intent; the answer is the denial."""
        return self._admit(self._judge(Kind.DENIED, request, caller, None), None)

    def submit(self, request: ActionRequest, parent: Permit) -> Permit | Answer:
        """Admit an act found while executing `parent`; it must be what `parent` was decided as."""
        return self._admit(self._judge(Kind.DENIED, request, parent.caller, parent), parent)

    def settle(self, permit: Permit, result: Result) -> Answer:
        """Observe, record the outcome, release. What cannot be observed or recorded is withheld."""
        try:
            seen = self._observe(permit, result)
            self.recorder.append(permit.outcome(seen), sync=False)
        except Exception as error:  # noqa: BLE001 - nothing unobserved or unrecorded goes out
            seen = faults.unknown(error)
        finally:
            permit.action.release()
        return Answer(decision=permit.decision, action_id=permit.action_id, result=seen)

    def _observe(self, permit: Permit, result: Result) -> Result:
        """Observe; a fault in it withholds the content, and the outcome is still recorded."""
        try:
            return self.observer.observe(permit, result)
        except Exception as error:  # noqa: BLE001 - nothing unobserved goes out
            return faults.unknown(error)

    def _normalize(self, request: ActionRequest) -> Action:
        """Normalize; a fault in it makes a refused act, denied and recorded like any."""
        try:
            return self.normalizer.normalize(request)
        except Exception as error:  # noqa: BLE001 - an exception is a deny
            return Action.unjudged(
                request.tool, Refusal(reason=faults.code(error), message=faults.said(error))
            )

    def _judge(
        self, kind: Kind, request: ActionRequest, caller: Caller, parent: Permit | None
    ) -> Event:
        """Normalize and decide; a fault in either is a deny."""
        start = self.timer_ns()
        action = self._normalize(request)
        try:
            state = self.recorder.state(caller.scope)
            decision = self.decider.decide(action, caller, state)
            spent = (self.timer_ns() - start) // 1000
            decision = replace(decision, decide_us=spent, state_version=state.version)
            if parent is not None and not parent.action.covers(action):
                decision = decision.deny("changed_since_decision")
        except Exception as error:  # noqa: BLE001 - an exception is a deny
            decision = Decision.fault(action, faults.code(error), faults.said(error))
        parent_id = None if parent is None else parent.action_id
        return Event.of(kind, caller, self.new_id(), action, decision, parent_id)

    def _admit(self, event: Event, parent: Permit | None) -> Permit | Answer:
        try:
            if event.verdict.effect is not Effect.DENY:
                reason = self.executor.supports(event.act, event.verdict)
                event = event.denied(reason) if reason else event
            if event.verdict.effect is Effect.ASK:
                event = self._ask(event, parent)
            if event.verdict.effect is Effect.ALLOW:
                intent = replace(event, kind=Kind.INTENT)
                self.recorder.append(intent, sync=True, expect=event.verdict.state_version)
                return Permit.issue(intent)
        except Exception as error:  # noqa: BLE001 - an exception is a deny
            event = event.denied(faults.code(error), faults.said(error))
        except BaseException:
            event.act.release()
            raise
        return self._close(event)

    def _ask(self, event: Event, parent: Permit | None) -> Event:
        """Ask a person, unless the whole line this act is part of was approved."""
        if parent is not None and parent.approval_id is not None:
            return replace(event, decision=event.verdict.approved())
        event = replace(event, approval_id=self.new_id())
        self.recorder.append(replace(event, kind=Kind.APPROVAL_REQUEST), sync=False)
        answer = self.approver.ask(Question.of(event))
        heard = replace(event, kind=Kind.APPROVAL_ANSWER, detail=answer.told)
        self.recorder.append(heard, sync=False)
        if answer.verdict is Verdict.APPROVED and answer.approval_id == event.approval_id:
            return replace(event, decision=event.verdict.approved())
        return event.denied(str(answer.verdict))

    def _close(self, event: Event) -> Answer:
        """Record a decision that ends here; what cannot be recorded is a deny."""
        event.act.release()
        try:
            self.recorder.append(event, sync=bool(event.taint))
        except Exception as error:  # noqa: BLE001 - unrecordable is a deny
            event = replace(event.denied(faults.code(error), faults.said(error)), action_id="")
        return Answer(decision=event.verdict, action_id=event.action_id or None)
