"""What an allowed act owes: joined from every rule that let a part of it through.

Each demand of any rule counts, and a grant (of network) only if every command's rules give it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.decide.compile import CompiledRule, Policy
from gateway.decide.limits import sent
from gateway.decide.ruling import ABSTAINS, Ruling
from gateway.decide.schema import Rule
from gateway.model.action import Action
from gateway.model.decision import Obligations
from gateway.model.names import Effect
from gateway.model.resource import CommandResource, Resource

APPROVALS: Final = ("low", "medium", "high")
_UNSAID: Final = "medium"  # how much rides on an ask that does not say
_NOTHING: Final[Mapping[str, int]] = {}


class Owed:
    """Knows one policy; `of` and `spends` take the rulings over an act's resources, in order."""

    __slots__ = ("_asked", "_bare", "_limited", "_plain", "_silent")

    def __init__(self, policy: Policy) -> None:
        self._limited = any(rule.model.limits is not None for rule in policy.rules)
        self._silent = "proxy" if policy.default is None else "none"
        self._plain = policy.default is not None and not any(map(_owes, policy.rules))
        self._bare = Obligations(
            read_bytes=policy.limits.read_bytes,
            call_timeout_s=policy.limits.call_timeout_s,
            approval_timeout_s=policy.limits.approval_timeout_s,
        )
        self._asked = replace(self._bare, approval=_UNSAID)

    def of(self, resources: Sequence[Resource], rulings: Sequence[Ruling]) -> Obligations:
        """Return the obligations."""
        asks = [ruling for ruling in rulings if ruling.effect is Effect.ASK]
        if self._plain:
            return self._asked if asks else self._bare
        rules = [rule.model for ruling in rulings for rule in ruling.by]
        tiers = [rule.sandbox.min_tier for rule in rules if rule.sandbox is not None]
        networks = {
            network
            for resource, ruling in zip(resources, rulings, strict=False)
            if isinstance(resource, CommandResource) and ruling is not ABSTAINS
            for network in [_network(rule.model) for rule in ruling.by] or ["none"]
        }
        metadata = any(rule.audit == "metadata" for rule in rules)
        return replace(
            self._bare,
            min_tier=min((tier for tier in tiers if tier is not None), default=None),
            network=min(networks, default=self._silent),
            approval=max(map(_approval, asks), key=APPROVALS.index, default=self._bare.approval),
            audit="metadata" if metadata else self._bare.audit,
            redact=frozenset(word for rule in rules for word in rule.redact or ()),
        )

    def spends(self, action: Action, rulings: Sequence[Ruling]) -> Mapping[str, int]:
        """Return what limited rules let through, and what each act of it writes or sends.

        Of a compound line the parts count as acts; what came of them comes out of the line.
        """
        if not self._limited:
            return _NOTHING
        spends: dict[str, int] = {}
        for resource, ruling in zip(action.resources, rulings, strict=False):
            for rule in ruling.by:
                if rule.model.limits is not None and ruling.effect is not Effect.DENY:
                    spends[rule.id] = spends.get(rule.id, 0) + sent(resource)
        return spends


def _owes(rule: CompiledRule) -> bool:
    model = rule.model
    owed = (model.sandbox, model.approval, model.audit, model.redact)
    return any(one is not None for one in owed)


def _approval(ask: Ruling) -> str:
    said = [rule.model.approval or _UNSAID for rule in ask.by if rule.effect is Effect.ASK]
    return max(said, key=APPROVALS.index, default=_UNSAID)


def _network(rule: Rule) -> str:
    return "none" if rule.sandbox is None else rule.sandbox.network
