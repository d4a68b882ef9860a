"""Simulation: the calls of a trace are decided one after the other, nothing is executed.

The session begins clean and goes on as the log would make it: what an act taints stays. What a
person would answer is given (`approve` or `deny`). A call that was denied did not happen, so what
the trace says came back of it is left out of account. A trace tells no time, so limits on a rate
are not simulated; those on acts and on bytes sent are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gateway.model.decision import Decision
from gateway.model.names import Effect, Json
from gateway.replay.stand import Session
from gateway.replay.trace import Call, Trace

OnAsk: TypeAlias = Literal["approve", "deny"]
ON_ASK: Final = ("approve", "deny")


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """One call of a trace and what was decided; `asked` when a person would have been asked."""

    trace: str | None
    id: str
    decision: Decision
    asked: bool

    def to_json(self) -> dict[str, Json]:
        """Return one line of the report."""
        named: dict[str, Json] = {} if self.trace is None else {"trace": self.trace}
        return {**named, "id": self.id, **self.decision.to_json(), "asked": self.asked}


def simulate(trace: Trace, session: Session, on_ask: OnAsk) -> Iterator[Simulated]:
    """Yield one decision for each call of a trace."""
    for event in trace.events:
        if not isinstance(event, Call):
            continue
        decision = session.judge(event.to_request())
        asked = decision.effect is Effect.ASK
        decision = _answered(decision, on_ask) if asked else decision
        if decision.effect is Effect.ALLOW:
            session.spend(decision)
        yield Simulated(trace=trace.name, id=event.id, decision=decision, asked=asked)


def _answered(decision: Decision, on_ask: OnAsk) -> Decision:
    if on_ask == "approve":
        return decision.approved()
    return decision.deny("approval_denied")
