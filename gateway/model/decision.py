"""The verdict: a frozen value with a rule and a reason, never a bare bool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gateway.model.action import Action
from gateway.model.names import Effect, Json, Operation, Taint
from gateway.model.reasons import REASONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligations:
    """What an allowed act owes.

    `min_tier`: sandbox tier the rule demands (`A`, `B`), None for none. `network`: what the rule
    grants a command (`none`, `proxy`). `approval`: how much rides on a person's answer (`low`,
    `medium`, `high`). `audit`: what a record keeps of the act's values, keyed digests or nothing
    (`digest`, `metadata`). `redact`: what must be taken out of the result (`secrets`).
    """

    min_tier: str | None = None
    network: str = "none"
    approval: str = "low"
    audit: str = "digest"
    redact: frozenset[str] = frozenset()
    read_bytes: int = 1_048_576
    call_timeout_s: int = 30
    approval_timeout_s: int = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided, by which rule, why.

    `rule`: the author's id, or `builtin:<name>`, or `default`. `reason`: a stable code.
    `taint`: what this decision adds to the session (`attempted` when a protected path was named).
    `policy_digest`: the effective policy it was made under. `labels`: the session's taint words.
    `state_version`: the session state it was made under; an intent is recorded only under the same.
    `spends`: rules with limits that let the act through, and the bytes it writes or sends.
    `would`: in mode observe, the effect that mode enforce would have given; else None.
    """

    effect: Effect
    rule: str
    reason: str
    message: str
    operation: Operation
    normalized: Mapping[str, Json]
    action_digest: str
    policy_digest: str
    labels: tuple[str, ...] = ()
    taint: frozenset[Taint] = frozenset()
    obligations: Obligations = field(default_factory=Obligations)
    decide_us: int = 0
    state_version: int = 0
    spends: Mapping[str, int] = field(default_factory=dict)
    would: Effect | None = None

    @classmethod
    def fault(cls, action: Action, reason: str, message: str = "") -> Decision:
        """Return the deny for an act nobody could judge because something broke."""
        return cls(
            effect=Effect.DENY,
            rule="builtin:fault",
            reason=reason,
            message=message or REASONS[reason],
            operation=action.operation,
            normalized=action.normalized,
            action_digest=action.digest,
            policy_digest="",
        )

    def deny(self, reason: str, message: str = "") -> Decision:
        """Return this decision turned into a deny; the rule that would have let it on is kept."""
        said = message or REASONS[reason]
        return replace(self, effect=Effect.DENY, reason=reason, message=said)

    def approved(self) -> Decision:
        """Return this ask turned into an allow, after a person approved it."""
        reason = "approval_granted"
        return replace(self, effect=Effect.ALLOW, reason=reason, message=REASONS[reason])

    def to_json(self) -> dict[str, Json]:
        """Return the contract of DESIGN.md section 5, plus `policy_digest` and a set `would`."""
        shown: dict[str, Json] = {
            "decision": self.effect.word,
            "rule": self.rule,
            "reason": self.reason,
            "message": self.message,
            "operation": str(self.operation),
            "normalized": dict(self.normalized),
            "action_digest": self.action_digest,
            "policy_digest": self.policy_digest,
            "labels": list(self.labels),
            "decide_us": self.decide_us,
        }
        return shown if self.would is None else {**shown, "would": self.would.word}
