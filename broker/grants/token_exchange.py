"""Token exchange: grant handle and actor assertion in, one access token for one decided call out.

Everything narrows and nothing widens: the audience and scope must be the grant's, the scope the
one the catalogue gives the operation, the end at most 300 seconds away and never after the
grant's. The actor must be the agent the grant names. A decision yields one token, ever.

Source: RFC 8693 sections 2.1, 2.2 and 4.1, RFC 9068, RFC 9396.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from broker.errors import (
    InvalidDetailsError,
    InvalidRequestError,
    InvalidScopeError,
    InvalidTargetError,
    JwtError,
)
from broker.grants import call as calls
from broker.grants.authorization_code import HANDLE_TYPE
from broker.store import grants, replay, tokens
from broker.store.database import digest
from broker.store.tokens import DecisionUsedError, TokenRow
from broker.tokens import access, jwt
from broker.tokens.keys import parse_jwk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker.grants.call import Call
    from broker.grants.context import Broker
    from broker.store.clients import Client
    from broker.store.grants import Grant

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 (a name)
ACTOR_TYPE = "urn:ietf:params:oauth:token-type:jwt"
ACTOR_TYP = "counterfoil-actor+jwt"
MAX_ACTOR_LIFE_S = 60
_MAX_SESSION = 200
_FIXED = {
    "subject_token_type": HANDLE_TYPE,
    "actor_token_type": ACTOR_TYPE,
    "requested_token_type": ACCESS_TOKEN_TYPE,
}
_REQUIRED = ("subject_token", "subject_token_type", "actor_token", "actor_token_type")
_log = logging.getLogger(__name__)


def exchange(broker: Broker, client: Client, form: Mapping[str, str]) -> dict[str, Any]:
    """Answer `grant_type=...:token-exchange` with one access token."""
    _check_form(form)
    now = broker.clock()
    grant = _grant_of(broker, client, form["subject_token"], now=now)
    actor = _actor(broker, client, form["actor_token"], agent=grant.agent, now=now)
    audience, scope = _target(broker, grant, form)
    call = calls.parse(form.get("authorization_details", ""))
    calls.check(call, audience=broker.config.catalogue[audience], scope=scope)
    return _mint(broker, grant, actor=actor, audience=audience, scope=scope, call=call, now=now)


def _check_form(form: Mapping[str, str]) -> None:
    for name in _REQUIRED:
        if name not in form:
            raise InvalidRequestError(f"{name}: required")
    for name, wanted in _FIXED.items():
        if form.get(name, wanted) != wanted:
            raise InvalidRequestError(f"{name}: must be {wanted}")
    if "resource" in form:
        raise InvalidTargetError("resource: not used here; name the audience")


def _grant_of(broker: Broker, client: Client, handle: str, *, now: int) -> Grant:
    with broker.store.read() as connection:
        grant = grants.usable_by_handle(
            connection, handle_hash=digest(handle), client=client.id, now=now
        )
    if grant is None:
        raise InvalidRequestError("subject_token: no live grant of this client stands behind it")
    return grant


def _actor(
    broker: Broker, client: Client, token: str, *, agent: str, now: int
) -> Mapping[str, Any]:
    expected = jwt.Expected(
        typ=ACTOR_TYP,
        issuer=client.id,
        audience=broker.config.issuer,
        max_life_s=MAX_ACTOR_LIFE_S,
    )
    try:
        claims = jwt.verify(jwt.parse(token), key=parse_jwk(client.jwk), expected=expected, now=now)
    except JwtError as error:
        raise InvalidRequestError(f"actor_token: {error}") from None
    if claims.get("sub") != agent:
        raise InvalidRequestError("actor_token: sub is not the agent this grant was given to")
    session = claims.get("session")
    if not isinstance(session, str) or not 1 <= len(session) <= _MAX_SESSION:
        raise InvalidRequestError(f"actor_token: session must be 1 to {_MAX_SESSION} characters")
    return claims


def _target(broker: Broker, grant: Grant, form: Mapping[str, str]) -> tuple[str, str]:
    audience, scope = form.get("audience", ""), form.get("scope", "")
    if audience not in broker.config.audiences(grant.scopes):
        raise InvalidTargetError("audience: must be one audience of the grant, by its exact name")
    if scope not in grant.scopes:
        raise InvalidScopeError("scope: must be exactly one scope of the grant")
    if broker.config.audience_of(scope) != audience:
        raise InvalidScopeError("scope: belongs to another audience")
    return audience, scope


def _mint(
    broker: Broker,
    grant: Grant,
    *,
    actor: Mapping[str, Any],
    audience: str,
    scope: str,
    call: Call,
    now: int,
) -> dict[str, Any]:
    claims = access.AccessClaims(
        iss=broker.config.issuer,
        aud=audience,
        sub=grant.user,
        agent=grant.agent,
        client_id=grant.client,
        scope=scope,
        jti=broker.new_id(),
        iat=now,
        exp=min(now + access.MAX_LIFE_S, grant.expires_at),
        gid=grant.id,
        authorization_details=[call.details],
    )
    payload = claims.as_json()
    token = jwt.sign(payload, key=broker.signing_key, typ=access.TYP)
    row = TokenRow(
        hash=digest(token),
        jti=claims.jti,
        grant_id=grant.id,
        epoch=grant.epoch,
        aud=audience,
        scope=scope,
        decision_id=call.decision_id,
        iat=now,
        exp=claims.exp,
        claims=json.dumps(payload),
    )
    _insert(broker, row, client_id=grant.client, actor=actor)
    _log.info(
        "minted jti=%s gid=%s aud=%s scope=%s decision=%s session=%r",
        claims.jti,
        grant.id,
        audience,
        scope,
        call.decision_id,
        actor["session"],
    )
    return {
        "access_token": token,
        "issued_token_type": ACCESS_TOKEN_TYPE,
        "token_type": "Bearer",
        "expires_in": claims.exp - now,
        "scope": scope,
        "authorization_details": claims.authorization_details,
    }


def _insert(broker: Broker, row: TokenRow, *, client_id: str, actor: Mapping[str, Any]) -> None:
    try:
        with broker.store.write() as connection:
            fresh = replay.consume(
                connection,
                kind=f"actor {client_id}",
                key=actor["jti"],
                exp=actor["exp"] + jwt.LEEWAY_S,
                now=row.iat,
            )
            if not fresh:
                raise InvalidRequestError("actor_token: this jti was used before")
            if not tokens.mint(connection, row):
                raise InvalidRequestError("subject_token: the grant ended meanwhile")
    except DecisionUsedError:
        raise InvalidDetailsError("authorization_details.decision_id: was used before") from None
