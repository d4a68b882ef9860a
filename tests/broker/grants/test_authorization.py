"""The authorization request: nothing is redirected to before it is known, nothing odd is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests

from broker.grants.authorization import AuthorizationRequest
from tests.support.broker_server import REDIRECT_URI, redirect_parameters

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


def ask(broker: BrokerServer, **changes: str) -> requests.Response:
    return requests.get(
        f"{broker.url}/authorize",
        params=broker.authorize_query("calendar.read", **changes),
        timeout=30,
        allow_redirects=False,
    )


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "https://evil.example/",
        "http://127.0.0.1/callback/",
        "http://127.0.0.1/callback?x=1",
        "http://127.0.0.1/callback#x",
        "http://127.0.0.1/Callback",
        "http://127.0.0.1/callback/../evil",
        "http://127.0.0.1/callback%2f",
        "https://127.0.0.1/callback",
        "http://localhost/callback",
        "http://127.0.0.2/callback",
        "http://127.0.0.1.evil.example/callback",
        "http://127.0.0.1@evil.example/callback",
        "http://evil@127.0.0.1/callback",
        "http://127.0.0.1:0/callback",
        "http://127.0.0.1:080/callback",
        "http://127.0.0.1:/callback",
        "http://127.0.0.1:99/callback\n",
        "http://[::1]/callback",
        "javascript:alert(1)",
        "//127.0.0.1/callback",
    ],
)
def test_an_unregistered_address_is_never_redirected_to(shared: BrokerServer, uri: str) -> None:
    for extra in ({}, {"response_type": "token"}, {"scope": "x"}):
        answer = ask(shared, redirect_uri=uri, **extra)
        assert answer.status_code == 400
        assert "Location" not in answer.headers
        assert "redirect_uri" in answer.text


@pytest.mark.parametrize("uri", [REDIRECT_URI, "http://127.0.0.1:49152/callback"])
def test_only_a_loopback_port_may_differ(shared: BrokerServer, uri: str) -> None:
    answer = ask(shared, redirect_uri=uri)
    assert answer.status_code == 200
    assert 'action="/login"' in answer.text


@pytest.mark.parametrize("client", ["", "nobody", "mail-api", "gateway ", "Gateway"])
def test_an_unknown_client_is_shown_not_redirected(shared: BrokerServer, client: str) -> None:
    answer = ask(shared, client_id=client)
    assert answer.status_code == 400
    assert "Location" not in answer.headers


@pytest.mark.parametrize("state", ["", "a b", "\u00e9", "s" * 513, "a\r\nSet-Cookie: x=y"])
def test_state_is_required_and_plain(shared: BrokerServer, state: str) -> None:
    answer = ask(shared, state=state)
    assert answer.status_code == 400
    assert "Location" not in answer.headers


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code id_token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": ""}, "invalid_request"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge": "c" * 42}, "invalid_request"),
        ({"code_challenge": "c" * 42 + "="}, "invalid_request"),
        ({"scope": ""}, "invalid_scope"),
        ({"scope": "calendar.read  mail.send"}, "invalid_scope"),
        ({"scope": "calendar.read calendar.read"}, "invalid_scope"),
        ({"scope": "calendar.admin"}, "invalid_scope"),
        ({"scope": "Calendar.read"}, "invalid_scope"),
        ({"agent": ""}, "invalid_request"),
        ({"agent": "Demo Agent"}, "invalid_request"),
        ({"agent": "<b>"}, "invalid_request"),
        ({"purpose": "p" * 201}, "invalid_request"),
        ({"purpose": "a\nb"}, "invalid_request"),
        ({"purpose": "\u202egnp"}, "invalid_request"),
    ],
    ids=str,
)
def test_a_fault_goes_to_the_client_with_state_and_issuer(
    shared: BrokerServer, changes: dict[str, str], error: str
) -> None:
    answer = ask(shared, **changes)
    assert answer.status_code == 303
    assert answer.headers["Location"].startswith(f"{REDIRECT_URI}?")
    told = redirect_parameters(answer)
    assert told.pop("error_description")
    assert told == {"error": error, "state": "state-1", "iss": shared.url}


def test_a_repeated_parameter_is_refused(shared: BrokerServer) -> None:
    query = [*shared.authorize_query("calendar.read").items(), ("scope", "mail.send")]
    answer = requests.get(
        f"{shared.url}/authorize", params=query, timeout=30, allow_redirects=False
    )
    assert answer.status_code == 400
    assert "Location" not in answer.headers


def test_a_request_is_kept_as_it_was() -> None:
    request = AuthorizationRequest(
        client="gateway",
        redirect_uri=REDIRECT_URI,
        state="s",
        challenge="c" * 43,
        scopes=("a", "b"),
        agent="agent",
        purpose="“why”",
    )
    assert AuthorizationRequest.from_json(request.to_json()) == request
