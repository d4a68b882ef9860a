"""Introspection: validity derived this moment, told to the audience's own server only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker.store import clients, grants, users
from tests.support.broker_server import Party

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer

INACTIVE = b'{"active":false}\n'


def body(broker: BrokerServer, token: str, party: Party) -> bytes:
    answer = broker.post("/introspect", {"token": token}, party)
    assert answer.status_code == 200
    return answer.content


def test_every_negative_is_the_same_bytes(broker: BrokerServer) -> None:
    handle = broker.handle("calendar.read")["access_token"]
    token = broker.exchange(handle, "calendar.read").json()["access_token"]
    revoked = broker.exchange(handle, "calendar.read").json()["access_token"]
    broker.revoke(revoked)
    calendar, mail = broker.servers["calendar-api"], broker.servers["mail-api"]
    stranger = Party("stranger-api")
    broker.add_client(stranger, audience="calendar-api")
    assert b'"active":true' in body(broker, token, calendar)
    negatives = [
        (token, mail),
        (token, broker.gateway),
        (token, stranger),
        (revoked, calendar),
        (handle, calendar),
        (handle, broker.gateway),
        ("", calendar),
        ("x", calendar),
        (token[:-1], calendar),
        (token + "A", calendar),
        ("\u00e9" * 100, calendar),
        ("' OR 1=1 --", calendar),
        ("0" * 20_000, calendar),
    ]
    assert {body(broker, given, party) for given, party in negatives} == {INACTIVE}


def test_a_resignature_of_the_same_claims_is_inactive(broker: BrokerServer) -> None:
    handle = broker.handle("calendar.read")["access_token"]
    token = broker.exchange(handle, "calendar.read").json()["access_token"]
    claims = broker.introspect(token, "calendar-api")
    forged = broker.gateway.sign(claims, typ="at+jwt")
    assert broker.introspect(forged, "calendar-api") == {"active": False}


def test_a_token_is_dead_at_301_seconds(broker: BrokerServer) -> None:
    handle = broker.handle("calendar.read")["access_token"]
    token = broker.exchange(handle, "calendar.read").json()["access_token"]
    broker.clock.advance(299)
    assert broker.introspect(token, "calendar-api")["active"]
    broker.clock.advance(2)
    assert broker.introspect(token, "calendar-api") == {"active": False}


@pytest.mark.parametrize("end", ["grant", "user", "client"])
def test_a_token_ends_with_its_grant_user_and_client(broker: BrokerServer, end: str) -> None:
    answer = broker.handle("calendar.read")
    tokens = [
        broker.exchange(answer["access_token"], "calendar.read").json()["access_token"]
        for _ in range(3)
    ]
    with broker.store.write() as connection:
        ends = {
            "grant": lambda: grants.revoke(connection, answer["grant_id"]),
            "user": lambda: users.disable(connection, "alice"),
            "client": lambda: clients.disable(connection, "gateway"),
        }
        assert ends[end]()
    for token in tokens:
        assert broker.introspect(token, "calendar-api") == {"active": False}
