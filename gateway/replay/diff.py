"""What another policy would decide otherwise: acts made from the rules, and acts that happened.

Every change is shown by an act that both policies judged. From the log nothing can be judged
again, since it keeps digests; what can be told is how many acts were decided by rules that differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.decide.analysis.compare import candidates, differing
from gateway.decide.engine import Decide
from gateway.errors import InvariantError
from gateway.model.decision import Decision
from gateway.model.names import Effect, Json
from gateway.replay.simulate import OnAsk, simulate
from gateway.replay.stand import Session
from gateway.replay.trace import Call, Trace

DECIDED: Final = frozenset({"decision", "denied", "intent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One act and both decisions; `source` says where the act comes from."""

    source: str
    request: Mapping[str, Json]
    before: Decision
    after: Decision

    @property
    def kind(self) -> str:
        """`loosened`, `tightened`, or `owes`: the same effect with other obligations."""
        if self.after.effect is self.before.effect:
            return "owes"
        return "loosened" if self.after.effect < self.before.effect else "tightened"

    def to_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "kind": self.kind,
            "source": self.source,
            "request": dict(self.request),
            "before": _shown(self.before),
            "after": _shown(self.after),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The log's decisions: how many, and how many by a rule that differs, for each rule."""

    acts: int
    by_rule: Mapping[str, int]


def from_rules(
    before: Session, after: Session, variables: Mapping[str, str]
) -> tuple[list[Change], tuple[str, ...]]:
    """Return the changes that acts made from the rules show, one for each kind of change.

    The second value names the rules that differ and that no change speaks of.
    """
    first, second = _decider(before), _decider(after)
    found: dict[tuple[Any, ...], Change] = {}
    for act in candidates(before.policy, after.policy, variables):
        pair = [one.decide(act.action, act.caller, act.state) for one in (first, second)]
        if _same(*pair):
            continue
        change = Change(source="rules", request=act.to_json(), before=pair[0], after=pair[1])
        key = (act.action.operation, *((one.effect, one.rule, one.reason) for one in pair))
        found.setdefault(key, change)
    changes = list(found.values())
    told = {one.rule for change in changes for one in (change.before, change.after)}
    unseen = [name for name in differing(before.policy, after.policy) if name not in told]
    return changes, tuple(unseen)


def from_traces(
    before: Session, after: Session, traces: Iterable[Trace], on_ask: OnAsk
) -> Iterator[Change]:
    """Yield the calls of traces that are decided otherwise, each session as its policy left it."""
    for trace in traces:
        calls = [event for event in trace.events if isinstance(event, Call)]
        first = simulate(trace, before.fresh(), on_ask)
        second = simulate(trace, after.fresh(), on_ask)
        for call, one, other in zip(calls, first, second, strict=True):
            if not _same(one.decision, other.decision):
                request = call.to_request()
                yield Change(
                    source=f"trace {trace.name or ''}".strip() + f" {call.id}",
                    request={"tool": request.tool, "params": dict(request.params)},
                    before=one.decision,
                    after=other.decision,
                )


def from_log(before: Session, after: Session, log: Iterable[Mapping[str, Any]]) -> Recorded:
    """Count the acts of a log, and those that a rule decided which differs now."""
    changed = set(differing(before.policy, after.policy))
    acts = 0
    by_rule: Counter[str] = Counter()
    for record in log:
        if record.get("kind") in DECIDED:
            acts += 1
            if record.get("rule_id") in changed:
                by_rule[record["rule_id"]] += 1
    return Recorded(acts=acts, by_rule=dict(by_rule))


def _decider(session: Session) -> Decide:
    if not isinstance(session.decider, Decide):
        raise InvariantError("a policy is compared alone, without layers")
    return session.decider


def _same(one: Decision, other: Decision) -> bool:
    if one.effect is not other.effect:
        return False
    return one.effect is Effect.DENY or one.obligations == other.obligations


def _shown(decision: Decision) -> dict[str, Json]:
    return {"decision": decision.effect.word, "rule": decision.rule, "reason": decision.reason}
