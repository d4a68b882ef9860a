"""Client authentication: one method, one audience, one use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import requests

from broker.grants.client_auth import ASSERTION_TYP, ASSERTION_TYPE
from broker.store import clients
from tests.support.broker_server import Party

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


def ask(broker: BrokerServer, assertion: str, **form: str) -> requests.Response:
    fields = {"client_assertion_type": ASSERTION_TYPE, "client_assertion": assertion, "token": "x"}
    return requests.post(f"{broker.url}/introspect", data=fields | form, timeout=30)


def refused(answer: requests.Response) -> bool:
    assert answer.headers["WWW-Authenticate"] == "private_key_jwt"
    return answer.status_code == 401 and answer.json()["error"] == "invalid_client"


def test_a_fresh_assertion_is_accepted_once(shared: BrokerServer) -> None:
    assertion = shared.assertion(shared.gateway)
    assert ask(shared, assertion).status_code == 200
    assert refused(ask(shared, assertion))


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "/token"},
        {"aud": ["{issuer}"]},
        {"aud": ["{issuer}", "https://other"]},
        {"aud": "https://other"},
        {"aud": "{issuer}/"},
        {"sub": "mail-api"},
        {"iss": "mail-api", "sub": "mail-api"},
        {"iss": "nobody", "sub": "nobody"},
        {"iss": ["gateway"]},
        {"iss": ""},
        {"jti": ""},
        {"jti": "j" * 257},
        {"exp": 1_800_000_061},
        {"iat": 1_799_999_900, "exp": 1_799_999_950},
        {"iat": 1_800_000_100, "exp": 1_800_000_150},
    ],
    ids=str,
)
def test_other_claims_are_refused(shared: BrokerServer, claims: dict[str, Any]) -> None:
    def place(value: Any) -> Any:
        if isinstance(value, list):
            return [place(item) for item in value]
        if value == "/token":
            return f"{shared.url}/token"
        return value.replace("{issuer}", shared.url) if isinstance(value, str) else value

    changes = {name: place(value) for name, value in claims.items()}
    assert refused(ask(shared, shared.assertion(shared.gateway, **changes)))


def test_another_key_is_refused(shared: BrokerServer) -> None:
    assert refused(ask(shared, shared.assertion(Party("gateway"))))


def test_an_actor_assertion_is_no_client_assertion(shared: BrokerServer) -> None:
    assert refused(ask(shared, shared.actor(sub="gateway")))


@pytest.mark.parametrize("typ", ["JWT", "at+jwt", ASSERTION_TYP.upper()])
def test_other_types_are_refused(shared: BrokerServer, typ: str) -> None:
    claims = {"iss": "gateway", "sub": "gateway", "aud": shared.url, "jti": "typ-" + typ}
    times = {"iat": shared.clock(), "exp": shared.clock() + 60}
    assert refused(ask(shared, shared.gateway.sign(claims | times, typ=typ)))


def test_there_is_no_other_method(shared: BrokerServer) -> None:
    url = f"{shared.url}/introspect"
    for form in (
        {},
        {"client_id": "gateway"},
        {"client_assertion": shared.assertion(shared.gateway)},
        {"client_assertion_type": ASSERTION_TYPE},
        {"client_assertion_type": "x", "client_assertion": shared.assertion(shared.gateway)},
    ):
        assert refused(requests.post(url, data={"token": "x"} | form, timeout=30))
    basic = requests.post(url, data={"token": "x"}, auth=("gateway", "secret"), timeout=30)
    assert (basic.status_code, basic.json()["error"]) == (400, "invalid_request")


def test_two_methods_in_one_request_are_refused(shared: BrokerServer) -> None:
    answer = ask(shared, shared.assertion(shared.gateway), client_secret="s")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    fields = {
        "client_assertion_type": ASSERTION_TYPE,
        "client_assertion": shared.assertion(shared.gateway),
        "token": "x",
    }
    answer = requests.post(
        f"{shared.url}/introspect", data=fields, headers={"Authorization": "Bearer x"}, timeout=30
    )
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


def test_a_client_id_beside_the_assertion_must_be_its_own(shared: BrokerServer) -> None:
    good = shared.assertion(shared.gateway)
    assert ask(shared, good, client_id="gateway").status_code == 200
    assert refused(ask(shared, shared.assertion(shared.gateway), client_id="mail-api"))


def test_a_disabled_client_is_refused(broker: BrokerServer) -> None:
    with broker.store.write() as connection:
        assert clients.disable(connection, "gateway")
    assert refused(ask(broker, broker.assertion(broker.gateway)))


def test_a_refusal_names_no_value(shared: BrokerServer) -> None:
    assertion = shared.assertion(shared.gateway, aud="https://other")
    assert assertion not in ask(shared, assertion).text
