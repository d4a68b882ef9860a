"""Several policies at once.

A policy that only narrows (`Layered`): the strictest decision counts, whatever it says.
A policy a person trusted beside their own (`joined`): its denies bite, its allows and asks decide
what no rule of the first one matches, and of the two defaults the stricter one counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from gateway.decide.compile import DIGEST_PREFIX, Policy
from gateway.decide.engine import Decide
from gateway.decide.glob import Caseless, GlobError
from gateway.decide.owed import APPROVALS
from gateway.decide.schema import Limits
from gateway.errors import InvariantError
from gateway.kit import canon
from gateway.model.action import Action
from gateway.model.decision import Decision, Obligations
from gateway.model.names import Effect
from gateway.model.request import Caller
from gateway.model.session import SessionState


def joined(first: Policy, second: Policy) -> Policy:
    """Return one policy of both; `second` never takes anything from `first`.

    Both are compiled under the same roots, `second` with a layer, so that no id is there twice.

    Raises:
        PolicyError: together they are too large.
    """
    globs = (*first.protected_globs, *second.protected_globs)
    count = len(first.rules)
    granting = dict(first.granting)
    for operation, ids in second.granting.items():
        granting[operation] = (*granting.get(operation, ()), *ids)
    try:
        protected = Caseless(globs)
    except GlobError as error:
        second.document.main.at("protected").fail(str(error))
    return replace(
        first,
        digest=combined([first, second]),
        default=_stricter(first.default, second.default),
        protected=protected,
        protected_globs=globs,
        rules=(*first.rules, *second.rules),
        denies=first.denies.joined(second.denies, count),
        grants=first.grants.joined(second.grants, count),
        granting=granting,
        limits=_bounds(first.limits, second.limits),
    )


def combined(policies: Sequence[Policy]) -> str:
    """Return the digest of several policies, each in its layer; of one alone, its own."""
    if len(policies) == 1:
        return policies[0].digest
    return DIGEST_PREFIX + canon.digest([[one.layer, one.digest] for one in policies])


def _stricter(first: Effect | None, second: Effect | None) -> Effect | None:
    if first is None or second is None:
        return first if second is None else second
    return max(first, second)


def _bounds(first: Limits, second: Limits) -> Limits:
    mine, theirs = first.model_dump(), second.model_dump()
    return Limits(**{name: min(value, theirs[name]) for name, value in mine.items()})


class Layered:
    """Asks every decider, the most trusted first; no decider can loosen what another says."""

    def __init__(self, deciders: Sequence[Decide]) -> None:
        if not deciders:
            raise InvariantError("a layered policy has at least one layer")
        self._deciders = tuple(deciders)
        self._digest = combined([one.policy for one in deciders])

    def decide(self, action: Action, caller: Caller, state: SessionState) -> Decision:
        """Return the strictest decision with the taint and obligations of all layers."""
        decisions = [decider.decide(action, caller, state) for decider in self._deciders]
        strictest = max(decisions, key=lambda one: (one.effect, one.would is not None))
        lifted = any(decision.would is not None for decision in decisions)
        return replace(
            strictest,
            policy_digest=self._digest,
            would=Effect.DENY if lifted and strictest.effect is not Effect.DENY else None,
            taint=frozenset(chain.from_iterable(decision.taint for decision in decisions)),
            obligations=_strictest([decision.obligations for decision in decisions]),
            spends=dict(chain.from_iterable(decision.spends.items() for decision in decisions)),
        )


def _strictest(many: Sequence[Obligations]) -> Obligations:
    tiers = [one.min_tier for one in many if one.min_tier is not None]
    return Obligations(
        min_tier=min(tiers, default=None),
        network="proxy" if all(one.network == "proxy" for one in many) else "none",
        approval=max((one.approval for one in many), key=APPROVALS.index),
        audit="metadata" if any(one.audit == "metadata" for one in many) else "digest",
        redact=frozenset(chain.from_iterable(one.redact for one in many)),
        read_bytes=min(one.read_bytes for one in many),
        call_timeout_s=min(one.call_timeout_s for one in many),
        approval_timeout_s=min(one.approval_timeout_s for one in many),
    )
