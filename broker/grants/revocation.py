"""Revocation by whoever holds the token: an access token ends alone, a handle ends its grant.

Unknown tokens and other clients' tokens are left alone without a word, and asking twice changes
nothing. When the answer is sent the change is on the disk.

Source: RFC 7009 section 2.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from broker.store import grants, tokens
from broker.store.database import digest

if TYPE_CHECKING:
    from broker.grants.context import Broker
    from broker.store.clients import Client

_log = logging.getLogger(__name__)


def revoke(broker: Broker, client: Client, token: str) -> None:
    """End what this token or handle of this client stands for."""
    token_hash = digest(token)
    with broker.store.write() as connection:
        jti = tokens.revoke(connection, token_hash=token_hash, client=client.id, now=broker.clock())
        grant_id = grants.revoke_by_handle(connection, handle_hash=token_hash, client=client.id)
    if jti is not None or grant_id is not None:
        _log.info("revoked jti=%s gid=%s client=%s", jti, grant_id, client.id)
