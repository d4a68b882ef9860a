"""Introspection: the audience's own resource server learns whether a token is live this moment.

Everything else gets the same answer, exactly `{"active": false}`: an unknown, expired, revoked or
foreign token, a grant handle, a caller that is not the resource server of the audience. Validity is
derived from token, grant, user and client in one query. The token is looked up by digest and never
parsed, so there is nothing to attack with a crafted one.

Source: RFC 7662 section 2.2.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from broker.store import tokens
from broker.store.database import digest

if TYPE_CHECKING:
    from broker.grants.context import Broker
    from broker.store.clients import Client


def introspect(broker: Broker, client: Client, token: str) -> dict[str, Any]:
    """Describe a live token to its resource server."""
    with broker.store.read() as connection:
        claims = tokens.find_active(
            connection,
            token_hash=digest(token),
            audience=_audience_of(broker, client),
            now=broker.clock(),
        )
    if claims is None:
        return {"active": False}
    return {"active": True, "token_type": "Bearer", **json.loads(claims)}


def _audience_of(broker: Broker, client: Client) -> str:
    audience = broker.config.catalogue.get(client.audience or "")
    speaks = audience is not None and audience.resource_server == client.id
    return client.audience or "" if speaks and client.kind == "resource" else ""
