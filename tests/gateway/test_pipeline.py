"""The one road with small honest stages and the real log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.errors import ExecutionError, InvariantError, RecordError
from gateway.model.action import Action
from gateway.model.approval import ApprovalAnswer, Question, Verdict
from gateway.model.decision import Decision
from gateway.model.event import Event, Kind
from gateway.model.names import Effect, Status, Taint
from gateway.model.outcome import Answer, Result
from gateway.model.permit import Permit
from gateway.model.ports import Settle, Submit
from gateway.model.request import Caller
from gateway.model.session import SessionState
from gateway.record.verify import Code
from gateway.record.writer import Log
from tests.gateway.fakes import Approve, Decide, Execute, Normalize, Observe, Stages, request
from tests.gateway.record.processes import kinds, records
from tests.gateway.record.samples import SCOPE, caller, denied, opened, verified

PATH = "/home/alice/project/notes.txt"
LINE = "a.txt && b.txt"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with opened(tmp_path) as log:
        yield log
    assert verified(tmp_path).code is Code.OK


@dataclass
class Failing:
    """A recorder that fails at one kind of record and hands everything else to the real log."""

    log: Log
    kinds: frozenset[Kind]
    fault: Exception = field(default_factory=lambda: RecordError("no space"))

    def state(self, scope: str) -> SessionState:
        return self.log.state(scope)

    def append(self, event: Event, *, sync: bool, expect: int | None = None) -> None:
        if event.kind in self.kinds:
            raise self.fault
        self.log.append(event, sync=sync, expect=expect)


def test_an_allowed_act_is_recorded_executed_and_closed(tmp_path: Path, log: Log) -> None:
    stages = Stages()
    answer = stages.pipeline(log).run(request(), caller())
    assert answer.ok
    assert answer.result is not None
    assert answer.result.content == b"what the file says"
    assert kinds(tmp_path) == ["intent", "outcome"]
    assert {record["action_id"] for record in records(tmp_path)} == {answer.action_id}
    assert stages.normalizer.released == [PATH]


def test_the_intent_is_in_the_log_before_anything_is_executed(tmp_path: Path, log: Log) -> None:
    seen: list[str] = []

    def work(permit: Permit, submit: Submit, settle: Settle) -> Result:
        seen.extend(kinds(tmp_path))
        return Result(status=Status.DONE)

    Stages(executor=Execute(work=work)).pipeline(log).run(request(), caller())
    assert seen == ["intent"]


def test_a_denied_act_is_recorded_and_releases_its_descriptors(tmp_path: Path, log: Log) -> None:
    stages = Stages(decider=Decide(effect=Effect.DENY, taint=frozenset({Taint.ATTEMPTED})))
    answer = stages.pipeline(log).run(request(), caller())
    assert (answer.allowed, answer.result) == (False, None)
    assert kinds(tmp_path) == ["denied"]
    assert stages.normalizer.released == [PATH]
    assert stages.executor.permits == []
    assert log.state(SCOPE).taint == {Taint.ATTEMPTED}


@pytest.mark.parametrize("effect", list(Effect))
def test_a_check_records_one_decision_and_does_nothing(
    tmp_path: Path, log: Log, effect: Effect
) -> None:
    stages = Stages(decider=Decide(effect=effect))
    answer = stages.pipeline(log).check(request(), caller())
    assert (answer.decision.effect, answer.result) == (effect, None)
    assert kinds(tmp_path) == ["decision"]
    assert (stages.approver.asked, stages.executor.permits) == ([], [])
    assert stages.normalizer.released == [PATH]


BROKEN: dict[str, tuple[Stages, str]] = {
    "normalize": (Stages(normalizer=Normalize(fault=ValueError("boom"))), "internal_error"),
    "decide": (Stages(decider=Decide(fault=ValueError("boom"))), "internal_error"),
    "decide, known": (Stages(decider=Decide(fault=RecordError("gone"))), "record_unavailable"),
    "approve": (
        Stages(decider=Decide(effect=Effect.ASK), approver=Approve(fault=OSError("tty"))),
        "internal_error",
    ),
    "no executor": (
        Stages(executor=Execute(unsupported="executor_unavailable")),
        "executor_unavailable",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.filterwarnings("ignore")
def test_a_fault_before_the_intent_is_a_recorded_deny(tmp_path: Path, log: Log, name: str) -> None:
    stages, reason = BROKEN[name]
    answer = stages.pipeline(log).run(request(), caller())
    assert (answer.decision.effect, answer.decision.reason) == (Effect.DENY, reason)
    assert answer.result is None
    assert "boom" not in answer.decision.message
    assert stages.executor.permits == []
    assert kinds(tmp_path)[-1] == "denied"
    assert "intent" not in kinds(tmp_path)


FAULTS: dict[str, tuple[Exception, Status, str]] = {
    "unknown fault": (ValueError("boom"), Status.UNKNOWN, "internal_error"),
    "not started": (
        ExecutionError("changed_since_decision", "it changed", status="not_started"),
        Status.NOT_STARTED,
        "changed_since_decision",
    ),
    "failed": (ExecutionError("fs_io_error", "disk"), Status.FAILED, "fs_io_error"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_while_executing_is_an_outcome(tmp_path: Path, log: Log, name: str) -> None:
    fault, status, reason = FAULTS[name]
    stages = Stages(executor=Execute(fault=fault))
    answer = stages.pipeline(log).run(request(), caller())
    assert answer.allowed
    assert answer.result is not None
    assert (answer.result.status, answer.result.reason) == (status, reason)
    assert [(r["kind"], r.get("status"), r.get("result_code")) for r in records(tmp_path)] == [
        ("intent", None, None),
        ("outcome", str(status), reason),
    ]
    assert stages.normalizer.released == [PATH]


def test_an_interrupt_while_executing_is_recorded_as_unknown(tmp_path: Path, log: Log) -> None:
    stages = Stages(executor=Execute(fault=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        stages.pipeline(log).run(request(), caller())
    last = records(tmp_path)[-1]
    assert (last["kind"], last["status"], last["result_code"]) == (
        "outcome",
        "unknown",
        "cancelled",
    )
    assert stages.normalizer.released == [PATH]


def test_an_interrupt_while_asking_executes_nothing(tmp_path: Path, log: Log) -> None:
    stages = Stages(decider=Decide(effect=Effect.ASK), approver=Approve(fault=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        stages.pipeline(log).run(request(), caller())
    assert kinds(tmp_path) == ["approval.request"]
    assert stages.normalizer.released == [PATH]


def test_what_cannot_be_observed_is_withheld(tmp_path: Path, log: Log) -> None:
    stages = Stages(observer=Observe(fault=ValueError("boom")))
    answer = stages.pipeline(log).run(request(), caller())
    assert answer.result is not None
    assert (answer.result.status, answer.result.content) == (Status.UNKNOWN, b"")
    assert [(r["kind"], r.get("status")) for r in records(tmp_path)] == [
        ("intent", None),
        ("outcome", "unknown"),
    ]
    assert "result_hmac" not in records(tmp_path)[-1]
    assert stages.normalizer.released == [PATH]


def test_an_outcome_that_cannot_be_recorded_withholds_the_content(log: Log) -> None:
    stages = Stages()
    recorder = Failing(log, frozenset({Kind.OUTCOME}))
    answer = stages.pipeline(recorder).run(request(), caller())
    assert answer.result is not None
    assert (answer.result.status, answer.result.reason) == (Status.UNKNOWN, "record_unavailable")
    assert answer.result.content == b""
    assert stages.normalizer.released == [PATH]


@pytest.mark.parametrize("kind", [Kind.INTENT, Kind.APPROVAL_REQUEST, Kind.APPROVAL_ANSWER])
def test_what_cannot_be_recorded_is_not_executed(tmp_path: Path, log: Log, kind: Kind) -> None:
    stages = Stages(decider=Decide(effect=Effect.ASK))
    recorder = Failing(log, frozenset({kind}))
    answer = stages.pipeline(recorder).run(request(), caller())
    assert (answer.allowed, answer.decision.reason) == (False, "record_unavailable")
    assert stages.executor.permits == []
    assert kinds(tmp_path)[-1] == "denied"


def test_a_denial_that_cannot_be_recorded_is_still_a_deny(log: Log) -> None:
    recorder = Failing(log, frozenset(Kind))
    answer = Stages(decider=Decide(effect=Effect.DENY)).pipeline(recorder).run(request(), caller())
    assert (answer.allowed, answer.action_id) == (False, None)
    answer = Stages().pipeline(recorder).check(request(), caller())
    assert (answer.allowed, answer.decision.reason) == (False, "record_unavailable")


def test_a_session_that_changed_meanwhile_denies(tmp_path: Path, log: Log) -> None:
    with opened(tmp_path) as door:

        class Tainting(Approve):
            def ask(self, question: Question) -> ApprovalAnswer:
                door.append(denied("d", taint=frozenset({Taint.EXPOSED})), sync=True)
                return Approve.ask(self, question)

        stages = Stages(decider=Decide(effect=Effect.ASK), approver=Tainting())
        answer = stages.pipeline(log).run(request(), caller())
    assert (answer.allowed, answer.decision.reason) == (False, "session_changed")
    assert stages.executor.permits == []


# -- asking ---------------------------------------------------------------------------------------


def test_an_approved_act_is_asked_once_and_recorded(tmp_path: Path, log: Log) -> None:
    stages = Stages(decider=Decide(effect=Effect.ASK))
    answer = stages.pipeline(log).run(request(), caller())
    assert answer.ok
    assert len(stages.approver.asked) == 1
    assert kinds(tmp_path) == ["approval.request", "approval.answer", "intent", "outcome"]
    assert len({record["approval_id"] for record in records(tmp_path)}) == 1
    assert records(tmp_path)[1]["detail"] == {"verdict": "approval_granted", "approver": "bob"}


@pytest.mark.parametrize("verdict", [one for one in Verdict if one is not Verdict.APPROVED])
def test_any_other_answer_is_a_deny(tmp_path: Path, log: Log, verdict: Verdict) -> None:
    stages = Stages(decider=Decide(effect=Effect.ASK), approver=Approve(verdict=verdict))
    answer = stages.pipeline(log).run(request(), caller())
    assert (answer.allowed, answer.decision.reason) == (False, str(verdict))
    assert kinds(tmp_path) == ["approval.request", "approval.answer", "denied"]
    assert stages.normalizer.released == [PATH]


def test_an_answer_to_another_question_is_no_consent(log: Log) -> None:
    stages = Stages(decider=Decide(effect=Effect.ASK), approver=Approve(other_id=True))
    answer = stages.pipeline(log).run(request(), caller())
    assert not answer.allowed
    assert stages.executor.permits == []


# -- acts found while executing -------------------------------------------------------------------


def each(*paths: str) -> Execute:
    """An executor that brings these parts back onto the road."""
    answers: list[Permit | Answer] = []

    def work(permit: Permit, submit: Submit, settle: Settle) -> Result:
        for path in paths:
            part = submit(request(path), permit)
            answers.append(part)
            if isinstance(part, Permit):
                part.use()
                settle(part, Result(status=Status.DONE))
        done = all(isinstance(part, Permit) for part in answers)
        return Result(status=Status.DONE if done else Status.FAILED)

    return Execute(work=work)


def test_the_parts_of_a_line_come_back_onto_the_road(tmp_path: Path, log: Log) -> None:
    stages = Stages(executor=each("a.txt", "b.txt"))
    answer = stages.pipeline(log).run(request(LINE), caller())
    assert answer.ok
    assert kinds(tmp_path) == ["intent", "intent", "outcome", "intent", "outcome", "outcome"]
    parents = [record.get("parent_id") for record in records(tmp_path)]
    assert parents == [None, *[answer.action_id] * 4, None]


def test_only_what_the_line_was_decided_as_comes_back(tmp_path: Path, log: Log) -> None:
    stages = Stages(executor=each("a.txt", "other.txt"))
    answer = stages.pipeline(log).run(request(LINE), caller())
    assert answer.result is not None
    assert answer.result.status is Status.FAILED
    refused = [record for record in records(tmp_path) if record["kind"] == "denied"]
    assert [record["reason_code"] for record in refused] == ["changed_since_decision"]
    assert "other.txt" in stages.normalizer.released


def test_an_act_that_is_no_line_covers_nothing(tmp_path: Path, log: Log) -> None:
    stages = Stages(executor=each("a.txt"))
    answer = stages.pipeline(log).run(request("a.txt"), caller())
    assert answer.result is not None
    assert answer.result.status is Status.FAILED
    assert kinds(tmp_path) == ["intent", "denied", "outcome"]


def test_a_line_is_asked_once_for_all_its_parts(tmp_path: Path, log: Log) -> None:
    stages = Stages(decider=Decide(effect=Effect.ASK), executor=each("a.txt", "b.txt"))
    answer = stages.pipeline(log).run(request(LINE), caller())
    assert answer.ok
    assert len(stages.approver.asked) == 1
    assert kinds(tmp_path).count("approval.request") == 1


def test_a_part_that_is_asked_alone_is_asked_again(log: Log) -> None:
    """A line that was allowed without asking consumed no approval its parts could use."""

    class Later(Decide):
        def decide(self, action: Action, caller: Caller, state: SessionState) -> Decision:
            self.effect = Effect.ALLOW if action.plan else Effect.ASK
            return Decide.decide(self, action, caller, state)

    stages = Stages(decider=Later(), executor=each("a.txt", "b.txt"))
    assert stages.pipeline(log).run(request(LINE), caller()).ok
    assert len(stages.approver.asked) == 2


# -- permits --------------------------------------------------------------------------------------


def test_a_permit_is_good_for_one_execution_and_one_outcome(tmp_path: Path, log: Log) -> None:
    stages = Stages()
    pipeline = stages.pipeline(log)
    permit = pipeline.admit(request(), caller())
    assert isinstance(permit, Permit)
    permit.use()
    with pytest.raises(InvariantError):
        permit.use()
    assert pipeline.settle(permit, Result(status=Status.DONE, content=b"x")).ok
    again = pipeline.settle(permit, Result(status=Status.DONE, content=b"x"))
    assert again.result is not None
    assert (again.result.status, again.result.content) == (Status.UNKNOWN, b"")
    assert kinds(tmp_path) == ["intent", "outcome"]


def test_the_state_a_decision_saw_is_the_logs(log: Log) -> None:
    log.append(denied("d", taint=frozenset({Taint.ATTEMPTED})), sync=True)
    stages = Stages()
    stages.pipeline(log).run(request(), caller())
    assert stages.decider.seen == [log.state(SCOPE)]
