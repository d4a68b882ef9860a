"""Access tokens: inserted from a live grant, found again by digest, valid only by derivation.

`mint` reads the grant in the same statement that writes the row, and `find_active` joins the row
with its grant, user and client, so no token outlives any of them and no flag has to be kept in
step. The UNIQUE decision makes one decision yield at most one token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_MINT = """
INSERT INTO tokens (hash, jti, grant_id, epoch, aud, scope, decision_id, iat, exp, claims)
SELECT ?, ?, g.id, g.epoch, ?, ?, ?, ?, ?, ? FROM grants g
JOIN users u ON u.name = g.user JOIN clients c ON c.id = g.client
WHERE g.id = ? AND g.epoch = ? AND g.status = 'active' AND g.expires_at >= ?
AND u.enabled = 1 AND c.enabled = 1
"""
_ACTIVE = """
SELECT t.claims FROM tokens t JOIN grants g ON g.id = t.grant_id
JOIN users u ON u.name = g.user JOIN clients c ON c.id = g.client
WHERE t.hash = ? AND t.aud = ? AND t.revoked_at IS NULL AND t.exp > ?
AND g.status = 'active' AND g.epoch = t.epoch AND g.expires_at > ?
AND u.enabled = 1 AND c.enabled = 1
"""
_REVOKE = """
UPDATE tokens SET revoked_at = ? WHERE hash = ? AND revoked_at IS NULL
AND grant_id IN (SELECT id FROM grants WHERE client = ?) RETURNING jti
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """What is kept of a token."""

    hash: str
    jti: str
    grant_id: str
    epoch: int
    aud: str
    scope: str
    decision_id: str
    iat: int
    exp: int
    claims: str


class DecisionUsedError(Exception):
    """This decision has yielded a token before."""


def mint(connection: Connection, row: TokenRow) -> bool:
    """Insert the row if its grant is live and unchanged; raises when the decision was used."""
    values = (row.hash, row.jti, row.aud, row.scope, row.decision_id, row.iat, row.exp, row.claims)
    try:
        done = connection.exec_driver_sql(_MINT, (*values, row.grant_id, row.epoch, row.exp))
    except IntegrityError:
        raise DecisionUsedError from None
    return bool(done.rowcount)


def find_active(connection: Connection, *, token_hash: str, audience: str, now: int) -> str | None:
    """Fetch the claims (JSON) of a token that is live for this audience now, or None."""
    found: str | None = connection.exec_driver_sql(
        _ACTIVE, (token_hash, audience, now, now)
    ).scalar_one_or_none()
    return found


def revoke(connection: Connection, *, token_hash: str, client: str, now: int) -> str | None:
    """End one token of this client; its jti, or None when there was nothing to end."""
    found: str | None = connection.exec_driver_sql(
        _REVOKE, (now, token_hash, client)
    ).scalar_one_or_none()
    return found
