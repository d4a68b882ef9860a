"""Questions for the tests of this room."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.kit import canon
from gateway.model.action import Action
from gateway.model.approval import Question
from gateway.model.decision import Decision
from gateway.model.names import Effect, Json, Operation
from gateway.model.request import Caller
from gateway.model.resource import Resource


def question(
    normalized: Mapping[str, Json],
    *,
    operation: Operation = Operation.FS_WRITE,
    resources: tuple[Resource, ...] = (),
    message: str = "a rule asks",
    labels: tuple[str, ...] = (),
    tool: str = "fs.write",
    rule: str = "ask-first",
    agent: str | None = "demo-agent",
    timeout_s: int = 60,
    approval_id: str = "approval-1",
) -> Question:
    digest = canon.digest("placeholder")
    action = Action(
        tool=tool,
        operation=operation,
        normalized=normalized,
        digest=digest,
        resources=resources,
    )
    decision = Decision(
        effect=Effect.ASK,
        rule=rule,
        reason="rule_match",
        message=message,
        operation=operation,
        normalized=normalized,
        action_digest=digest,
        policy_digest=digest,
        labels=labels,
    )
    caller = Caller(
        user="alice", uid=1000, door="cli", session="s-1", scope="alice:/ws", agent=agent
    )
    return Question(
        approval_id=approval_id,
        action=action,
        decision=decision,
        caller=caller,
        timeout_s=timeout_s,
    )
