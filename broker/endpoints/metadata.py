"""What a client may ask the broker: metadata, signing keys, and whether it is up.

Every address is built from the configured issuer, never from the Host header.

Source: RFC 8414 sections 2 and 3, RFC 7517 section 5, RFC 9207 section 3.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from broker.endpoints.context import broker
from broker.grants.call import TYPE
from broker.grants.token_exchange import GRANT_TYPE
from broker.tokens.keys import ALGORITHM

blueprint = Blueprint("metadata", __name__)


@blueprint.get("/.well-known/oauth-authorization-server")
def metadata() -> dict[str, Any]:
    """Describe this authorization server."""
    config = broker().config
    issuer = config.issuer
    auth: dict[str, list[str]] = {}
    for endpoint in ("token", "introspection", "revocation"):
        auth[f"{endpoint}_endpoint_auth_methods_supported"] = ["private_key_jwt"]
        auth[f"{endpoint}_endpoint_auth_signing_alg_values_supported"] = [ALGORITHM]
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "introspection_endpoint": f"{issuer}/introspect",
        "revocation_endpoint": f"{issuer}/revoke",
        "jwks_uri": f"{issuer}/jwks.json",
        "scopes_supported": [s for a in config.catalogue.values() for s in a.scopes],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", GRANT_TYPE],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "authorization_details_types_supported": [TYPE],
        **auth,
    }


@blueprint.get("/jwks.json")
def jwks() -> dict[str, Any]:
    """Publish the public signing key."""
    return {"keys": [broker().signing_key.public_jwk()]}


@blueprint.get("/healthz")
def healthz() -> dict[str, str]:
    """Say that the broker answers and its database can be read."""
    with broker().store.read() as connection:
        connection.exec_driver_sql("SELECT 1 FROM grants LIMIT 1").close()
    return {"status": "ok"}
