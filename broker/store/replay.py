"""Identifiers that may be seen once: the `jti` of each client assertion and actor assertion.

A row is swept only after the assertion it belongs to can no longer verify.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


def consume(connection: Connection, *, kind: str, key: str, exp: int, now: int) -> bool:
    """Use an identifier up; False when it was used before. `exp` is when it may be forgotten."""
    connection.exec_driver_sql("DELETE FROM replay WHERE exp < ?", (now,))
    done = connection.exec_driver_sql(
        "INSERT INTO replay (kind, key, exp) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (kind, key, exp),
    )
    return bool(done.rowcount)
