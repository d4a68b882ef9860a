"""The decider: built-in denies, then the session, then the rules, resource by resource.

Order, each step can only make the verdict stricter:
1. a refusal of normalization denies;
2. built-in denies: counterfoil's own files, commands and origins, changes of guarded files,
   protected paths;
3. a suspended session denies; a tainted one denies whatever leaves the machine;
4. for each resource: any matching deny; else the first matching allow or ask in file order; else
   the policy's default, which `unknown` never reaches;
5. a file with more than one name denies unless the matching rule accepts hard links.
A rule that matches and whose constrained argument is missing, whose taint, limits or `when` do not
hold, or that cannot be judged, denies; no later rule is asked.
The act takes the strictest verdict; the first resource that has it is the one reported. Naming a
protected path taints the session as `attempted`, whatever else is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.decide.builtin import BuiltinDenies
from gateway.decide.compile import CompiledRule, Policy, in_layer
from gateway.decide.conditions import DENIES, Outcome
from gateway.decide.limits import sent
from gateway.decide.schema import Rule
from gateway.model.action import Action
from gateway.model.decision import Decision, Obligations
from gateway.model.names import EGRESS_OPERATIONS, Effect, Operation, Taint
from gateway.model.plan import RunCompound
from gateway.model.request import Caller
from gateway.model.resource import CommandResource, PathResource, Resource
from gateway.model.session import SessionState

APPROVALS: Final = ("low", "medium", "high")
DEFAULT: Final = "default"
NO_CONSENT: Final = "No answer is not consent."
BEFORE_RULES: Final = (
    "builtin:normalize",
    "builtin:unknown",
    "builtin:self-protection",
    "builtin:protected",
    "builtin:suspended",
    "builtin:taint",
)
"""What is asked before any rule, in this order."""
_UNSAID: Final = "medium"  # how much rides on an ask that does not say
_NOTHING: Final[Mapping[str, int]] = {}
_SHOWN: Final = 3
_PATH_SHOWN: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The verdict over one resource, and the rule of the policy that gave it.

    `lifted`: it is a deny of the policy that mode observe let through.
    """

    effect: Effect
    rule: str
    reason: str
    message: str
    by: CompiledRule | None = None
    lifted: bool = False


class Decide:
    """Judges actions under one policy; the same input always gives the same decision.

    `self_paths` are absolute paths of counterfoil's own files and directories (they need not
    exist); `guarded` of files no act may change; `forbidden_origins` the (host, port) of its own
    services. With `observe`, denies of the policy itself allow and say that they would have denied.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        self_paths: Iterable[str] = (),
        guarded: Iterable[str] = (),
        forbidden_origins: Iterable[tuple[str, int]] = (),
        observe: bool = False,
    ) -> None:
        self.policy = policy
        self._observe = observe
        self._rulings = {rule.id: _matched(rule) for rule in policy.rules}
        self._limited = any(rule.model.limits is not None for rule in policy.rules)
        self._plain = not any(map(_owes, policy.rules))
        self._owed = Obligations(
            read_bytes=policy.limits.read_bytes,
            call_timeout_s=policy.limits.call_timeout_s,
            approval_timeout_s=policy.limits.approval_timeout_s,
        )
        self._asked = replace(self._owed, approval=_UNSAID)
        self.builtin = BuiltinDenies(
            policy.protected,
            self_paths=self_paths,
            guarded=guarded,
            forbidden_origins=forbidden_origins,
        )

    def decide(self, action: Action, caller: Caller, state: SessionState) -> Decision:
        """Judge every resource alone and return the strictest verdict."""
        ruling = self.before_rules(action, state)
        rulings = [ruling] if ruling is not None else []
        if not rulings:
            rulings = [self.rule_on(resource, caller, state) for resource in action.resources]
        if self._observe:
            rulings = list(map(_lifted, rulings))
        strictest = max(rulings, key=lambda ruling: (ruling.effect, ruling.lifted))
        lifted = any(ruling.lifted for ruling in rulings)
        return Decision(
            effect=strictest.effect,
            rule=strictest.rule,
            reason=strictest.reason,
            message=strictest.message,
            operation=action.operation,
            normalized=action.normalized,
            action_digest=action.digest,
            policy_digest=self.policy.digest,
            labels=tuple(sorted(state.taint)),
            taint=self._taint(action),
            obligations=self.obligations(action.resources, rulings),
            spends=self._spends(action, rulings) if self._limited else _NOTHING,
            would=Effect.DENY if lifted and strictest.effect is not Effect.DENY else None,
        )

    def _taint(self, action: Action) -> frozenset[Taint]:
        """Naming a protected path taints, and so does a path of our own: the keys are there.

        What a walk would merely reach is denied like the rest, but nobody named it.
        """
        named = any(
            isinstance(resource, PathResource)
            and resource.named
            and (self.builtin.protects(resource) or self.builtin.is_own(resource))
            for resource in action.resources
        )
        return frozenset({Taint.ATTEMPTED}) if named else frozenset()

    def before_rules(self, action: Action, state: SessionState) -> Ruling | None:
        """Return the deny that no rule can change, if there is one."""
        if action.refusal is not None:
            return _deny("builtin:normalize", action.refusal.reason, action.refusal.message)
        if not action.resources:
            return _UNKNOWN
        if any(map(self.builtin.is_own, action.resources)):
            return _OWN
        guarded = next(filter(self.builtin.guards, action.resources), None)
        if isinstance(guarded, PathResource):
            return _guarded(guarded)
        secret = next(filter(self.builtin.protects, action.resources), None)
        if isinstance(secret, PathResource):
            return _protected(secret)
        if state.suspended:
            return _SUSPENDED
        if state.taint and (
            action.operation in EGRESS_OPERATIONS
            or any(resource.egress for resource in action.resources)
        ):
            return _TAINTED
        return None

    def rule_on(self, resource: Resource, caller: Caller, state: SessionState) -> Ruling:
        """Return what the rules say of one resource."""
        rules = self.policy.rules
        for position in self.policy.denies.find(resource, every_name=True):
            outcome, _ = rules[position].judge(resource, caller, state)
            if outcome is not Outcome.FAILS:
                return self.ruling_of(rules[position], outcome, resource)
        for position in self.policy.grants.find(resource, every_name=False):
            outcome, _ = rules[position].judge(resource, caller, state)
            if outcome is not Outcome.FAILS:
                return self.ruling_of(rules[position], outcome, resource)
        return self.default_for(resource)

    def default_for(self, resource: Resource) -> Ruling:
        """Return what holds when no rule matches."""
        if resource.operation is Operation.UNKNOWN:
            return _UNKNOWN
        if self.policy.default is None:
            return _ABSTAINS
        rule = in_layer(self.policy.layer, DEFAULT)
        if self.policy.default is Effect.DENY:
            hint = _hint(resource.operation, self.policy.granting.get(resource.operation, ()))
            return _deny(rule, "default_decision", f"No rule matches. {hint}")
        if _linked(resource):
            return _HARDLINK
        return Ruling(
            effect=Effect.ASK,
            rule=rule,
            reason="default_decision",
            message=f"No rule matches, so a person must approve. {NO_CONSENT}",
        )

    def ruling_of(self, rule: CompiledRule, outcome: Outcome, resource: Resource) -> Ruling:
        """Return what a rule whose outcome is not `fails` says of a resource."""
        if outcome in DENIES:
            message = f"Rule {rule.id} applies, but {_WHY[outcome]}."
            return _deny(rule.id, outcome.value, message)
        if rule.effect is not Effect.DENY and _linked(resource) and rule.model.hardlinks is None:
            return _HARDLINK
        return self._rulings[rule.id]

    def obligations(self, resources: Sequence[Resource], rulings: Sequence[Ruling]) -> Obligations:
        """Join what the rules demand; a grant of network needs every command's rule to give it."""
        asks = [ruling for ruling in rulings if ruling.effect is Effect.ASK]
        if self._plain and self.policy.default is not None:
            return self._asked if asks else self._owed
        rules = [ruling.by.model for ruling in rulings if ruling.by is not None]
        networks = {
            "none" if ruling.by is None else _network(ruling.by.model)
            for resource, ruling in zip(resources, rulings, strict=False)
            if isinstance(resource, CommandResource) and ruling is not _ABSTAINS
        }
        silent = "proxy" if self.policy.default is None else "none"
        tiers = [rule.sandbox.min_tier for rule in rules if rule.sandbox is not None]
        metadata = any(rule.audit == "metadata" for rule in rules)
        return replace(
            self._owed,
            min_tier=min((tier for tier in tiers if tier is not None), default=None),
            network=min(networks, default=silent),
            approval=max(map(_approval, asks), key=APPROVALS.index, default=self._owed.approval),
            audit="metadata" if metadata else self._owed.audit,
            redact=frozenset(word for rule in rules for word in rule.redact or ()),
        )

    def _spends(self, action: Action, rulings: Iterable[Ruling]) -> Mapping[str, int]:
        """Return what limited rules let through; a compound line's parts count, it does not."""
        if isinstance(action.plan, RunCompound):
            return _NOTHING
        spends: dict[str, int] = {}
        for resource, ruling in zip(action.resources, rulings, strict=False):
            by = ruling.by
            if by is not None and by.model.limits is not None and by.effect is not Effect.DENY:
                spends[by.id] = spends.get(by.id, 0) + sent(resource)
        return spends


def _matched(rule: CompiledRule) -> Ruling:
    message = _MESSAGES[rule.effect].format(rule=rule.id)
    if rule.model.justification is not None:
        message = f"{message} {rule.model.justification}"
    return Ruling(effect=rule.effect, rule=rule.id, reason="rule_match", message=message, by=rule)


def _lifted(ruling: Ruling) -> Ruling:
    """Let a deny of the policy through; built-in denies, asks and faults stay."""
    if ruling.effect is not Effect.DENY or ruling.reason not in _POLICY_DENIES:
        return ruling
    message = f"Mode observe: this would be denied. {ruling.message}"
    return replace(ruling, effect=Effect.ALLOW, message=message, lifted=True)


def _protected(resource: PathResource) -> Ruling:
    how = (
        ""
        if resource.named
        else "; the command would reach it: start lower, or leave it out (grep --exclude=NAME)"
    )
    return _deny(
        "builtin:protected",
        "fs_protected",
        f"{resource.path[:_PATH_SHOWN]} is protected by the policy, and no rule can allow it{how}.",
    )


def _guarded(resource: PathResource) -> Ruling:
    return _deny(
        "builtin:self-protection",
        "self_protection",
        f"{resource.path[:_PATH_SHOWN]} decides what a program outside the gate starts (hooks, MCP "
        "servers, tasks), so only a person changes it. It may be read.",
    )


def _owes(rule: CompiledRule) -> bool:
    model = rule.model
    owed = (model.sandbox, model.approval, model.audit, model.redact)
    return any(one is not None for one in owed)


def _approval(ask: Ruling) -> str:
    said = None if ask.by is None else ask.by.model.approval
    return said or _UNSAID


def _network(rule: Rule) -> str:
    return "none" if rule.sandbox is None else rule.sandbox.network


def _linked(resource: Resource) -> bool:
    return isinstance(resource, PathResource) and resource.links > 1


def _hint(operation: Operation, granting: tuple[str, ...]) -> str:
    if not granting:
        return f"No {operation} is allowed at all."
    shown = ", ".join(granting[:_SHOWN])
    more = len(granting) - _SHOWN
    rest = f" and {more} more" if more > 0 else ""
    return f"{operation} is open to these rules: {shown}{rest}."


def _deny(rule: str, reason: str, message: str) -> Ruling:
    return Ruling(effect=Effect.DENY, rule=rule, reason=reason, message=message)


_WHY: Final = {
    Outcome.MISSING: "an argument it constrains is missing: give every constrained argument",
    Outcome.TAINTED: "only in a session that has not touched a secret",
    Outcome.RATE: "it let through as many acts as it may in this time: wait",
    Outcome.BUDGET: "it let through as much as it may, until a person clears it",
    Outcome.WHEN_FALSE: "its `when` is false",
    Outcome.WHEN_ERROR: "its `when` could not be judged; a fault never permits",
    Outcome.ERROR: "judging it failed; a fault never permits",
}
_POLICY_DENIES: Final = frozenset(
    {
        "rule_match",
        "default_decision",
        "argument_missing",
        "taint_condition",
        "rate_exceeded",
        "budget_exceeded",
        "when_false",
    }
)
"""Reasons of denies that a policy's author chose."""
_MESSAGES: Final = {
    Effect.ALLOW: "Allowed by rule {rule}.",
    Effect.ASK: f"Rule {{rule}} wants a person to approve. {NO_CONSENT}",
    Effect.DENY: "Denied by rule {rule}.",
}

_UNKNOWN: Final = _deny(
    "builtin:unknown",
    "unknown_operation",
    "This act could not be named, and what cannot be named is denied.",
)
_ABSTAINS: Final = Ruling(
    effect=Effect.ALLOW,
    rule=DEFAULT,
    reason="default_decision",
    message="No rule matches, and this layer leaves it to the others.",
)
_OWN: Final = _deny(
    "builtin:self-protection",
    "self_protection",
    "The act reaches for counterfoil's own files, commands or services. No rule can allow it.",
)
_SUSPENDED: Final = _deny(
    "builtin:suspended",
    "session_suspended",
    "The session is suspended until a person resumes it.",
)
_TAINTED: Final = _deny(
    "builtin:taint",
    "taint_session",
    "The session has touched or tried to touch a secret, so nothing may leave it until a person "
    "clears it. Local reads go on as the policy allows.",
)
_HARDLINK: Final = _deny(
    "builtin:hardlink",
    "fs_hardlink",
    "The file has more than one name (hard links), so its path does not say what it is. Files "
    "with one name may be allowed.",
)
