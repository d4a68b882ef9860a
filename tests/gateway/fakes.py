"""Small honest stages for the pipeline: each does what it is told and remembers what it saw."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gateway.kit import canon
from gateway.model.action import Action
from gateway.model.approval import ApprovalAnswer, Question, Verdict
from gateway.model.decision import Decision
from gateway.model.names import Effect, Operation, Status, Taint
from gateway.model.outcome import Result
from gateway.model.permit import Permit
from gateway.model.plan import RunCompound, Segment
from gateway.model.ports import Observer, Recorder, Settle, Submit
from gateway.model.request import ActionRequest, Caller
from gateway.model.resource import PathResource
from gateway.model.session import SessionState
from gateway.pipeline import Pipeline

Fault = BaseException | None


def act_of(path: str, released: list[str]) -> Action:
    normalized = {"path": path}
    return Action(
        tool="fs.read",
        operation=Operation.FS_READ,
        normalized=normalized,
        digest=canon.digest(normalized),
        resources=(PathResource(operation=Operation.FS_READ, path=path, root="workspace"),),
        release=lambda: released.append(path),
    )


@dataclass(slots=True)
class Normalize:
    """`a && b` becomes a compound line; anything else a read of that path."""

    fault: Fault = None
    released: list[str] = field(default_factory=list)

    def normalize(self, request: ActionRequest) -> Action:
        if self.fault:
            raise self.fault
        line = str(request.params["path"])
        whole = act_of(line, self.released)
        if "&&" not in line:
            return whole
        parts = [act_of(part.strip(), self.released) for part in line.split("&&")]
        plan = RunCompound(
            segments=tuple(
                Segment(joiner=None, argv=(), cwd="/", digest=part.digest) for part in parts
            )
        )
        return replace(whole, operation=Operation.SHELL_RUN, plan=plan)


@dataclass(slots=True)
class Decide:
    effect: Effect = Effect.ALLOW
    taint: frozenset[Taint] = frozenset()
    fault: Fault = None
    seen: list[SessionState] = field(default_factory=list)

    def decide(self, action: Action, caller: Caller, state: SessionState) -> Decision:
        self.seen.append(state)
        if self.fault:
            raise self.fault
        refusal = action.refusal
        return Decision(
            effect=Effect.DENY if refusal else self.effect,
            rule="a-rule",
            reason=refusal.reason if refusal else "rule_match",
            message="a rule of the policy matched",
            operation=action.operation,
            normalized=action.normalized,
            action_digest=action.digest,
            policy_digest="sha256:" + "0" * 64,
            taint=self.taint,
        )


@dataclass(slots=True)
class Approve:
    verdict: Verdict = Verdict.APPROVED
    fault: Fault = None
    other_id: bool = False
    asked: list[Question] = field(default_factory=list)

    def ask(self, question: Question) -> ApprovalAnswer:
        self.asked.append(question)
        if self.fault:
            raise self.fault
        approval_id = "another" if self.other_id else question.approval_id
        return ApprovalAnswer(approval_id=approval_id, verdict=self.verdict, approver="bob")


@dataclass(slots=True)
class Execute:
    unsupported: str | None = None
    fault: Fault = None
    work: Callable[[Permit, Submit, Settle], Result] | None = None
    permits: list[Permit] = field(default_factory=list)

    def supports(self, action: Action, decision: Decision) -> str | None:
        return self.unsupported

    def execute(self, permit: Permit, submit: Submit, settle: Settle) -> Result:
        permit.use()
        self.permits.append(permit)
        if self.fault:
            raise self.fault
        if self.work:
            return self.work(permit, submit, settle)
        return Result(status=Status.DONE, content=b"what the file says")


@dataclass(slots=True)
class Observe:
    fault: Fault = None

    def observe(self, permit: Permit, result: Result) -> Result:
        if self.fault:
            raise self.fault
        return result


@dataclass(slots=True)
class Stages:
    """The fakes of one pipeline, each to be changed before a run."""

    normalizer: Normalize = field(default_factory=Normalize)
    decider: Decide = field(default_factory=Decide)
    approver: Approve = field(default_factory=Approve)
    executor: Execute = field(default_factory=Execute)
    observer: Observer = field(default_factory=Observe)

    def pipeline(self, recorder: Recorder) -> Pipeline:
        numbers = itertools.count()
        return Pipeline(
            normalizer=self.normalizer,
            decider=self.decider,
            approver=self.approver,
            recorder=recorder,
            executor=self.executor,
            observer=self.observer,
            new_id=lambda: f"id-{next(numbers)}",
            timer_ns=lambda: 0,
        )


def request(path: str = "/home/alice/project/notes.txt") -> ActionRequest:
    return ActionRequest(tool="fs.read", params={"path": path})
