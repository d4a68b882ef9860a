"""Permits, decisions and a stand-in for the pipeline's `submit` and `settle`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gateway.kit import canon, posix
from gateway.model.action import Action
from gateway.model.decision import Decision, Obligations
from gateway.model.event import Event, Kind
from gateway.model.names import Effect, Json, Operation
from gateway.model.outcome import Answer, Result
from gateway.model.permit import Permit
from gateway.model.plan import Operand, Plan, RunCommand
from gateway.model.request import ActionRequest, Caller

CALLER = Caller(user="alice", uid=1000, door="cli", session="s-1", scope="alice:/ws", agent="demo")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}


def decision(
    effect: Effect = Effect.ALLOW,
    obligations: Obligations | None = None,
    reason: str = "rule_match",
) -> Decision:
    return Decision(
        effect=effect,
        rule="a-rule",
        reason=reason,
        message="because",
        operation=Operation.SHELL_RUN,
        normalized={},
        action_digest=canon.digest(None),
        policy_digest=canon.digest(None),
        obligations=obligations or Obligations(),
    )


def permit(
    plan: Plan | None,
    *,
    obligations: Obligations | None = None,
    operation: Operation = Operation.SHELL_RUN,
    normalized: Mapping[str, Json] | None = None,
    caller: Caller = CALLER,
    action_id: str = "0197-action",
    release: Callable[[], None] = lambda: None,
    parent_id: str | None = None,
) -> Permit:
    normalized = normalized or {}
    action = Action(
        tool=str(operation),
        operation=operation,
        normalized=normalized,
        digest=canon.digest(normalized),
        plan=plan,
        release=release,
    )
    intent = Event.of(
        Kind.INTENT, caller, action_id, action, decision(obligations=obligations), parent_id
    )
    return Permit.issue(intent)


def command(cwd: Path, *argv: str, operands: Sequence[Operand] = ()) -> RunCommand:
    """A plan for a real program; its directory descriptor is the caller's to close."""
    executable = os.path.realpath(shutil.which(argv[0]) or argv[0])
    return RunCommand(
        executable=executable,
        executable_identity=posix.identity(Path(executable).stat()),
        argv=argv,
        cwd_fd=os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC),
        cwd=str(cwd),
        environment=ENVIRONMENT,
        operands=tuple(operands),
    )


class Road:
    """Stands for the pipeline: permits every argv but those of `denied`, and keeps the order."""

    def __init__(
        self,
        cwd: Path,
        *,
        denied: Sequence[str] = (),
        alter: Callable[[RunCommand], RunCommand] = lambda plan: plan,
        obligations: Obligations | None = None,
    ) -> None:
        self.cwd = cwd
        self.denied = denied
        self.alter = alter
        self.obligations = obligations
        self.events: list[str] = []
        self.settled: list[Result] = []
        self.released = 0

    def submit(self, request: ActionRequest, parent: Permit) -> Permit | Answer:
        argv = [str(word) for word in request.params["argv"]]
        self.events.append("submit " + argv[0])
        assert request.tool == "shell.run"
        if argv[0] in self.denied:
            verdict = decision(Effect.DENY, reason="default_decision")
            return Answer(decision=verdict, action_id="denied")
        plan = self.alter(command(self.cwd, *argv))
        return permit(
            plan,
            normalized=picture(argv),
            obligations=self.obligations,
            parent_id=parent.action_id,
            release=lambda: self.release(plan),
        )

    def release(self, plan: RunCommand) -> None:
        os.close(plan.cwd_fd)
        self.released += 1

    def settle(self, permit: Permit, result: Result) -> Answer:
        assert isinstance(permit.action.plan, RunCommand)
        self.events.append(f"settle {permit.action.plan.argv[0]} {result.status}")
        self.settled.append(result)
        permit.action.release()
        return Answer(decision=permit.decision, action_id=permit.action_id, result=result)


def picture(argv: Sequence[str]) -> dict[str, Json]:
    return {"argv": list(argv)}
