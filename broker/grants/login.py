"""Login sessions: a random cookie, stored as a digest, good for one hour.

The CSRF token of a page is derived from the cookie, so it is tied to that browser's session, needs
no storage and tells nothing about the cookie. Logging in always makes a new cookie (no fixation).
"""

from __future__ import annotations

import hmac
import logging
from hashlib import sha256
from typing import TYPE_CHECKING

from broker.store import sessions, users
from broker.store.database import digest

if TYPE_CHECKING:
    from broker.grants.context import Broker

SESSION_LIFE_S = 3_600
MAX_PASSWORD = 1_024
_log = logging.getLogger(__name__)


def csrf_token(cookie: str) -> str:
    """Derive the token that forms of this session must carry."""
    return hmac.digest(cookie.encode(), b"counterfoil form", sha256).hex()


def csrf_fits(cookie: str, given: str) -> bool:
    """Compare a form's token with the one of its session."""
    return bool(cookie) and hmac.compare_digest(csrf_token(cookie).encode(), given.encode())


def log_in(broker: Broker, *, user: str, password: str) -> str | None:
    """Open a session; its cookie, or None when name and password do not belong together."""
    with broker.store.read() as connection:
        stored = users.stored_hash(connection, user)
    if len(password) > MAX_PASSWORD or not users.password_fits(stored, password):
        _log.warning("login refused")
        return None
    cookie, now = broker.new_secret(), broker.clock()
    with broker.store.write() as connection:
        sessions.add(
            connection, session_hash=digest(cookie), user=user, exp=now + SESSION_LIFE_S, now=now
        )
    _log.info("login user=%s", user)
    return cookie


def log_out(broker: Broker, cookie: str) -> None:
    """Close the session of a cookie."""
    with broker.store.write() as connection:
        sessions.end(connection, digest(cookie))


def user_of(broker: Broker, cookie: str) -> str | None:
    """Name the user logged in with a cookie, or None."""
    if not cookie:
        return None
    with broker.store.read() as connection:
        return sessions.user_of(connection, session_hash=digest(cookie), now=broker.clock())
