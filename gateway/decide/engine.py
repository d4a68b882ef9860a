"""The decider: built-in denies, then the session, then the rules, resource by resource.

Order, each step can only make the verdict stricter:
1. a refusal of normalization denies;
2. built-in denies: counterfoil's own files, commands and origins, changes of guarded files,
   protected paths;
3. a suspended session denies; a tainted one denies whatever leaves the machine;
4. for each resource: any matching deny; else the first matching allow or ask in file order; else
   the policy's default, which `unknown` never reaches; an ask for tainted sessions (`taint_any`)
   comes on top of that, since no taint makes a decision looser;
5. a file with more than one name denies unless the matching rule accepts hard links.
A rule that matches and whose constrained argument is missing, whose taint, limits or `when` do not
hold, or that cannot be judged, denies; no later rule is asked.
The act takes the strictest verdict; the first resource that has it is the one reported. Naming a
protected path taints the session as `attempted`, whatever else is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from gateway.decide.builtin import BuiltinDenies
from gateway.decide.compile import CompiledRule, Policy, in_layer
from gateway.decide.conditions import DENIES, Outcome
from gateway.decide.owed import Owed
from gateway.decide.ruling import (
    ABSTAINS,
    DEFAULT,
    HARDLINK,
    NO_CONSENT,
    OWN,
    SUSPENDED,
    TAINTED,
    UNKNOWN,
    WHY,
    Ruling,
    denial,
    guarded,
    hint,
    lifted,
    linked,
    matched,
    protected,
    strictest,
    strictness,
)
from gateway.model.action import Action
from gateway.model.decision import Decision
from gateway.model.names import EGRESS_OPERATIONS, Effect, Operation, Taint
from gateway.model.request import Caller
from gateway.model.resource import PathResource, Resource
from gateway.model.session import SessionState

BEFORE_RULES: Final = (
    "builtin:normalize",
    "builtin:unknown",
    "builtin:self-protection",
    "builtin:protected",
    "builtin:suspended",
    "builtin:taint",
)
"""What is asked before any rule, in this order."""


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
        self._rulings = {rule.id: matched(rule) for rule in policy.rules}
        self._owed = Owed(policy)
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
        worst = max(rulings, key=strictness)
        would = worst.effect is not Effect.DENY and any(ruling.lifted for ruling in rulings)
        return Decision(
            effect=worst.effect,
            rule=worst.rule,
            reason=worst.reason,
            message=worst.message,
            operation=action.operation,
            normalized=action.normalized,
            action_digest=action.digest,
            policy_digest=self.policy.digest,
            labels=tuple(sorted(state.taint)),
            taint=self._taint(action),
            obligations=self._owed.of(action.resources, rulings),
            spends=self._owed.spends(action, rulings),
            would=Effect.DENY if would else None,
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
            return denial("builtin:normalize", action.refusal.reason, action.refusal.message)
        if not action.resources:
            return UNKNOWN
        if any(map(self.builtin.is_own, action.resources)):
            return OWN
        starts = next(filter(self.builtin.guards, action.resources), None)
        if isinstance(starts, PathResource):
            return guarded(starts)
        secret = next(filter(self.builtin.protects, action.resources), None)
        if isinstance(secret, PathResource):
            return protected(secret)
        if state.suspended:
            return SUSPENDED
        if state.taint and (
            action.operation in EGRESS_OPERATIONS
            or any(resource.egress for resource in action.resources)
        ):
            return TAINTED
        return None

    def rule_on(self, resource: Resource, caller: Caller, state: SessionState) -> Ruling:
        """Return what the rules say of one resource."""
        found: list[Ruling] = []
        for ruling in self._denying(resource, caller, state):
            if ruling.effect is Effect.DENY:
                return ruling
            found.append(ruling)
        rules = self.policy.rules
        for position in self.policy.grants.find(resource, every_name=False):
            outcome, _ = rules[position].judge(resource, caller, state)
            if outcome is not Outcome.FAILS:
                found.append(self._lift(self.ruling_of(rules[position], outcome, resource)))
                if rules[position].model.taint_any is None:
                    return strictest(found)
        return strictest([*found, self._lift(self.default_for(resource))])

    def _denying(self, resource: Resource, caller: Caller, state: SessionState) -> Iterator[Ruling]:
        rules = self.policy.rules
        for position in self.policy.denies.find(resource, every_name=True):
            outcome, _ = rules[position].judge(resource, caller, state)
            if outcome is not Outcome.FAILS:
                yield self._lift(self.ruling_of(rules[position], outcome, resource))

    def _lift(self, ruling: Ruling) -> Ruling:
        return lifted(ruling) if self._observe else ruling

    def default_for(self, resource: Resource) -> Ruling:
        """Return what holds when no rule matches."""
        if resource.operation is Operation.UNKNOWN:
            return UNKNOWN
        if self.policy.default is None:
            return ABSTAINS
        rule = in_layer(self.policy.layer, DEFAULT)
        if self.policy.default is Effect.DENY:
            open_to = hint(resource.operation, self.policy.granting.get(resource.operation, ()))
            return denial(rule, "default_decision", f"No rule matches. {open_to}")
        if linked(resource):
            return HARDLINK
        return Ruling(
            effect=Effect.ASK,
            rule=rule,
            reason="default_decision",
            message=f"No rule matches, so a person must approve. {NO_CONSENT}",
        )

    def ruling_of(self, rule: CompiledRule, outcome: Outcome, resource: Resource) -> Ruling:
        """Return what a rule whose outcome is not `fails` says of a resource."""
        if outcome in DENIES:
            message = f"Rule {rule.id} applies, but {WHY[outcome]}."
            return denial(rule.id, outcome.value, message, by=rule)
        if rule.effect is not Effect.DENY and linked(resource) and rule.model.hardlinks is None:
            return HARDLINK
        return self._rulings[rule.id]
