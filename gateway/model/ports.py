"""What the pipeline needs of each stage. The stages never import each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gateway.model.action import Action
from gateway.model.approval import ApprovalAnswer, Question
from gateway.model.decision import Decision
from gateway.model.event import Event
from gateway.model.outcome import Answer, Result
from gateway.model.permit import Permit
from gateway.model.request import ActionRequest, Caller
from gateway.model.session import SessionState


class Normalizer(Protocol):
    """Turns a hostile request into an action; never raises for what a request contains."""

    def normalize(self, request: ActionRequest) -> Action:
        """Return the action; a request that cannot be one comes back with a refusal."""
        ...


class Decider(Protocol):
    """Pure: the same action, caller and state give the same decision."""

    def decide(self, action: Action, caller: Caller, state: SessionState) -> Decision:
        """Judge every resource alone and return the strictest verdict."""
        ...


class Approver(Protocol):
    """Asks a person; returns when answered or at the deadline, never later."""

    def ask(self, question: Question) -> ApprovalAnswer:
        """Return the answer; no live approver is `UNAVAILABLE`."""
        ...


class Recorder(Protocol):
    """The log. Raises RecordError when a record cannot be kept; then it stays unusable."""

    def state(self, scope: str) -> SessionState:
        """Return the scope's state after everything in the log so far, other doors' included."""
        ...

    def append(self, event: Event, *, sync: bool, expect: int | None = None) -> None:
        """Append one record; with `sync` it is durable before this returns.

        Raises:
            StaleStateError: `expect` is given and is no longer the scope's state version;
                nothing was appended.
            RecordError: the record could not be kept.
        """
        ...


Submit = Callable[[ActionRequest, Permit], "Permit | Answer"]
"""A way back onto the road for acts found while executing: a permit, or the denial."""


class Executor(Protocol):
    """Carries out a permit, once."""

    def supports(self, action: Action, decision: Decision) -> str | None:
        """Return None if it can carry the action out, else a reason code (nothing recorded yet)."""
        ...

    def execute(self, permit: Permit, submit: Submit, settle: Settle) -> Result:
        """Spend the permit and say what came of it; a fault is a result too, never a raise.

        Raises:
            InvariantError: the permit was spent before.
        """
        ...


Settle = Callable[[Permit, Result], Answer]
"""Observes and records the outcome of a permit got from `Submit`."""


class Observer(Protocol):
    """Looks at what came back before the agent sees it."""

    def observe(self, permit: Permit, result: Result) -> Result:
        """Return what the agent may see."""
        ...
