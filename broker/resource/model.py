"""The values of the resource-server kit: configuration, what a token says, and the two verdicts.

Every refusal is a member of one table that fixes its HTTP status, its OAuth error code and its
sentence, so no check can invent an answer. No representation here shows a token or a body. A
configuration that could make a comparison ambiguous (a base URL with a query, user information or
a trailing slash) is refused when it is built, and so is plain http to another machine: tokens and
assertions travel there.

Source: RFC 6750 §3.1 (error codes), RFC 8693 §4.1 (`act`), RFC 9396 §2 (`authorization_details`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from broker.config import LOOPBACK_HOSTS
from broker.errors import BrokerError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?(?P<path>(?:/[A-Za-z0-9._~-]+)*)"
)
_MAX_PORT = 65535
_MAX_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """A configured URL, taken apart."""

    tls: bool
    host: str
    port: int
    path: str


def parse_url(name: str, text: str) -> Url:
    """Take a configured URL apart; ValueError names the setting and what it must look like."""
    match = _URL.fullmatch(text)
    if match is None or int(match["port"] or 0) > _MAX_PORT:
        raise ValueError(
            f"{name}: use http(s)://host[:port][/path] in lower case; no user, query or final slash"
        )
    tls = match["scheme"] == "https"
    if not tls and match["host"] not in LOOPBACK_HOSTS:
        raise ValueError(f"{name}: plain http is for loopback only; use https")
    return Url(
        tls=tls,
        host=match["host"].strip("[]"),
        port=int(match["port"] or (443 if tls else 80)),
        path=match["path"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceConfig:
    """Who this resource server is, and which broker it asks."""

    audience: str
    base_url: str
    issuer: str
    introspection_url: str
    client_id: str
    max_body_bytes: int = 1 << 20
    timeout_s: float = 2.0

    def __post_init__(self) -> None:
        for name in ("audience", "client_id"):
            if not _NAME.fullmatch(getattr(self, name)):
                raise ValueError(
                    f"{name}: use 1 to 100 of A-Z a-z 0-9 . _ - (letter or digit first)"
                )
        for name in ("base_url", "issuer", "introspection_url"):
            parse_url(name, getattr(self, name))
        if self.max_body_bytes < 0:
            raise ValueError("max_body_bytes: must not be negative")
        if not 0 < self.timeout_s <= _MAX_TIMEOUT_S:
            raise ValueError(f"timeout_s: must be above 0 and at most {_MAX_TIMEOUT_S}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedCall:
    """The one call the gateway decided, as the broker wrote it into the token."""

    decision_id: str
    action_digest: str
    operation: str
    method: str
    uri: str
    content_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFacts:
    """What the broker says about an active token, every member of the expected type."""

    issuer: str
    audience: str
    sub: str
    agent: str
    client_id: str
    grant_id: str
    jti: str
    scope: str
    issued_at: int
    expires_at: int
    sender_constrained: bool
    call: DecidedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """What one endpoint of the resource server needs."""

    operation: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """The request in hand: the method, the URI by our own base URL, the body bytes, the token."""

    method: str
    uri: str
    body: bytes = field(repr=False)
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedCall:
    """A call that passed every check; the view works from this and from nothing else."""

    sub: str
    agent: str
    client_id: str
    grant_id: str
    jti: str
    scope: str
    operation: str
    decision_id: str
    action_digest: str
    body: bytes = field(repr=False)


class Reason(Enum):
    """Why a request is refused: stable code, HTTP status, OAuth error (if any), sentence."""

    NO_TOKEN = ("no_token", 401, None, "send Authorization: Bearer with an access token")
    MALFORMED_AUTHORIZATION = (
        "malformed_authorization",
        400,
        "invalid_request",
        "exactly one Authorization header with one Bearer token is accepted",
    )
    TOKEN_IN_REQUEST = (
        "token_in_request",
        400,
        "invalid_request",
        "a token is accepted in the Authorization header only, not in query or body",
    )
    TARGET_FORM = (
        "target_form",
        400,
        "invalid_request",
        "the request target must be a path and query of printable ASCII",
    )
    LENGTH_REQUIRED = (
        "length_required",
        411,
        "invalid_request",
        "send one Content-Length in digits; Transfer-Encoding is not accepted",
    )
    BODY_TOO_LARGE = ("body_too_large", 413, "invalid_request", "the body is over the limit")
    BODY_INCOMPLETE = (
        "body_incomplete",
        400,
        "invalid_request",
        "the body is shorter than Content-Length says",
    )
    TOKEN_INACTIVE = (
        "token_inactive",
        401,
        "invalid_token",
        "the token is unknown, expired, revoked or for another resource server",
    )
    WRONG_AUDIENCE = ("wrong_audience", 401, "invalid_token", "the token is for another audience")
    TOKEN_EXPIRED = ("token_expired", 401, "invalid_token", "the token has expired")
    SENDER_CONSTRAINED = (
        "sender_constrained",
        401,
        "invalid_token",
        "the token is bound to a key and cannot be used as Bearer",
    )
    WRONG_SCOPE = ("wrong_scope", 403, "insufficient_scope", "the token has another scope")
    WRONG_OPERATION = (
        "wrong_operation",
        403,
        "insufficient_scope",
        "the token was minted for another operation",
    )
    WRONG_METHOD = (
        "wrong_method",
        403,
        "insufficient_scope",
        "the token was minted for another method",
    )
    WRONG_URI = ("wrong_uri", 403, "insufficient_scope", "the token was minted for another URI")
    WRONG_CONTENT = (
        "wrong_content",
        403,
        "insufficient_scope",
        "the token was minted for another body",
    )
    BROKER_UNREACHABLE = (
        "broker_unreachable",
        503,
        "temporarily_unavailable",
        "the broker cannot be reached",
    )
    BROKER_SLOW = (
        "broker_slow",
        503,
        "temporarily_unavailable",
        "the broker did not answer in time",
    )
    BROKER_STATUS = (
        "broker_status",
        503,
        "temporarily_unavailable",
        "the broker refused to introspect; check client id, key and clock",
    )
    BROKER_ANSWER = (
        "broker_answer",
        503,
        "temporarily_unavailable",
        "the broker's answer is not an introspection response of docs/wire.md",
    )

    def __init__(self, code: str, status: int, error: str | None, sentence: str) -> None:
        self.code = code
        self.status = status
        self.error = error
        self.sentence = sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refused request: why, what the endpoint needed, and what the token said if it was read."""

    reason: Reason
    endpoint: Endpoint
    token: TokenFacts | None = None


class BrokerFaultError(BrokerError):
    """The broker gave no answer anybody could judge; `reason` says in which way."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason.code}: {detail}")
        self.reason = reason
