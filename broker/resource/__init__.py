"""Resource-server kit: what an API does before it serves a call an agent sends.

A token is good for one decided call. The kit asks the broker about the token at that moment and
compares the decided call with the request in hand: operation, method, URI, body bytes. It refuses
whatever it cannot prove, and a broker that is down, slow or strange is an error to the caller
(503), never a pass. It holds no cache: a revocation bites at the next request.

It does not stop a second use of the same token for the same call within its life (at most 300 s);
the API itself must make a repeated call harmless until tokens are single-use.

Source: RFC 6750 (bearer use and errors), RFC 7662 (introspection), RFC 9396
(authorization_details), docs/wire.md.
"""

from __future__ import annotations

from broker.resource.assertion import assertion_source
from broker.resource.model import Reason, Refusal, ResourceConfig, VerifiedCall
from broker.resource.server import ResourceServer

__all__ = [
    "Reason",
    "Refusal",
    "ResourceConfig",
    "ResourceServer",
    "VerifiedCall",
    "assertion_source",
]
