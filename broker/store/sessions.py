"""Login sessions and the consents they have open, both stored by digest.

A consent row is exactly the request the page showed. It belongs to one session and is deleted by
the decision, so it can be decided once, by the person it was shown to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


def add(connection: Connection, *, session_hash: str, user: str, exp: int, now: int) -> None:
    """Open a session, and sweep the ones that ended."""
    connection.exec_driver_sql("DELETE FROM sessions WHERE expires_at <= ?", (now,))
    connection.exec_driver_sql(
        "INSERT INTO sessions (hash, user, expires_at) VALUES (?, ?, ?)", (session_hash, user, exp)
    )


def user_of(connection: Connection, *, session_hash: str, now: int) -> str | None:
    """Name the enabled user of a live session, or None."""
    found: str | None = connection.exec_driver_sql(
        "SELECT s.user FROM sessions s JOIN users u ON u.name = s.user"
        " WHERE s.hash = ? AND s.expires_at > ? AND u.enabled = 1",
        (session_hash, now),
    ).scalar_one_or_none()
    return found


def end(connection: Connection, session_hash: str) -> None:
    """Close a session and drop its open consents."""
    connection.exec_driver_sql("DELETE FROM consents WHERE session_hash = ?", (session_hash,))
    connection.exec_driver_sql("DELETE FROM sessions WHERE hash = ?", (session_hash,))


def open_consent(
    connection: Connection,
    *,
    consent_hash: str,
    session_hash: str,
    request: str,
    exp: int,
    now: int,
) -> None:
    """Keep the request a consent page shows, and sweep the ones nobody decided in time."""
    connection.exec_driver_sql("DELETE FROM consents WHERE expires_at <= ?", (now,))
    connection.exec_driver_sql(
        "INSERT INTO consents (hash, session_hash, request, expires_at) VALUES (?, ?, ?, ?)",
        (consent_hash, session_hash, request, exp),
    )


def take_consent(
    connection: Connection, *, consent_hash: str, session_hash: str, now: int
) -> str | None:
    """Use an open consent of this session up; the request it showed, or None."""
    found: str | None = connection.exec_driver_sql(
        "DELETE FROM consents WHERE hash = ? AND session_hash = ? AND expires_at > ?"
        " RETURNING request",
        (consent_hash, session_hash, now),
    ).scalar_one_or_none()
    return found
