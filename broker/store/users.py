"""People who log in: name and scrypt hash. An unknown name costs as much time as a wrong password.

Source: RFC 7914 (scrypt).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update
from werkzeug.security import check_password_hash, generate_password_hash

from broker.store.schema import users

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person as lists show one; the hash stays in the table."""

    name: str
    enabled: bool
    created_at: int


def hash_password(password: str) -> str:
    """Hash with scrypt and a fresh salt; slow on purpose, so do it outside a transaction."""
    return generate_password_hash(password, method="scrypt")


def add(connection: Connection, *, name: str, password_hash: str, now: int) -> bool:
    """Add a user; False when the name is taken."""
    if get(connection, name) is not None:
        return False
    row = {"name": name, "password_hash": password_hash, "created_at": now}
    connection.execute(insert(users).values(row))
    return True


def get(connection: Connection, name: str) -> User | None:
    """Look one user up."""
    return next((user for user in all_users(connection) if user.name == name), None)


def all_users(connection: Connection) -> list[User]:
    """List every user by name."""
    columns = (users.c.name, users.c.enabled, users.c.created_at)
    rows = connection.execute(select(*columns).order_by(users.c.name))
    return [User(name=r.name, enabled=bool(r.enabled), created_at=r.created_at) for r in rows]


def disable(connection: Connection, name: str) -> bool:
    """Shut a user out; their sessions and every token of their grants end with this write."""
    done = connection.execute(update(users).where(users.c.name == name).values(enabled=0))
    return bool(done.rowcount)


def stored_hash(connection: Connection, name: str) -> str | None:
    """Fetch the password hash of an enabled user, for `password_fits`."""
    query = select(users.c.password_hash).where(users.c.name == name, users.c.enabled == 1)
    found: str | None = connection.execute(query).scalar_one_or_none()
    return found


def password_fits(stored: str | None, password: str) -> bool:
    """Compare; without a stored hash it compares with a dummy and says no."""
    return check_password_hash(stored or _dummy(), password) and stored is not None


@cache
def _dummy() -> str:
    return hash_password("no user has this name")
