"""The exchange over real HTTP: what is sent, what is believed, what is told of a refusal."""

from __future__ import annotations

import base64
import hashlib
import json
import traceback
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from flask import Response, redirect
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import ConfigError, ExecutionError
from gateway.execute.credential import Broker, _unverified, load_key, oauth_code, thumbprint
from gateway.execute.secret import Secret
from gateway.kit import canon
from gateway.model.names import Operation
from gateway.model.plan import CallApi
from tests.gateway.execute import fakes
from tests.gateway.execute.permits import permit

CALL = CallApi(
    audience="calendar-api",
    api_operation="events.create",
    scope="calendar.write",
    method="POST",
    url="http://127.0.0.1:8101/v1/events",
    body=b'{"title":"x"}',
    arguments={"title": "x"},
)


@pytest.fixture
def fake():
    one = fakes.FakeBroker()
    with fakes.serve(one.app) as url:
        one.url = url
        yield one


@pytest.fixture
def exchange(fake, tmp_path):
    def run(broker: Broker | None = None, timeout_s: float = 20):
        allowed = permit(CALL, operation=Operation.API_CALL, action_id="0197-decision")
        broker = broker or fakes.make_broker(fake.url, tmp_path)
        return broker.exchange(CALL, allowed, handle=Secret(fakes.HANDLE), timeout_s=timeout_s)

    return run


def refused(exchange, code: str, *arguments) -> str:
    with pytest.raises(ExecutionError) as caught:
        exchange(*arguments)
    assert (caught.value.code, caught.value.status) == (code, "not_started")
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return "".join(traceback.format_exception(caught.value))


def test_what_is_sent_is_the_wire(exchange, fake, tmp_path):
    credential = exchange()
    form = fake.forms[0]
    key = load_key(tmp_path / "client.pem")
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
    assert form["subject_token"] == fakes.HANDLE
    assert form["subject_token_type"] == "urn:counterfoil:token-type:grant-handle"
    assert form["actor_token_type"] == "urn:ietf:params:oauth:token-type:jwt"
    assert (form["audience"], form["scope"]) == ("calendar-api", "calendar.write")
    assert json.loads(form["authorization_details"]) == [
        {
            "type": "counterfoil_call",
            "decision_id": "0197-decision",
            "action_digest": canon.digest({}),
            "operation": "events.create",
            "method": "POST",
            "uri": CALL.url,
            "content_sha256": canon.sha256_hex(CALL.body),
        }
    ]
    jtis = set()
    for name, typ, sub in (
        ("client_assertion", "client-authentication+jwt", "gateway"),
        ("actor_token", "counterfoil-actor+jwt", "demo"),
    ):
        header = jwt.get_unverified_header(form[name])
        assert header == {"alg": "ES256", "typ": typ, "kid": thumbprint(key)}
        options = {"verify_exp": False, "verify_iat": False}
        claims = jwt.decode(
            form[name], key.public_key(), ["ES256"], audience=fake.url, options=options
        )
        assert (claims["iss"], claims["sub"], claims["aud"]) == ("gateway", sub, fake.url)
        assert claims["exp"] - claims["iat"] == 60
        assert claims["iat"] == fakes.NOW
        jtis.add(claims["jti"])
    assert len(jtis) == 2
    assert form["client_assertion_type"].endswith(":jwt-bearer")
    assert credential.token.reveal() == fake.tokens[0]
    assert fake.tokens[0] not in repr(credential)
    assert credential.facts == {
        "jti": "jti-1",
        "audience": "calendar-api",
        "scope": "calendar.write",
        "expires_at": fakes.NOW + 300,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"scope": "calendar.read"},
        {"scope": "calendar.write mail.send"},
        {"token_type": "DPoP"},
        {"token_type": "bearer"},
        {"issued_token_type": "urn:ietf:params:oauth:token-type:jwt"},
        {"expires_in": 301},
        {"expires_in": 0},
        {"expires_in": True},
        {"expires_in": "300"},
        {"authorization_details": []},
        {"authorization_details": None},
        {"refresh_token": "r"},
        {"access_token": "opaque"},
        {"access_token": None},
        {"access_token": "a.!.c"},
        {"access_token": "x" * 9000},
    ],
)
def test_an_answer_that_was_not_asked_for_is_not_believed(exchange, fake, change):
    fake.alter = lambda answer: {**answer, **change}
    shown = refused(exchange, "broker_unavailable")
    assert fake.tokens[0] not in shown


@pytest.mark.parametrize("name", ["scope", "token_type", "access_token", "authorization_details"])
def test_a_missing_member_is_not_believed(exchange, fake, name):
    fake.alter = lambda answer: {key: value for key, value in answer.items() if key != name}
    refused(exchange, "broker_unavailable")


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "mail-api"},
        {"aud": ["calendar-api"]},
        {"scope": "mail.send"},
        {"jti": 7},
        {"exp": "x"},
    ],
)
def test_a_token_for_something_else_is_not_believed(exchange, fake, claims):
    fake.claims = claims
    refused(exchange, "broker_unavailable")


@pytest.mark.parametrize(
    ("status", "code"), [(400, "invalid_scope"), (401, "invalid_client"), (400, "invalid_request")]
)
def test_a_refusal_tells_the_oauth_code_and_nothing_else(exchange, fake, status, code):
    fake.respond = lambda: Response(
        json.dumps({"error": code, "error_description": fakes.HANDLE}),
        status=status,
        mimetype="application/json",
    )
    shown = refused(exchange, "broker_refused")
    assert code in shown
    assert fakes.HANDLE not in shown


@pytest.mark.parametrize(
    "respond",
    [
        lambda: Response("<html>oops", status=200),
        lambda: Response("[]", status=200),
        lambda: Response('{"access_token": "a", "access_token": "b"}', status=200),
        lambda: Response("{}", status=500),
        lambda: Response('{"error": "temporarily_unavailable"}', status=503),
        lambda: Response(json.dumps({"error": fakes.HANDLE}), status=400),
        lambda: Response(b'{"error":"' + b"x" * 100_000 + b'"}', status=400),
        lambda: redirect("http://127.0.0.1:9/token", 307),
    ],
)
def test_anything_else_is_a_broker_that_is_not_there(exchange, fake, respond):
    fake.respond = respond
    shown = refused(exchange, "broker_unavailable")
    assert fakes.HANDLE not in shown


def test_a_broker_that_is_down(exchange, tmp_path):
    shown = refused(
        exchange, "broker_unavailable", fakes.make_broker(fakes.closed_port(), tmp_path)
    )
    assert "is it running?" in shown


@pytest.mark.parametrize("behave", [fakes.silent, fakes.dripping, fakes.garbage, fakes.cut_short])
def test_a_broker_that_is_slow_or_broken(exchange, tmp_path, behave):
    with fakes.raw_server(behave) as url:
        broker = fakes.make_broker(url, tmp_path, timeout_s=0.5)
        shown = refused(exchange, "broker_unavailable", broker)
    assert fakes.HANDLE not in shown


def test_the_act_s_own_time_counts_too(exchange, tmp_path):
    with fakes.raw_server(fakes.silent) as url:
        refused(exchange, "broker_unavailable", fakes.make_broker(url, tmp_path), 0.2)


@pytest.mark.parametrize(
    "issuer",
    ["http://broker.example", "https://broker.example/", "broker", "https://u:p@b.example"],
)
def test_an_issuer_that_is_no_safe_place_is_refused(tmp_path, issuer):
    with pytest.raises(ConfigError, match="issuer"):
        Broker(issuer=issuer, client_id="gateway", key_file=tmp_path / "k")


def pem(key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (None, 0o600, "counterfoil init"),
        (b"garbage", 0o600, "not a P-256"),
        (pem(ec.generate_private_key(ec.SECP384R1())), 0o600, "not a P-256"),
        (pem(rsa.generate_private_key(65537, 2048)), 0o600, "not a P-256"),
        (pem(ec.generate_private_key(ec.SECP256R1())), 0o640, "chmod 600"),
    ],
)
def test_a_key_that_cannot_be_used_denies(tmp_path: Path, content, mode, message):
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    with pytest.raises(ConfigError, match=message):
        load_key(path)


def test_a_key_behind_a_link_is_refused(tmp_path):
    fakes.make_key(tmp_path / "real.pem")
    (tmp_path / "key.pem").symlink_to(tmp_path / "real.pem")
    with pytest.raises(ConfigError):
        load_key(tmp_path / "key.pem")


def test_the_thumbprint_is_that_of_rfc_7638(tmp_path):
    key = fakes.make_key(tmp_path / "key.pem")
    jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
    text = f'{{"crv":"P-256","kty":"EC","x":"{jwk["x"]}","y":"{jwk["y"]}"}}'
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
    assert thumbprint(key) == digest.decode().rstrip("=")


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.none(), st.integers(), st.text(), st.from_regex(r"[\w.=-]*", fullmatch=True)))
def test_reading_a_token_without_trust_never_raises(token):
    assert _unverified(token) is None or isinstance(_unverified(token), dict)


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.none(), st.integers(), st.text()))
def test_an_oauth_code_is_a_short_word_or_nothing(value):
    code = oauth_code(value)
    assert code is None or (code.isascii() and len(code) <= 64)
