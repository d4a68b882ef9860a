"""Configuration that would make a comparison ambiguous is refused; no repr shows a token."""

from __future__ import annotations

import json

import pytest

from broker.errors import BrokerError
from broker.resource import Reason
from broker.resource.answer import parse
from broker.resource.model import BrokerFaultError, Received, Url, VerifiedCall, parse_url
from tests.broker.resource.support import config, facts

URLS = ["base_url", "issuer", "introspection_url"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://127.0.0.1:8101", ("127.0.0.1", 8101, "", False)),
        ("http://[::1]:8101/a", ("::1", 8101, "/a", False)),
        ("http://localhost", ("localhost", 80, "", False)),
        ("https://api.example.com", ("api.example.com", 443, "", True)),
        ("https://api.example.com:65535/a/b-c", ("api.example.com", 65535, "/a/b-c", True)),
    ],
)
def test_a_url_is_taken_apart(text, found):
    host, port, path, tls = found
    assert parse_url("x", text) == Url(tls=tls, host=host, port=port, path=path)


@pytest.mark.parametrize("name", URLS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:8101",
        "ftp://127.0.0.1",
        "http://127.0.0.1/",
        "http://127.0.0.1//a",
        "http://127.0.0.1/a/",
        "http://127.0.0.1/a?b",
        "http://127.0.0.1/a#b",
        "http://user@127.0.0.1",
        "http://user:pw@127.0.0.1",
        "http://127.0.0.1:",
        "http://127.0.0.1:0",
        "http://127.0.0.1:65536",
        "http://127.0.0.1:8101\n",
        "http://127.0.0.1 ",
        "HTTP://127.0.0.1",
        "https://API.example.com",
        "https://api.example.com/%61",
        "https://a:b:c",
    ],
)
def test_a_url_of_another_form_is_refused_by_name(name, text):
    with pytest.raises(ValueError, match=f"^{name}: use"):
        config(**{name: text})


@pytest.mark.parametrize("name", URLS)
@pytest.mark.parametrize("host", ["api.example.com", "192.0.2.1", "127.0.0.1.example.com", "[::2]"])
def test_plain_http_is_for_loopback(name, host):
    with pytest.raises(ValueError, match=f"^{name}: plain http"):
        config(**{name: f"http://{host}"})


@pytest.mark.parametrize("name", ["audience", "client_id"])
@pytest.mark.parametrize("text", ["", "-x", "two words", 'x"y', "x\n", "x" * 101, "ü"])
def test_a_name_of_another_form_is_refused_by_name(name, text):
    with pytest.raises(ValueError, match=f"^{name}:"):
        config(**{name: text})


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 61])
def test_the_time_limit_is_a_real_one(value):
    with pytest.raises(ValueError, match=r"^timeout_s:"):
        config(timeout_s=value)


def test_the_body_limit_is_not_negative():
    assert config(max_body_bytes=0).max_body_bytes == 0
    with pytest.raises(ValueError, match=r"^max_body_bytes:"):
        config(max_body_bytes=-1)


def test_no_representation_shows_a_token_or_a_body():
    received = Received(method="GET", uri="http://x/y", body=b"the-body", token="the-token")
    token = parse(json.dumps(facts()).encode())
    call = VerifiedCall(
        sub=token.sub,
        agent=token.agent,
        client_id=token.client_id,
        grant_id=token.grant_id,
        jti=token.jti,
        scope=token.scope,
        operation="o",
        decision_id="d",
        action_digest="a",
        body=b"the-body",
    )
    assert "the-" not in repr(received) + repr(call)


def test_every_reason_has_its_own_code_and_the_right_kind_of_answer():
    assert len({reason.code for reason in Reason}) == len(Reason)
    kinds = {401: {None, "invalid_token"}, 403: {"insufficient_scope"}}
    kinds |= {503: {"temporarily_unavailable"}, 400: {"invalid_request"}}
    kinds |= {411: kinds[400], 413: kinds[400]}
    for reason in Reason:
        assert reason.error in kinds[reason.status], reason
        assert '"' not in reason.sentence
        assert "\\" not in reason.sentence


def test_a_broker_fault_is_an_error_of_the_broker_with_its_reason():
    fault = BrokerFaultError(Reason.BROKER_SLOW, "no answer in time")
    assert isinstance(fault, BrokerError)
    assert (fault.reason, str(fault)) == (Reason.BROKER_SLOW, "broker_slow: no answer in time")
