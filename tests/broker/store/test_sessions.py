"""Sessions and consents: bound, ended, swept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.store import sessions

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


def rows(connection: Connection, table: str) -> int:
    count: int = connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()
    return count


def open_consent(connection: Connection, name: str, *, exp: int, now: int) -> None:
    sessions.open_consent(
        connection, consent_hash=name, session_hash="s", request="r", exp=exp, now=now
    )


def take(connection: Connection, session: str, now: int) -> str | None:
    return sessions.take_consent(connection, consent_hash="c", session_hash=session, now=now)


def test_a_session_lasts_until_its_end(connection: Connection) -> None:
    sessions.add(connection, session_hash="s", user="alice", exp=10, now=0)
    assert sessions.user_of(connection, session_hash="s", now=9) == "alice"
    assert sessions.user_of(connection, session_hash="s", now=10) is None
    sessions.add(connection, session_hash="s2", user="alice", exp=20, now=10)
    assert rows(connection, "sessions") == 1
    sessions.end(connection, "s2")
    assert sessions.user_of(connection, session_hash="s2", now=11) is None


def test_a_consent_is_taken_once_by_its_session_in_time(connection: Connection) -> None:
    open_consent(connection, "c", exp=10, now=0)
    assert take(connection, "other", 1) is None
    assert take(connection, "s", 10) is None
    assert take(connection, "s", 9) == "r"
    assert take(connection, "s", 9) is None


def test_consents_go_with_their_session_or_their_time(connection: Connection) -> None:
    open_consent(connection, "c", exp=10, now=0)
    open_consent(connection, "c2", exp=30, now=10)
    assert rows(connection, "consents") == 1
    sessions.end(connection, "s")
    assert rows(connection, "consents") == 0
