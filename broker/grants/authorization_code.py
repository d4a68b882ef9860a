"""The code becomes a grant handle: once, within its minute, by its client, with its verifier.

A second use is refused and revokes the grant the first one yielded: one of the two was a thief.
The handle is shown in this one answer and stored as a digest.

Source: RFC 6749 section 4.1.3 and 4.1.2, RFC 7636 section 4.6.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from authlib.oauth2.rfc7636 import create_s256_code_challenge

from broker.errors import InvalidGrantError, InvalidRequestError
from broker.store import codes, grants
from broker.store.database import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker.grants.context import Broker
    from broker.store.clients import Client

HANDLE_TYPE = "urn:counterfoil:token-type:grant-handle"
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_log = logging.getLogger(__name__)


def redeem(broker: Broker, client: Client, form: Mapping[str, str]) -> dict[str, Any]:
    """Answer `grant_type=authorization_code` with the grant handle."""
    for name in ("code", "redirect_uri", "code_verifier"):
        if name not in form:
            raise InvalidRequestError(f"{name}: required")
    if not _VERIFIER.fullmatch(form["code_verifier"]):
        raise InvalidGrantError("code_verifier: must be 43 to 128 unreserved characters")
    code_hash, handle, now = digest(form["code"]), broker.new_secret(), broker.clock()
    with broker.store.write() as connection:
        grant_id = codes.redeem(
            connection,
            code_hash=code_hash,
            client=client.id,
            redirect_uri=form["redirect_uri"],
            challenge=create_s256_code_challenge(form["code_verifier"]),
            now=now,
        )
        grant = None
        if grant_id is not None:
            grant = grants.activate(connection, grant_id, handle_hash=digest(handle), now=now)
        elif (used := codes.used_grant(connection, code_hash)) is not None:
            grants.revoke(connection, used)
            _log.warning("code used twice gid=%s client=%s: grant revoked", used, client.id)
    if grant is None:
        raise InvalidGrantError("code: unknown, used, too old, or not of this client and request")
    _log.info("handle issued gid=%s client=%s agent=%s", grant.id, client.id, grant.agent)
    return {
        "access_token": handle,
        "issued_token_type": HANDLE_TYPE,
        "token_type": "N_A",
        "grant_id": grant.id,
        "user": grant.user,
        "agent": grant.agent,
        "scope": " ".join(grant.scopes),
        "audiences": broker.config.audiences(grant.scopes),
        "expires_at": grant.expires_at,
    }
