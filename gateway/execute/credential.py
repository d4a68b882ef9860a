"""The gateway's side of the broker: a credential for exactly one decided call.

`Broker.exchange` sends one RFC 8693 token exchange for one permit: the grant handle as subject,
an assertion naming agent and session as actor, one audience, one scope, the call's details. The
answer is believed only if it is exactly what was asked for. The token lives in a `Secret`;
what is told of it (`jti`, audience, scope, expiry) is read without trust, for the record.

A refusal of the broker is `broker_refused` with its OAuth error code and nothing else; a broker
that is not there, slow, or answers anything else is `broker_unavailable`. In both cases nothing
was sent to any API. The only module of the gateway that uses a JWT library.

Source: RFC 8693, RFC 7523 section 2.2, RFC 7638, RFC 9396, `docs/wire.md`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
import stat
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.errors import ConfigError, ExecutionError
from gateway.execute import bounded
from gateway.execute.secret import Secret
from gateway.kit import canon
from gateway.model.names import Json, Status
from gateway.model.permit import Permit
from gateway.model.plan import CallApi

GRANT_HANDLE: Final = "urn:counterfoil:token-type:grant-handle"
ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a name
_JWT: Final = "urn:ietf:params:oauth:token-type:jwt"
_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_MAX_ANSWER: Final = 65_536
_MAX_TOKEN: Final = 8192
_MAX_LIFE_S: Final = 300
_ASSERTION_LIFE_S: Final = 60
_OAUTH_CODE: Final = re.compile(r"[a-z_]{1,64}")
_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")
_REFUSALS: Final = frozenset({400, 401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A token for one call, and what may be told of it."""

    token: Secret = field(repr=False)
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A client of one broker. `key_file`: the gateway's P-256 key, PEM, mode 0600."""

    issuer: str
    client_id: str
    key_file: Path
    timeout_s: float = 10.0
    clock: Callable[[], int] = lambda: int(time.time())
    random: Callable[[], str] = lambda: secrets.token_urlsafe(24)

    def __post_init__(self) -> None:
        if not bounded.is_safe_place(self.issuer) or self.issuer.endswith("/"):
            raise ConfigError(
                "broker.issuer must be an https URL, or http on this machine, without a slash at"
                " its end"
            )

    def exchange(
        self, call: CallApi, permit: Permit, *, handle: Secret, timeout_s: float
    ) -> Credential:
        """Get a credential for one decided call.

        Raises:
            ExecutionError: `broker_refused` or `broker_unavailable`, nothing was started.
            ConfigError: the key cannot be used.
        """
        details: list[Json] = [
            {
                "type": "counterfoil_call",
                "decision_id": permit.action_id,
                "action_digest": permit.action.digest,
                "operation": call.api_operation,
                "method": call.method,
                "uri": call.url,
                "content_sha256": canon.sha256_hex(call.body or b""),
            }
        ]
        actor = {"sub": permit.caller.agent or "", "session": permit.caller.session}
        answer = self.token(
            {
                "grant_type": _EXCHANGE,
                "subject_token": handle.reveal(),
                "subject_token_type": GRANT_HANDLE,
                "actor_token": self._sign("counterfoil-actor+jwt", actor),
                "actor_token_type": _JWT,
                "audience": call.audience,
                "scope": call.scope,
                "authorization_details": canon.dumps(details).decode(),
            },
            timeout_s=timeout_s,
        )
        return _credential(answer, call, details)

    def token(self, form: Mapping[str, str], *, timeout_s: float) -> Mapping[str, Json]:
        """Post one authenticated form to the token endpoint and return the answer's members.

        Raises:
            ExecutionError: `broker_refused` or `broker_unavailable`.
            ConfigError: the key cannot be used.
        """
        authenticated = {
            **form,
            "client_assertion_type": _ASSERTION,
            "client_assertion": self._sign("client-authentication+jwt", {"sub": self.client_id}),
        }
        request = bounded.Request(
            method="POST",
            url=self.issuer + "/token",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            body=urllib.parse.urlencode(authenticated).encode("ascii"),
        )
        try:
            reply = bounded.send(
                request, max_bytes=_MAX_ANSWER, timeout_s=min(self.timeout_s, timeout_s)
            )
        except bounded.Failure as failure:
            slow = "did not answer in time" if failure.timeout else "cannot be reached"
            raise unavailable(f"{slow}; is it running?") from None
        return _members(reply)

    def _sign(self, typ: str, claims: Mapping[str, str]) -> str:
        key = load_key(self.key_file)
        now = self.clock()
        full = {
            "iss": self.client_id,
            **claims,
            "aud": self.issuer,
            "jti": self.random(),
            "iat": now,
            "exp": now + _ASSERTION_LIFE_S,
        }
        headers = {"typ": typ, "kid": thumbprint(key)}
        return jwt.encode(full, key, algorithm="ES256", headers=headers)


def load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Read the gateway's private key; nobody else may be able to read it.

    Raises:
        ConfigError: missing, readable by others, or not a P-256 key in PEM.
    """
    remedy = "`counterfoil init` makes one"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(fd, "rb") as stream:  # noqa: PTH123 - a descriptor
            found = os.fstat(fd)
            raw = stream.read(_MAX_ANSWER) if stat.S_ISREG(found.st_mode) else b""
    except OSError as error:
        raise ConfigError(f"broker.key {path}: {error.strerror}; {remedy}") from None
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise ConfigError(f"broker.key {path}: others can read it; chmod 600 it")
    key = None
    try:
        key = serialization.load_pem_private_key(raw, password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ConfigError(f"broker.key {path}: not a P-256 private key in PEM; {remedy}")
    return key


def public_jwk(key: ec.EllipticCurvePrivateKey) -> dict[str, Json]:
    """Return the public half as a JWK with its required members only. Source: RFC 7518 section 6.2.

    It is what the broker registers, and what the thumbprint is taken over.
    """
    numbers = key.public_key().public_numbers()
    return {
        "crv": "P-256",
        "kty": "EC",
        "x": _b64url(numbers.x.to_bytes(32, "big")),
        "y": _b64url(numbers.y.to_bytes(32, "big")),
    }


def thumbprint(key: ec.EllipticCurvePrivateKey) -> str:
    """Return the RFC 7638 thumbprint of the public key."""
    return _b64url(hashlib.sha256(canon.dumps(public_jwk(key))).digest())


def oauth_code(value: Json) -> str | None:
    """Return an OAuth error code if it is one; anything else may carry what must not be told."""
    return value if isinstance(value, str) and _OAUTH_CODE.fullmatch(value) else None


def unavailable(what: str) -> ExecutionError:
    """Return the error for a broker that does not answer as agreed."""
    return ExecutionError("broker_unavailable", f"the broker {what}", status=Status.NOT_STARTED)


def _members(reply: bounded.Reply) -> Mapping[str, Json]:
    try:
        answer = canon.loads(reply.body) if reply.whole else None
    except canon.JsonError:
        answer = None
    if not isinstance(answer, Mapping):
        raise unavailable(f"answered HTTP {reply.status} without a JSON object")
    if reply.status in _REFUSALS:
        code = oauth_code(answer.get("error"))
        if code is not None:
            message = (
                f"the broker refuses: {code} (the grant may be revoked or over, or may not cover "
                "this; `counterfoil connect` asks for one)"
            )
            raise ExecutionError("broker_refused", message, status=Status.NOT_STARTED)
    if reply.status != 200:  # noqa: PLR2004 - HTTP OK
        raise unavailable(f"answered HTTP {reply.status}")
    return answer


def _credential(answer: Mapping[str, Json], call: CallApi, details: list[Json]) -> Credential:
    """Believe an answer only if it is, member by member, what was asked for."""
    token, life = answer.get("access_token"), answer.get("expires_in")
    expected: dict[str, Json] = {
        "issued_token_type": ACCESS_TOKEN,
        "token_type": "Bearer",
        "scope": call.scope,
        "authorization_details": details,
    }
    for name, wanted in expected.items():
        if answer.get(name) != wanted:
            raise unavailable(f"answered with a {name} that was not asked for")
    extra = answer.keys() - expected.keys() - {"access_token", "expires_in"}
    if extra:
        raise unavailable("answered with members that were not agreed")
    if type(life) is not int or not 0 < life <= _MAX_LIFE_S:
        raise unavailable(f"answered with an expires_in that is not 1 to {_MAX_LIFE_S}")
    claims = _unverified(token)
    if not isinstance(token, str) or claims is None:
        raise unavailable("answered with a token that is not a JWT")
    facts = {name: claims.get(name) for name in ("jti", "aud", "scope", "exp")}
    if (
        not isinstance(facts["jti"], str)
        or type(facts["exp"]) is not int
        or (facts["aud"], facts["scope"]) != (call.audience, call.scope)
    ):
        raise unavailable("answered with a token for something else")
    return Credential(
        token=Secret(token),
        facts={
            "jti": facts["jti"][:64],
            "audience": call.audience,
            "scope": call.scope,
            "expires_at": facts["exp"],
        },
    )


def _unverified(token: Json) -> Mapping[str, Json] | None:
    """Read a token's claims without trust; None when it has none."""
    match = _COMPACT.fullmatch(token) if isinstance(token, str) else None
    if match is None or len(match.string) > _MAX_TOKEN:
        return None
    try:
        claims = canon.loads(base64.urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4)))
    except (ValueError, canon.JsonError):
        return None
    return claims if isinstance(claims, Mapping) else None


def _b64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
