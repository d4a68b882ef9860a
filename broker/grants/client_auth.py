"""Client authentication by `private_key_jwt`, the only method there is.

The audience must be the issuer as one string, never an array and never an endpoint, so that an
assertion made for one server cannot be played to another. Each `jti` counts once, and is used up
before anything else happens.

Source: RFC 7523 sections 2.2 and 3, RFC 8725 section 3.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.errors import InvalidClientError, InvalidRequestError, JwtError
from broker.store import clients, replay
from broker.tokens import jwt
from broker.tokens.keys import parse_jwk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker.grants.context import Broker
    from broker.store.clients import Client

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_TYP = "client-authentication+jwt"
MAX_ASSERTION_LIFE_S = 60


def authenticate(broker: Broker, form: Mapping[str, str]) -> Client:
    """Tell which client sent `form`; raises InvalidClientError unless it proved so."""
    if "client_secret" in form:
        raise InvalidRequestError(
            "client_secret: there are no client secrets; use client_assertion"
        )
    if form.get("client_assertion_type") != ASSERTION_TYPE or "client_assertion" not in form:
        raise InvalidClientError(
            f"client_assertion and client_assertion_type={ASSERTION_TYPE} required"
        )
    try:
        token = jwt.parse(form["client_assertion"])
        client_id = token.claims.get("iss")
        client = _enabled_client(broker, client_id) if isinstance(client_id, str) else None
        if client is None:
            raise InvalidClientError("client_assertion: this client is not known or is disabled")
        _verify_once(broker, client, token)
    except JwtError as error:
        raise InvalidClientError(f"client_assertion: {error}") from None
    if form.get("client_id", client.id) != client.id:
        raise InvalidClientError("client_id: differs from the client of the assertion")
    return client


def _verify_once(broker: Broker, client: Client, token: jwt.Unverified) -> None:
    now = broker.clock()
    expected = jwt.Expected(
        typ=ASSERTION_TYP,
        issuer=client.id,
        audience=broker.config.issuer,
        max_life_s=MAX_ASSERTION_LIFE_S,
    )
    claims = jwt.verify(token, key=parse_jwk(client.jwk), expected=expected, now=now)
    if claims.get("sub") != client.id:
        raise JwtError("sub", "sub must equal iss")
    with broker.store.write() as connection:
        fresh = replay.consume(
            connection,
            kind=f"client {client.id}",
            key=claims["jti"],
            exp=claims["exp"] + jwt.LEEWAY_S,
            now=now,
        )
    if not fresh:
        raise JwtError("jti", "this jti was used before; make an assertion per request")


def _enabled_client(broker: Broker, client_id: str) -> Client | None:
    with broker.store.read() as connection:
        client = clients.get(connection, client_id)
    return client if client is not None and client.enabled else None
