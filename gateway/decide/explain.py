"""Why an action is decided as it is: every rule, in order, with its first failing condition.

Uses the engine's own predicates, and looks at every rule instead of the index: an explanation that
disagreed with the decision would show a defect of the index.
"""

from __future__ import annotations

from dataclasses import dataclass

from gateway.decide.conditions import Outcome
from gateway.decide.engine import BEFORE_RULES, Decide
from gateway.model.action import Action
from gateway.model.decision import Decision
from gateway.model.names import Json
from gateway.model.request import Caller
from gateway.model.resource import (
    ApiResource,
    CommandResource,
    McpResource,
    MemoryResource,
    PathResource,
    Resource,
    UrlResource,
)
from gateway.model.session import SessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """One rule and one resource; `condition` is the first that failed, or the one that denies."""

    rule: str
    effect: str
    source: str
    line: int
    outcome: str
    condition: str | None

    def to_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "rule": self.rule,
            "effect": self.effect,
            "source": self.source,
            "line": self.line,
            "outcome": self.outcome,
            "condition": self.condition,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLines:
    """Every rule over one resource, and what the resource gets from them."""

    resource: str
    operation: str
    rules: tuple[RuleLine, ...]
    effect: str
    decided_by: str
    reason: str

    def to_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "resource": self.resource,
            "operation": self.operation,
            "rules": [line.to_json() for line in self.rules],
            "decision": self.effect,
            "rule": self.decided_by,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The decision; what was asked before the rules (`passed`, `denies`, `not reached`); rules.

    When something before the rules denies, the rules are shown as they would have judged.
    """

    decision: Decision
    before: tuple[tuple[str, str], ...]
    resources: tuple[ResourceLines, ...]

    def to_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "decision": self.decision.to_json(),
            "before_rules": [{"check": name, "outcome": word} for name, word in self.before],
            "resources": [lines.to_json() for lines in self.resources],
        }


def explain(decider: Decide, action: Action, caller: Caller, state: SessionState) -> Explanation:
    """Explain one decision; nothing is recorded and nothing changes."""
    stopped = decider.before_rules(action, state)
    return Explanation(
        decision=decider.decide(action, caller, state),
        before=tuple(_before(None if stopped is None else stopped.rule)),
        resources=tuple(
            _resource(decider, resource, caller, state) for resource in action.resources
        ),
    )


def describe(resource: Resource) -> str:
    """Return one line that names a resource, without argument values."""
    match resource:
        case PathResource():
            return resource.path
        case CommandResource():
            return " ".join(resource.argv)
        case UrlResource():
            return f"{resource.method} {resource.href}"
        case ApiResource():
            return f"{resource.audience} {resource.api_operation}"
        case McpResource():
            return f"{resource.server} {resource.name}"
        case MemoryResource():
            return f"{resource.scope} memory, {resource.size} bytes"


def _before(stopped: str | None) -> list[tuple[str, str]]:
    if stopped is None:
        return [(name, "passed") for name in BEFORE_RULES]
    at = BEFORE_RULES.index(stopped)
    return [
        (name, "passed" if i < at else "denies" if i == at else "not reached")
        for i, name in enumerate(BEFORE_RULES)
    ]


def _resource(
    decider: Decide, resource: Resource, caller: Caller, state: SessionState
) -> ResourceLines:
    ruling = decider.rule_on(resource, caller, state)
    lines = []
    for rule in decider.policy.rules:
        outcome, condition = rule.judge(resource, caller, state)
        word = "matches" if outcome is Outcome.HOLDS else outcome.value
        lines.append(
            RuleLine(
                rule=rule.id,
                effect=rule.effect.word,
                source=rule.place.source,
                line=rule.place.line,
                outcome=word,
                condition=condition,
            )
        )
    return ResourceLines(
        resource=describe(resource),
        operation=str(resource.operation),
        rules=tuple(lines),
        effect=ruling.effect.word,
        decided_by=ruling.rule,
        reason=ruling.reason,
    )
