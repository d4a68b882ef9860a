"""The whole road over HTTP: consent, code, handle, exchange, introspection, revocation."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import jwt
import requests

from tests.support.broker_server import AGENT, CALLS, HANDLE_TYPE, START

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


def test_from_consent_to_revocation(broker: BrokerServer) -> None:
    answer = broker.handle("calendar.read mail.send")
    handle = answer.pop("access_token")
    assert answer == {
        "issued_token_type": HANDLE_TYPE,
        "token_type": "N_A",
        "grant_id": answer["grant_id"],
        "user": "alice",
        "agent": AGENT,
        "scope": "calendar.read mail.send",
        "audiences": {"calendar-api": ["calendar.read"], "mail-api": ["mail.send"]},
        "expires_at": START + 30 * 86400,
    }
    form = broker.exchange_form(handle, "calendar.read")
    exchanged = broker.post("/token", form)
    assert exchanged.status_code == 200, exchanged.text
    body = exchanged.json()
    token = body.pop("access_token")
    details = json.loads(form["authorization_details"])
    assert body == {
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "token_type": "Bearer",
        "expires_in": 300,
        "scope": "calendar.read",
        "authorization_details": details,
    }
    assert exchanged.headers["Cache-Control"] == "no-store"

    seen = broker.introspect(token, "calendar-api")
    assert seen == {
        "active": True,
        "token_type": "Bearer",
        "iss": broker.url,
        "aud": "calendar-api",
        "sub": "alice",
        "act": {"sub": AGENT},
        "client_id": "gateway",
        "scope": "calendar.read",
        "jti": seen["jti"],
        "iat": START,
        "exp": START + 300,
        "gid": answer["grant_id"],
        "authorization_details": details,
    }
    assert broker.revoke(token).status_code == 200
    assert broker.introspect(token, "calendar-api") == {"active": False}
    assert broker.exchange(handle, "mail.send").status_code == 200
    assert broker.revoke(handle).status_code == 200
    refused = broker.exchange(handle, "mail.send")
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")


def test_the_token_is_a_signed_jwt_of_the_published_key(broker: BrokerServer) -> None:
    token = broker.exchange(broker.handle("mail.send")["access_token"], "mail.send").json()
    keys = requests.get(f"{broker.url}/jwks.json", timeout=30).json()["keys"]
    header = json.loads(base64.urlsafe_b64decode(token["access_token"].split(".")[0] + "=="))
    assert header == {"alg": "ES256", "typ": "at+jwt", "kid": keys[0]["kid"]}
    claims = jwt.decode(
        token["access_token"],
        jwt.PyJWK(keys[0]),
        algorithms=["ES256"],
        audience="mail-api",
        options={"verify_exp": False, "verify_iat": False},
    )
    seen = broker.introspect(token["access_token"], "mail-api")
    assert {"active": True, "token_type": "Bearer", **claims} == seen


def test_every_operation_of_the_demo_catalogue_can_be_decided(broker: BrokerServer) -> None:
    handle = broker.handle(" ".join(CALLS))["access_token"]
    for scope, (audience, *_) in CALLS.items():
        answer = broker.exchange(handle, scope)
        assert answer.status_code == 200, answer.text
        assert broker.introspect(answer.json()["access_token"], audience)["scope"] == scope
