"""Compare an active token with the request in hand: a table of checks, each with its own reason.

Pure: no clock, no network. Every check must hold; the first that does not names the refusal. The
comparison is of exact strings, because both sides were written by the gateway and the broker from
one normalized action; a spelling that only means the same is another call.

Source: docs/wire.md 'What a resource server checks'; RFC 9449 §7.2 (a bound token is no Bearer
token).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from broker.resource.model import Endpoint, Reason, Received, ResourceConfig, TokenFacts

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything one comparison looks at."""

    config: ResourceConfig
    endpoint: Endpoint
    received: Received
    token: TokenFacts
    now: int


_CHECKS: tuple[tuple[Reason, Callable[[Case], bool]], ...] = (
    (Reason.BROKER_ANSWER, lambda c: c.token.issuer == c.config.issuer),
    (Reason.WRONG_AUDIENCE, lambda c: c.token.audience == c.config.audience),
    (Reason.TOKEN_EXPIRED, lambda c: c.token.expires_at > c.now),
    (Reason.SENDER_CONSTRAINED, lambda c: not c.token.sender_constrained),
    (Reason.WRONG_SCOPE, lambda c: c.token.scope == c.endpoint.scope),
    (Reason.WRONG_OPERATION, lambda c: c.token.call.operation == c.endpoint.operation),
    (Reason.WRONG_METHOD, lambda c: c.token.call.method == c.received.method),
    (Reason.WRONG_URI, lambda c: c.token.call.uri == c.received.uri),
    (
        Reason.WRONG_CONTENT,
        lambda c: c.token.call.content_sha256 == sha256(c.received.body).hexdigest(),
    ),
)


def first_failure(case: Case) -> Reason | None:
    """Return the first check that does not hold, None when all do."""
    return next((reason for reason, holds in _CHECKS if not holds(case)), None)
