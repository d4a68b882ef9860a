"""A store with one user, one gateway and one active grant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker.store import clients, grants, users
from broker.store.clients import Client
from broker.store.database import Store
from broker.store.grants import Grant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy.engine import Connection

GRANT = Grant(
    id="g1",
    user="alice",
    agent="demo-agent",
    client="gateway",
    scopes=("a", "b"),
    purpose="",
    created_at=0,
    expires_at=1000,
    status="pending",
    epoch=0,
)
GATEWAY = Client(
    id="gateway", kind="gateway", audience=None, jwk="{}", redirect_uris=("u", "v"), enabled=True
)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """One open write transaction."""
    store = Store(tmp_path / "filled.db")
    store.create()
    with store.write() as connection:
        users.add(connection, name="alice", password_hash="x", now=0)
        clients.add(connection, GATEWAY, now=0)
        grants.add(connection, GRANT, upstream_sealed=b"sealed", upstream_key="k")
        assert grants.activate(connection, "g1", handle_hash="handle", now=0)
        yield connection
    store.close()
