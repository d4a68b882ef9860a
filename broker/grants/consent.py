"""Consent: what was shown, decided once, by the person it was shown to, in the same session.

Allowing makes the grant, its sealed upstream refresh token (it leaves the broker nowhere) and a
code good for 60 seconds. The end is a calendar day in UTC, at most `max_grant_days` from now; the
person may choose an earlier day, never a later one.
"""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from broker.config import DAY_S
from broker.errors import PageError
from broker.grants import redirect
from broker.grants.authorization import AuthorizationRequest
from broker.store import codes, grants, sessions
from broker.store.codes import Code
from broker.store.database import digest
from broker.store.grants import Grant

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from broker.grants.context import Broker

CODE_LIFE_S = 60
CONSENT_LIFE_S = 600
_log = logging.getLogger(__name__)


def open_page(broker: Broker, request: AuthorizationRequest, *, session: str) -> str:
    """Keep the request the page is about to show; the consent's own secret."""
    consent, now = broker.new_secret(), broker.clock()
    with broker.store.write() as connection:
        sessions.open_consent(
            connection,
            consent_hash=digest(consent),
            session_hash=digest(session),
            request=request.to_json(),
            exp=now + CONSENT_LIFE_S,
            now=now,
        )
    return consent


def last_day(broker: Broker) -> date:
    """Name the latest day a grant made now may last."""
    return _day(broker.clock() + broker.config.max_grant_days * DAY_S)


def allow(broker: Broker, *, consent: str, session: str, user: str, until: str) -> str:
    """Grant what the page showed; the address to send the person back to."""
    expires_at = _end_of(broker, until)
    code, now, grant_id = broker.new_secret(), broker.clock(), broker.new_id()
    upstream = broker.sealer.seal(broker.new_secret(), grant_id=grant_id, random=broker.random)
    with broker.store.write() as connection:
        request = _take(connection, consent=consent, session=session, now=now)
        grant = Grant(
            id=grant_id,
            user=user,
            agent=request.agent,
            client=request.client,
            scopes=request.scopes,
            purpose=request.purpose,
            created_at=now,
            expires_at=expires_at,
            status="pending",
            epoch=0,
        )
        grants.add(connection, grant, upstream_sealed=upstream, upstream_key=broker.sealer.key_id)
        codes.add(
            connection,
            Code(
                hash=digest(code),
                grant_id=grant_id,
                client=request.client,
                redirect_uri=request.redirect_uri,
                challenge=request.challenge,
                expires_at=now + CODE_LIFE_S,
            ),
        )
    _log.info("consent given gid=%s user=%s agent=%s", grant_id, user, request.agent)
    answer = {"code": code, "state": request.state, "iss": broker.config.issuer}
    return redirect.answer(request.redirect_uri, answer)


def deny(broker: Broker, *, consent: str, session: str) -> str:
    """Refuse what the page showed; the address to send the person back to."""
    with broker.store.write() as connection:
        request = _take(connection, consent=consent, session=session, now=broker.clock())
    _log.info("consent denied client=%s agent=%s", request.client, request.agent)
    answer = {"error": "access_denied", "state": request.state, "iss": broker.config.issuer}
    return redirect.answer(request.redirect_uri, answer)


def _take(connection: Connection, *, consent: str, session: str, now: int) -> AuthorizationRequest:
    found = sessions.take_consent(
        connection, consent_hash=digest(consent), session_hash=digest(session), now=now
    )
    if found is None:
        raise PageError(
            "This consent was not opened in this session, was decided already or is too old."
            " Start again from the program that asked.",
            status=403,
        )
    return AuthorizationRequest.from_json(found)


def _end_of(broker: Broker, until: str) -> int:
    now, latest = broker.clock(), last_day(broker)
    try:
        day = date.fromisoformat(until)
    except ValueError:
        raise PageError("until: write a date as YYYY-MM-DD.") from None
    if not _day(now) <= day <= latest:
        raise PageError(f"until: choose a day from today to {latest.isoformat()}.")
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
    return min(int(midnight.timestamp()), now + broker.config.max_grant_days * DAY_S)


def _day(seconds: int) -> date:
    return datetime.fromtimestamp(seconds, tz=UTC).date()
