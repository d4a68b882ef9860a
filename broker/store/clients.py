"""Registered clients: gateways, which ask for tokens, and resource servers, which introspect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlalchemy import insert, select, update

from broker.store.schema import clients

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy.engine import Connection

Kind = Literal["gateway", "resource"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client; `jwk` is its public key as JSON text."""

    id: str
    kind: Kind
    audience: str | None
    jwk: str
    redirect_uris: tuple[str, ...]
    enabled: bool


def add(connection: Connection, client: Client, *, now: int) -> bool:
    """Register a client; False when the id is taken."""
    if get(connection, client.id) is not None:
        return False
    row = {
        "id": client.id,
        "kind": client.kind,
        "audience": client.audience,
        "jwk": client.jwk,
        "redirect_uris": json.dumps(client.redirect_uris),
        "enabled": int(client.enabled),
        "created_at": now,
    }
    connection.execute(insert(clients).values(row))
    return True


def get(connection: Connection, client_id: str) -> Client | None:
    """Look one client up, enabled or not."""
    row = connection.exec_driver_sql(
        "SELECT id, kind, audience, jwk, redirect_uris, enabled FROM clients WHERE id = ?",
        (client_id,),
    ).one_or_none()
    return None if row is None else _client(row)


def all_clients(connection: Connection) -> list[Client]:
    """List every client by id."""
    return [_client(row) for row in connection.execute(select(clients).order_by(clients.c.id))]


def disable(connection: Connection, client_id: str) -> bool:
    """Shut a client out; every token minted for it ends with this write."""
    done = connection.execute(update(clients).where(clients.c.id == client_id).values(enabled=0))
    return bool(done.rowcount)


def _client(row: Any) -> Client:
    return Client(
        id=row.id,
        kind=row.kind,
        audience=row.audience,
        jwk=row.jwk,
        redirect_uris=tuple(json.loads(row.redirect_uris)),
        enabled=bool(row.enabled),
    )
