"""Authorization codes: hashed, bound to client, redirect URI and PKCE challenge, used once.

Source: RFC 6749 section 4.1.2, RFC 7636 section 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import insert

from broker.store.schema import codes

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A code's row; whoever redeems it must fit every field."""

    hash: str
    grant_id: str
    client: str
    redirect_uri: str
    challenge: str
    expires_at: int


def add(connection: Connection, code: Code) -> None:
    """Store a fresh code."""
    row = {name: getattr(code, name) for name in Code.__slots__}
    connection.execute(insert(codes).values(row))


def redeem(
    connection: Connection,
    *,
    code_hash: str,
    client: str,
    redirect_uri: str,
    challenge: str,
    now: int,
) -> str | None:
    """Use the code if every field fits and nobody did before; its grant's id, or None."""
    found: str | None = connection.exec_driver_sql(
        "UPDATE codes SET used_at = ? WHERE hash = ? AND client = ? AND redirect_uri = ?"
        " AND challenge = ? AND used_at IS NULL AND expires_at > ? RETURNING grant_id",
        (now, code_hash, client, redirect_uri, challenge, now),
    ).scalar_one_or_none()
    return found


def used_grant(connection: Connection, code_hash: str) -> str | None:
    """Name the grant of a code that was used before, or None."""
    found: str | None = connection.exec_driver_sql(
        "SELECT grant_id FROM codes WHERE hash = ? AND used_at IS NOT NULL", (code_hash,)
    ).scalar_one_or_none()
    return found
