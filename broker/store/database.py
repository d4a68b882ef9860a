"""The connection to SQLite: write-ahead log, one kind of commit, always synced.

Every write runs in `BEGIN IMMEDIATE` and commits with `synchronous=FULL`: a consumed code, a used
decision or a revocation that was answered is on the disk. Mints could be relaxed (losing one fails
closed), but they carry the single use of a decision, so they are synced too. Values never reach an
error text (`hide_parameters`).

Source: SQLite documentation, "Write-Ahead Logging" and "PRAGMA synchronous".
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event
from sqlalchemy.exc import DatabaseError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from broker.errors import ConfigError, StoreError
from broker.store.schema import SCHEMA_VERSION, metadata

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy.engine import Connection

_BUSY_MS = 5_000
_PRAGMAS = (
    f"PRAGMA busy_timeout={_BUSY_MS}",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
)


def digest(secret: str) -> str:
    """Hash a 256-bit random secret for storage and look-up."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Store:
    """The database file; `create` makes it, `check` refuses one that is not ours."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = create_engine(f"sqlite:///{path}", hide_parameters=True)
        event.listen(self._engine, "connect", _on_connect)
        event.listen(self._engine, "begin", _on_begin)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view of the database."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One exclusive change: on the disk when the block ends, undone when it raises."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                connection.execution_options(begin=begin)
                with connection.begin():
                    yield connection
        except (IntegrityError, ProgrammingError):
            raise
        except (DatabaseError, PoolTimeoutError) as error:
            cause = getattr(error, "orig", None) or type(error).__name__
            raise StoreError(f"{self.path}: {cause}") from None

    def create(self) -> bool:
        """Make the file (0600) and its tables; False, and nothing changed, when it exists."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        with self.write() as connection:
            metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")
        return True

    def check(self) -> None:
        """Refuse a database that is absent or of another schema version; keep nothing open."""
        if not self.path.is_file():
            raise ConfigError(f"database: {self.path} does not exist; run `python -m broker init`")
        with self.read() as connection:
            found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        self.close()
        if found != SCHEMA_VERSION:
            raise ConfigError(
                f"database: {self.path} has schema {found}, this broker needs {SCHEMA_VERSION}"
            )

    def close(self) -> None:
        """Close every pooled connection; the next use opens new ones (safe before a fork)."""
        self._engine.dispose()


def _on_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()


def _on_begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
