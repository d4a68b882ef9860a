"""Grants: one activation, one revocation, usable only while everything holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from broker.store import grants, users
from tests.broker.store.conftest import GRANT

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

ACTIVE = replace(GRANT, status="active")


def usable(connection: Connection, **changes: object) -> grants.Grant | None:
    how: dict[str, object] = {"handle_hash": "handle", "client": "gateway", "now": 999}
    return grants.usable_by_handle(connection, **how | changes)


def test_a_handle_is_usable_by_its_client_until_the_end(connection: Connection) -> None:
    assert usable(connection) == ACTIVE
    for changes in ({"handle_hash": "other"}, {"client": "other"}, {"now": 1000}):
        assert usable(connection, **changes) is None


def test_a_grant_is_activated_once(connection: Connection) -> None:
    assert grants.activate(connection, "g1", handle_hash="second", now=0) is None
    late = replace(GRANT, id="g2")
    grants.add(connection, late, upstream_sealed=b"", upstream_key="")
    assert grants.activate(connection, "g2", handle_hash="h2", now=1000) is None
    assert grants.get(connection, "g2") == late


def test_revoking_raises_the_epoch_once(connection: Connection) -> None:
    assert not grants.revoke(connection, "g1", user="bob")
    assert grants.revoke(connection, "g1", user="alice")
    assert not grants.revoke(connection, "g1")
    assert usable(connection) is None
    assert grants.get(connection, "g1") == replace(GRANT, status="revoked", epoch=1)
    assert grants.all_grants(connection, user="bob") == []
    assert len(grants.all_grants(connection)) == 1


@pytest.mark.parametrize(("client", "found"), [("gateway", "g1"), ("other", None)])
def test_a_handle_revokes_for_its_client_only(
    connection: Connection, client: str, found: str | None
) -> None:
    assert grants.revoke_by_handle(connection, handle_hash="handle", client=client) == found
    assert (usable(connection) is None) is (found is not None)


def test_a_disabled_user_ends_it(connection: Connection) -> None:
    users.disable(connection, "alice")
    assert usable(connection) is None
