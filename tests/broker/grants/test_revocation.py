"""Revocation: a token ends alone, a handle ends its grant, others' are left alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.support.broker_server import Party

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


def mint(broker: BrokerServer, handle: str) -> str:
    token: str = broker.exchange(handle, "calendar.read").json()["access_token"]
    return token


def test_a_token_ends_alone_and_twice_is_fine(broker: BrokerServer) -> None:
    handle = broker.handle("calendar.read")["access_token"]
    one, other = mint(broker, handle), mint(broker, handle)
    for _ in range(2):
        answer = broker.post("/revoke", {"token": one, "token_type_hint": "nonsense"})
        assert (answer.status_code, answer.json()) == (200, {})
    assert not broker.introspect(one, "calendar-api")["active"]
    assert broker.introspect(other, "calendar-api")["active"]


def test_a_handle_ends_everything_of_its_grant_only(broker: BrokerServer) -> None:
    handle, kept = (broker.handle("calendar.read")["access_token"] for _ in range(2))
    tokens, other = [mint(broker, handle) for _ in range(3)], mint(broker, kept)
    for _ in range(2):
        assert broker.revoke(handle).status_code == 200
    assert not any(broker.introspect(token, "calendar-api")["active"] for token in tokens)
    assert broker.exchange(handle, "calendar.read").status_code == 400
    assert broker.introspect(other, "calendar-api")["active"]


def test_others_and_unknown_tokens_are_left_alone_without_a_word(broker: BrokerServer) -> None:
    handle = broker.handle("calendar.read")["access_token"]
    token = mint(broker, handle)
    other = Party("other-gateway")
    broker.add_client(other)
    for party in (other, broker.servers["calendar-api"]):
        for value in (token, handle, "unknown", ""):
            answer = broker.post("/revoke", {"token": value}, party)
            assert (answer.status_code, answer.json()) == (200, {})
    assert broker.introspect(token, "calendar-api")["active"]
    assert broker.exchange(handle, "calendar.read").status_code == 200


def test_after_a_revoke_returns_no_token_of_that_grant_is_ever_active_again(
    broker: BrokerServer,
) -> None:
    handle = broker.handle("calendar.read")["access_token"]
    with ThreadPoolExecutor(6) as pool:
        racing = [pool.submit(broker.exchange, handle, "calendar.read") for _ in range(30)]
        assert broker.revoke(handle).status_code == 200
        answers = [future.result() for future in racing]
    for answer in answers:
        if answer.status_code == 200:
            token = answer.json()["access_token"]
            assert broker.introspect(token, "calendar-api") == {"active": False}
        else:
            assert answer.json()["error"] == "invalid_request"
