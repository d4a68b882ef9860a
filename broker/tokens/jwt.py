"""The one JWT module: nothing else in the broker imports a JWT library.

A token is parsed once, strictly, and every rule below is checked before a claim is believed:

- at most 8 KiB; exactly three segments of canonical base64url (so no JWE, no JSON form, no NUL);
- header and claims by `strict_json` (no repeated member, no NaN, no depth);
- the header is `alg`, `typ`, `kid` and nothing else: no jku, x5u, x5c, jwk, crit, b64, zip, cty;
- `alg` is the key's, `kid` is the key's id, `typ` is the one expected, all compared exactly;
- `iss` and `aud` are the single strings expected;
- `iat`, `exp` (and `nbf` if present) are integers, `exp - iat` is within the cap, and the clock
  stands between them with five seconds of leeway;
- `jti` is a text of 1 to 256 characters. That it is new is the caller's to check.

PyJWT is used for the signature alone; it accepts repeated members and ignores `typ`.

Source: RFC 7519, RFC 8725, CVE-2015-9235 (alg none), CVE-2022-29217 (algorithm confusion).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jwt

from broker.errors import JwtError
from broker.tokens import strict_json
from broker.tokens.keys import ALGORITHM, from_b64url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker.tokens.keys import SigningKey, VerifyKey

MAX_BYTES = 8 * 1024
LEEWAY_S = 5
_COMPACT = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_HEADER = frozenset({"alg", "typ", "kid"})
_MAX_JTI = 256
_engine = jwt.PyJWS(algorithms=[ALGORITHM]).get_algorithm_by_name(ALGORITHM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unverified:
    """A well-formed token nobody has vouched for; only `verify` makes its claims usable."""

    header: Mapping[str, Any] = field(repr=False)
    claims: Mapping[str, Any] = field(repr=False)
    signing_input: bytes = field(repr=False)
    signature: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the caller demands of a token."""

    typ: str
    issuer: str
    audience: str
    max_life_s: int


def parse(token: str) -> Unverified:
    """Take a compact JWS apart; raises JwtError when it is not one in strict form."""
    if len(token) > MAX_BYTES:
        raise JwtError("size", f"longer than {MAX_BYTES} bytes")
    match = _COMPACT.fullmatch(token)
    if match is None:
        raise JwtError("form", "not three base64url segments")
    try:
        header, claims, signature = (from_b64url(segment) for segment in match.groups())
    except ValueError:
        raise JwtError("form", "a segment is not canonical base64url") from None
    return Unverified(
        header=_object("header", header),
        claims=_object("claims", claims),
        signing_input=token.rpartition(".")[0].encode("ascii"),
        signature=signature,
    )


def verify(token: Unverified, *, key: VerifyKey, expected: Expected, now: int) -> dict[str, Any]:
    """Check every rule and return the claims; raises JwtError with the rule that broke."""
    if token.header.keys() != _HEADER:
        raise JwtError("header", "the header must be alg, typ and kid, nothing else")
    for name, wanted in (("alg", ALGORITHM), ("typ", expected.typ), ("kid", key.kid)):
        if token.header[name] != wanted:
            raise JwtError(name, f"{name} is not the one this key and use require")
    if not _engine.verify(token.signing_input, key.public, token.signature):
        raise JwtError("signature", "the signature does not verify")
    claims = dict(token.claims)
    for name, wanted in (("iss", expected.issuer), ("aud", expected.audience)):
        if claims.get(name) != wanted:
            raise JwtError(name, f"{name} must be one string, the expected one")
    jti = claims.get("jti")
    if not isinstance(jti, str) or not 1 <= len(jti) <= _MAX_JTI:
        raise JwtError("jti", f"jti must be a text of 1 to {_MAX_JTI} characters")
    _check_times(claims, max_life_s=expected.max_life_s, now=now)
    return claims


def sign(claims: Mapping[str, Any], *, key: SigningKey, typ: str) -> str:
    """Sign claims as a compact ES256 token of the given type."""
    headers = {"typ": typ, "kid": key.kid}
    return jwt.encode(dict(claims), key.private, algorithm=ALGORITHM, headers=headers)


def _object(part: str, raw: bytes) -> dict[str, Any]:
    try:
        value = strict_json.loads(raw, max_bytes=MAX_BYTES)
    except ValueError as error:
        raise JwtError("json", f"{part}: {error}") from None
    if not isinstance(value, dict):
        raise JwtError("json", f"{part}: not an object")
    return value


def _check_times(claims: Mapping[str, Any], *, max_life_s: int, now: int) -> None:
    for name in ("iat", "exp", "nbf"):
        if type(claims.get(name, 0 if name == "nbf" else None)) is not int:
            raise JwtError("time", f"{name} must be an integer")
    iat, exp, nbf = claims["iat"], claims["exp"], claims.get("nbf", 0)
    if not 0 < exp - iat <= max_life_s:
        raise JwtError("life", f"exp must be 1 to {max_life_s} seconds after iat")
    if max(iat, nbf) > now + LEEWAY_S:
        raise JwtError("early", "iat or nbf is in the future; compare the clocks")
    if exp <= now - LEEWAY_S:
        raise JwtError("expired", "the token has expired")
