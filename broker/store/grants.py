"""Grants: what a person allowed one agent, through one client, until when.

A grant is `pending` from consent until its code is redeemed, then `active`, then `revoked`.
Revoking is one write that also raises `epoch`; codes, the handle and live tokens need no write of
their own, because each is only as good as its grant at the moment of use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from broker.store.schema import grants

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_COLUMNS = tuple(
    column
    for column in grants.c
    if column.name not in {"handle_hash", "upstream_sealed", "upstream_key"}
)
_USABLE = (
    "SELECT g.id, g.user, g.agent, g.client, g.scopes, g.purpose, g.created_at, g.expires_at,"
    " g.status, g.epoch FROM grants g JOIN users u ON u.name = g.user"
    " WHERE g.handle_hash = ? AND g.client = ? AND g.status = 'active' AND g.expires_at > ?"
    " AND u.enabled = 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A grant without its secrets."""

    id: str
    user: str
    agent: str
    client: str
    scopes: tuple[str, ...]
    purpose: str
    created_at: int
    expires_at: int
    status: str
    epoch: int


def add(connection: Connection, grant: Grant, *, upstream_sealed: bytes, upstream_key: str) -> None:
    """Store a new grant with the sealed token that stands for the upstream account."""
    row = {name: getattr(grant, name) for name in Grant.__slots__}
    row |= {
        "scopes": " ".join(grant.scopes),
        "upstream_sealed": upstream_sealed,
        "upstream_key": upstream_key,
    }
    connection.execute(insert(grants).values(row))


def get(connection: Connection, grant_id: str) -> Grant | None:
    """Look one grant up, in any status."""
    row = connection.execute(select(*_COLUMNS).where(grants.c.id == grant_id)).one_or_none()
    return None if row is None else _grant(row)


def all_grants(connection: Connection, *, user: str | None = None) -> list[Grant]:
    """List grants, newest first; only one user's when `user` is given."""
    query = select(*_COLUMNS).order_by(grants.c.created_at.desc(), grants.c.id)
    if user is not None:
        query = query.where(grants.c.user == user)
    return [_grant(row) for row in connection.execute(query)]


def usable_by_handle(
    connection: Connection, *, handle_hash: str, client: str, now: int
) -> Grant | None:
    """Find the grant a handle stands for, if this client may use it now."""
    row = connection.exec_driver_sql(_USABLE, (handle_hash, client, now)).one_or_none()
    return None if row is None else _grant(row)


def activate(connection: Connection, grant_id: str, *, handle_hash: str, now: int) -> Grant | None:
    """Give a pending, unexpired grant its handle; None when it is no longer pending."""
    done = connection.exec_driver_sql(
        "UPDATE grants SET status = 'active', handle_hash = ?"
        " WHERE id = ? AND status = 'pending' AND expires_at > ?",
        (handle_hash, grant_id, now),
    )
    return get(connection, grant_id) if done.rowcount else None


def revoke(connection: Connection, grant_id: str, *, user: str | None = None) -> bool:
    """End a grant and all it yielded; False when unknown, another's or ended already."""
    done = connection.exec_driver_sql(
        "UPDATE grants SET status = 'revoked', epoch = epoch + 1"
        " WHERE id = ? AND status <> 'revoked' AND (? IS NULL OR user = ?)",
        (grant_id, user, user),
    )
    return bool(done.rowcount)


def revoke_by_handle(connection: Connection, *, handle_hash: str, client: str) -> str | None:
    """End the grant a client's own handle stands for; its id, or None when there is none."""
    grant_id: str | None = connection.exec_driver_sql(
        "SELECT id FROM grants WHERE handle_hash = ? AND client = ?", (handle_hash, client)
    ).scalar_one_or_none()
    if grant_id is not None:
        revoke(connection, grant_id)
    return grant_id


def _grant(row: Any) -> Grant:
    values = {name: getattr(row, name) for name in Grant.__slots__}
    return Grant(**values | {"scopes": tuple(row.scopes.split())})
