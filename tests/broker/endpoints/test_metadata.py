"""Metadata and keys, held against a library that knows RFC 8414."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import requests
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

from broker.tokens.keys import parse_jwk

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


def test_the_metadata_is_valid_and_says_what_exists(shared: BrokerServer) -> None:
    url = f"{shared.url}/.well-known/oauth-authorization-server"
    found = requests.get(url, timeout=30).json()
    assert found["issuer"] == shared.url
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["token_endpoint_auth_methods_supported"] == ["private_key_jwt"]
    assert found["authorization_response_iss_parameter_supported"] is True
    public = json.loads(json.dumps(found).replace(shared.url, "https://broker.example"))
    AuthorizationServerMetadata(public).validate()
    for name in ("token", "introspection", "revocation"):
        answer = requests.post(found[f"{name}_endpoint"], timeout=30)
        assert answer.status_code == 400
    assert requests.get(found["authorization_endpoint"], timeout=30).status_code == 400


def test_the_key_set_holds_public_keys_only(shared: BrokerServer) -> None:
    (key,) = requests.get(f"{shared.url}/jwks.json", timeout=30).json()["keys"]
    assert key.keys() == {"kty", "crv", "x", "y", "kid", "use", "alg"}
    assert parse_jwk(json.dumps(key)).kid == key["kid"]


def test_health_is_told(shared: BrokerServer) -> None:
    answer = requests.get(f"{shared.url}/healthz", timeout=30)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
