"""The store: always synced, undone on error, refusing what is not ours."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from broker.errors import ConfigError, StoreError
from broker.store import replay
from broker.store.database import Store, digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "broker.db")
    assert store.create()
    yield store
    store.close()


def test_every_connection_is_synced_and_logged_ahead(store: Store) -> None:
    for transaction in (store.read, store.write):
        with transaction() as connection:
            pragmas = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("synchronous", "journal_mode", "foreign_keys", "busy_timeout")
            }
        assert pragmas == {
            "synchronous": 2,
            "journal_mode": "wal",
            "foreign_keys": 1,
            "busy_timeout": 5000,
        }


def test_the_file_is_private_and_made_once(store: Store) -> None:
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert not store.create()
    store.check()


def test_a_raising_block_changes_nothing(store: Store) -> None:
    def failing() -> None:
        with store.write() as connection:
            assert replay.consume(connection, kind="k", key="a", exp=10, now=0)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    with store.write() as connection:
        assert replay.consume(connection, kind="k", key="a", exp=10, now=0)


def test_a_writer_that_cannot_get_in_is_a_store_error(store: Store) -> None:
    with store.write():
        other = sqlite3.connect(store.path, timeout=0, isolation_level=None)
        with pytest.raises(sqlite3.OperationalError):
            other.execute("BEGIN IMMEDIATE")
        other.close()


def test_errors_show_no_values(store: Store) -> None:
    with pytest.raises(IntegrityError) as caught, store.write() as connection:
        for _ in range(2):
            connection.exec_driver_sql(
                "INSERT INTO replay (kind, key, exp) VALUES (?, ?, ?)", ("k", "hidden-value", 1)
            )
    assert "hidden-value" not in str(caught.value)


def test_what_is_not_ours_is_refused(tmp_path: Path) -> None:
    absent = Store(tmp_path / "absent.db")
    with pytest.raises(ConfigError, match="broker init"):
        absent.check()
    (tmp_path / "junk.db").write_bytes(b"junk" * 300)
    other = Store(tmp_path / "empty.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(ConfigError, match="schema 0"):
        other.check()
    junk = Store(tmp_path / "junk.db")
    with pytest.raises(StoreError, match="not a database"):
        junk.check()


def test_a_digest_is_sha256() -> None:
    assert digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
