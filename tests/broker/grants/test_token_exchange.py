"""Exchange: everything narrows, nothing widens, each decision counts once."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from broker.store import clients, grants, users
from tests.support.broker_server import HANDLE_TYPE, START, Party

if TYPE_CHECKING:
    import requests

    from tests.support.broker_server import BrokerServer

ACCESS = "urn:ietf:params:oauth:token-type:access_token"


def error(answer: requests.Response) -> str:
    assert answer.status_code == 400, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    found: str = answer.json()["error"]
    return found


@pytest.mark.parametrize(
    "scope",
    [
        "",
        " ",
        "calendar.write",
        "mail.send",
        "calendar.read mail.send",
        "calendar.read calendar.read",
        "calendar.read calendar.write",
        " calendar.read",
        "calendar.read ",
        "calendar.read\t",
        "Calendar.Read",
        "calendar.*",
        "nothing.known",
    ],
)
def test_any_other_scope_is_refused(shared: BrokerServer, handle: str, scope: str) -> None:
    assert error(shared.exchange(handle, "calendar.read", scope=scope)) == "invalid_scope"


@pytest.mark.parametrize(
    "audience",
    [
        "",
        "calendar-api ",
        "Calendar-Api",
        "calendar-api.evil",
        "calendar-api/",
        "http://127.0.0.1:8101",
        "calendar",
        "nobody-api",
        "calendar-api mail-api",
    ],
)
def test_any_other_audience_is_refused(shared: BrokerServer, handle: str, audience: str) -> None:
    answer = shared.exchange(handle, "calendar.read", audience=audience)
    assert error(answer) == "invalid_target"


def test_a_known_audience_the_grant_lacks_is_refused(broker: BrokerServer) -> None:
    handle = broker.handle("calendar.read")["access_token"]
    assert error(broker.exchange(handle, "mail.send")) == "invalid_target"
    assert error(broker.exchange(handle, "calendar.write")) == "invalid_scope"


def test_a_resource_parameter_is_refused(shared: BrokerServer, handle: str) -> None:
    answer = shared.exchange(handle, "calendar.read", resource="http://127.0.0.1:8101")
    assert error(answer) == "invalid_target"


@pytest.mark.parametrize(
    "field", ["subject_token", "subject_token_type", "actor_token", "actor_token_type"]
)
def test_every_field_is_required(shared: BrokerServer, handle: str, field: str) -> None:
    form = shared.exchange_form(handle, "calendar.read")
    del form[field]
    assert error(shared.post("/token", form)) == "invalid_request"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("subject_token_type", ACCESS),
        ("subject_token_type", HANDLE_TYPE.upper()),
        ("actor_token_type", ACCESS),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token"),
    ],
)
def test_other_token_types_are_refused(
    shared: BrokerServer, handle: str, field: str, value: str
) -> None:
    answer = shared.exchange(handle, "calendar.read", **{field: value})
    assert error(answer) == "invalid_request"


def test_an_access_token_is_the_only_type_that_may_be_asked_for(
    shared: BrokerServer, handle: str
) -> None:
    answer = shared.exchange(handle, "calendar.read", requested_token_type=ACCESS)
    assert answer.json()["issued_token_type"] == ACCESS


def test_an_access_token_is_no_subject(shared: BrokerServer, handle: str) -> None:
    token = shared.exchange(handle, "calendar.read").json()["access_token"]
    assert error(shared.exchange(token, "calendar.read")) == "invalid_request"


@pytest.mark.parametrize("subject", ["", "x", "h" * 43, "' OR 1=1 --", "\u00e9", "0" * 9000])
def test_an_unknown_subject_is_refused(shared: BrokerServer, subject: str) -> None:
    assert error(shared.exchange(subject, "calendar.read")) == "invalid_request"


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "other-agent"},
        {"sub": "alice"},
        {"sub": ["demo-agent"]},
        {"iss": "mail-api"},
        {"aud": "https://other"},
        {"session": ""},
        {"session": 1},
        {"session": "s" * 201},
        {"jti": 1},
        {"exp": START + 61},
        {"iat": START - 100, "exp": START - 50},
    ],
    ids=str,
)
def test_any_other_actor_is_refused(
    shared: BrokerServer, handle: str, claims: dict[str, Any]
) -> None:
    answer = shared.exchange(handle, "calendar.read", actor_token=shared.actor(**claims))
    assert error(answer) == "invalid_request"


def test_an_actor_signed_by_another_key_or_of_another_type_is_refused(
    shared: BrokerServer, handle: str
) -> None:
    for actor in (
        shared.actor(party=Party("gateway")),
        shared.assertion(shared.gateway, sub="demo-agent", session="s"),
        "e30.e30.e30",
        "",
        handle,
    ):
        answer = shared.exchange(handle, "calendar.read", actor_token=actor)
        assert error(answer) == "invalid_request"


def test_an_actor_assertion_counts_once(shared: BrokerServer, handle: str) -> None:
    actor = shared.actor()
    assert shared.exchange(handle, "calendar.read", actor_token=actor).status_code == 200
    again = shared.exchange(handle, "calendar.read", actor_token=actor)
    assert error(again) == "invalid_request"


def test_a_decision_counts_once_for_whatever_call(shared: BrokerServer, handle: str) -> None:
    decision = str(uuid.uuid4())
    first = shared.details("calendar.read", decision_id=decision)
    answer = shared.exchange(handle, "calendar.read", authorization_details=first)
    assert answer.status_code == 200
    for scope in ("calendar.read", "mail.send"):
        again = shared.details(scope, decision_id=decision)
        answer = shared.exchange(handle, scope, authorization_details=again)
        assert error(answer) == "invalid_authorization_details"


def test_one_decision_raced_by_many_yields_one_token(shared: BrokerServer, handle: str) -> None:
    details = shared.details("calendar.read")

    def once(_: int) -> int:
        form = {"authorization_details": details}
        return shared.exchange(handle, "calendar.read", **form).status_code

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(once, range(16)))
    assert sorted(codes) == [200] + [400] * 15


def test_the_catalogue_decides_the_scope_of_an_operation(broker: BrokerServer) -> None:
    handle = broker.handle("mail.send mail.delete")["access_token"]
    details = broker.details("mail.delete")
    answer = broker.exchange(handle, "mail.send", authorization_details=details)
    assert error(answer) == "invalid_authorization_details"


@pytest.mark.parametrize("text", ["", "[]", "{}", "[{}]", "x", '[{"type":"counterfoil_call"}]'])
def test_details_are_required_and_whole(shared: BrokerServer, handle: str, text: str) -> None:
    answer = shared.exchange(handle, "calendar.read", authorization_details=text)
    assert error(answer) == "invalid_authorization_details"


def test_repeated_members_in_details_are_refused(shared: BrokerServer, handle: str) -> None:
    text = shared.details("calendar.read").replace('{"type"', '{"method": "DELETE", "type"')
    answer = shared.exchange(handle, "calendar.read", authorization_details=text)
    assert error(answer) == "invalid_authorization_details"


def test_a_resource_server_exchanges_nothing(shared: BrokerServer, handle: str) -> None:
    server = shared.servers["calendar-api"]
    form = shared.exchange_form(handle, "calendar.read", actor_token=shared.actor(party=server))
    assert error(shared.post("/token", form, server)) == "unauthorized_client"


def test_a_stolen_handle_is_useless_without_the_gateways_key(broker: BrokerServer) -> None:
    handle = broker.handle("calendar.read")["access_token"]
    thief = Party("thief")
    broker.add_client(thief)
    form = broker.exchange_form(handle, "calendar.read", actor_token=broker.actor(party=thief))
    assert error(broker.post("/token", form, thief)) == "invalid_request"
    impostor = Party("gateway")
    form = broker.exchange_form(handle, "calendar.read", actor_token=broker.actor(party=impostor))
    assert broker.post("/token", form, impostor).status_code == 401
    assert broker.post("/revoke", {"token": handle}, thief).status_code == 200
    assert broker.exchange(handle, "calendar.read").status_code == 200


def test_a_token_never_outlives_its_grant(broker: BrokerServer) -> None:
    answer = broker.handle("calendar.read", until="2027-01-15")
    broker.clock.now = answer["expires_at"] - 100
    token = broker.exchange(answer["access_token"], "calendar.read").json()
    assert token["expires_in"] == 100
    broker.clock.advance(99)
    assert broker.introspect(token["access_token"], "calendar-api")["active"]
    broker.clock.advance(1)
    assert not broker.introspect(token["access_token"], "calendar-api")["active"]
    assert error(broker.exchange(answer["access_token"], "calendar.read")) == "invalid_request"


def test_exchange_ends_with_grant_user_and_client(broker: BrokerServer) -> None:
    answer = broker.handle("calendar.read")
    with broker.store.write() as connection:
        assert grants.revoke(connection, answer["grant_id"])
    assert error(broker.exchange(answer["access_token"], "calendar.read")) == "invalid_request"
    handle = broker.handle("calendar.read")["access_token"]
    with broker.store.write() as connection:
        assert users.disable(connection, "alice")
    assert error(broker.exchange(handle, "calendar.read")) == "invalid_request"
    with broker.store.write() as connection:
        assert clients.disable(connection, "gateway")
    assert broker.exchange(handle, "calendar.read").status_code == 401


def test_the_answer_returns_the_details_as_checked(shared: BrokerServer, handle: str) -> None:
    text = shared.details("calendar.read")
    answer = shared.exchange(handle, "calendar.read", authorization_details=text)
    assert answer.json()["authorization_details"] == json.loads(text)
