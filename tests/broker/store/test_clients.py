"""Clients come back as stored; an id is taken once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker.store import clients
from tests.broker.store.conftest import GATEWAY

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


def test_a_client_comes_back_as_stored(connection: Connection) -> None:
    assert clients.get(connection, "gateway") == GATEWAY
    assert clients.get(connection, "nobody") is None
    assert not clients.add(connection, GATEWAY, now=0)
    assert clients.disable(connection, "gateway")
    assert clients.all_clients(connection) == [replace(GATEWAY, enabled=False)]
    assert not clients.disable(connection, "nobody")
