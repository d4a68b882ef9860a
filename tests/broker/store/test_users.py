"""Users: slow hashes, one name each, disabled for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.store import users

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


def test_a_name_is_taken_once_and_lists_show_no_hash(broker: BrokerServer) -> None:
    with broker.store.write() as connection:
        assert not users.add(connection, name="alice", password_hash="x", now=0)
        assert users.add(connection, name="bob", password_hash="x", now=0)
        found = users.all_users(connection)
        assert users.get(connection, "carol") is None
        assert not users.disable(connection, "carol")
    assert [user.name for user in found] == ["alice", "bob"]
    assert "scrypt" not in repr(found)


def test_hashes_are_salted_scrypt() -> None:
    one, other = users.hash_password("a password"), users.hash_password("a password")
    assert one != other
    assert one.startswith("scrypt:")
    assert users.password_fits(one, "a password")
    assert not users.password_fits(one, "A password")


def test_an_unknown_user_fits_no_password() -> None:
    assert not users.password_fits(None, "no user has this name")
