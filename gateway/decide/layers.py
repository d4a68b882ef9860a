"""Several policies at once: the strictest decision counts, so a further policy only narrows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from gateway.decide.compile import DIGEST_PREFIX
from gateway.errors import InvariantError
from gateway.kit import canon
from gateway.model.action import Action
from gateway.model.decision import Decision, Obligations
from gateway.model.ports import Decider
from gateway.model.request import Caller
from gateway.model.session import SessionState


class Layered:
    """Asks every decider, the most trusted first; no decider can loosen what another says."""

    def __init__(self, deciders: Sequence[Decider]) -> None:
        if not deciders:
            raise InvariantError("a layered policy has at least one layer")
        self._deciders = tuple(deciders)

    def decide(self, action: Action, caller: Caller, state: SessionState) -> Decision:
        """Return the strictest decision with the taint and obligations of all layers."""
        decisions = [decider.decide(action, caller, state) for decider in self._deciders]
        strictest = max(decisions, key=lambda decision: decision.effect)
        digests = [decision.policy_digest for decision in decisions]
        return replace(
            strictest,
            policy_digest=digests[0]
            if len(digests) == 1
            else DIGEST_PREFIX + canon.digest(digests),
            taint=frozenset(chain.from_iterable(decision.taint for decision in decisions)),
            obligations=_strictest([decision.obligations for decision in decisions]),
        )


def _strictest(many: Sequence[Obligations]) -> Obligations:
    tiers = [one.min_tier for one in many if one.min_tier is not None]
    return Obligations(
        min_tier=min(tiers, default=None),
        network="proxy" if all(one.network == "proxy" for one in many) else "none",
        read_bytes=min(one.read_bytes for one in many),
        call_timeout_s=min(one.call_timeout_s for one in many),
        approval_timeout_s=min(one.approval_timeout_s for one in many),
    )
