"""P-256 keys: the broker's signing key, clients' public keys, RFC 7638 thumbprints.

A key's id is always its thumbprint, so an id cannot be chosen, and a key knows its one algorithm
(ES256), so a header cannot choose that. Refused in a JWK: another curve or type, a private member,
an unknown member, coordinates that are not 32 canonical bytes or not on the curve.

Source: RFC 7517, RFC 7518 section 6.2, RFC 7638.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from broker.config import read_private
from broker.errors import ConfigError
from broker.tokens import strict_json

if TYPE_CHECKING:
    from pathlib import Path

ALGORITHM = "ES256"
_SIZE = 32
_REQUIRED = {"kty": "EC", "crv": "P-256"}
_OPTIONAL = {"use": "sig", "alg": ALGORITHM}
_MAX_JWK_BYTES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyKey:
    """A public key with its id."""

    kid: str
    public: ec.EllipticCurvePublicKey


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """The broker's private key; it never shows in a repr."""

    kid: str
    private: ec.EllipticCurvePrivateKey = field(repr=False)

    def public_jwk(self) -> dict[str, str]:
        """Build the public half as published in the key set."""
        return public_jwk(self.private.public_key()) | {
            "kid": self.kid,
            "use": "sig",
            "alg": ALGORITHM,
        }


def b64url(raw: bytes) -> str:
    """Encode as base64url without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def from_b64url(text: str) -> bytes:
    """Decode canonical unpadded base64url; raises ValueError for anything else."""
    raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if b64url(raw) != text:
        raise ValueError("not canonical base64url")
    return raw


def public_jwk(key: ec.EllipticCurvePublicKey) -> dict[str, str]:
    """Build the four members that make an EC key."""
    numbers = key.public_numbers()
    return {
        "kty": "EC",
        "crv": "P-256",
        "x": b64url(numbers.x.to_bytes(_SIZE, "big")),
        "y": b64url(numbers.y.to_bytes(_SIZE, "big")),
    }


def thumbprint(jwk: dict[str, str]) -> str:
    """Hash the required members of an EC JWK as RFC 7638 section 3 says."""
    members = {name: jwk[name] for name in ("crv", "kty", "x", "y")}
    return b64url(hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest())


@lru_cache(maxsize=256)
def parse_jwk(text: str) -> VerifyKey:
    """Read a public P-256 JWK; raises ValueError with what is wrong."""
    jwk = strict_json.loads(text.encode(), max_bytes=_MAX_JWK_BYTES)
    if not isinstance(jwk, dict) or not all(isinstance(value, str) for value in jwk.values()):
        raise ValueError("a JWK is an object of strings")
    if "d" in jwk:
        raise ValueError("this is a private key; register the public one only")
    allowed = _REQUIRED.keys() | _OPTIONAL.keys() | {"x", "y", "kid"}
    if unknown := jwk.keys() - allowed:
        raise ValueError(f"unknown member {min(unknown)!r}")
    for name, wanted in (_REQUIRED | _OPTIONAL).items():
        if jwk.get(name, _OPTIONAL.get(name)) != wanted:
            raise ValueError(f"{name} must be {wanted!r}")
    public = ec.EllipticCurvePublicNumbers(
        _coordinate(jwk, "x"), _coordinate(jwk, "y"), ec.SECP256R1()
    ).public_key()
    kid = thumbprint(jwk)
    if jwk.get("kid", kid) != kid:
        raise ValueError("kid must be the RFC 7638 thumbprint, or absent")
    return VerifyKey(kid=kid, public=public)


def new_signing_key() -> bytes:
    """Make a private key as PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def load_signing_key(path: Path) -> SigningKey:
    """Read the broker's signing key, a P-256 PEM in a file of mode 0600."""
    try:
        private = serialization.load_pem_private_key(read_private(path), password=None)
    except ValueError:
        raise ConfigError(f"keys: {path} is not an unencrypted PEM private key") from None
    if not isinstance(private, ec.EllipticCurvePrivateKey) or private.curve.name != "secp256r1":
        raise ConfigError(f"keys: {path} is not a P-256 key")
    return SigningKey(kid=thumbprint(public_jwk(private.public_key())), private=private)


def _coordinate(jwk: dict[str, Any], name: str) -> int:
    try:
        raw = from_b64url(jwk[name])
    except (KeyError, ValueError):
        raise ValueError(f"{name} must be base64url without padding") from None
    if len(raw) != _SIZE:
        raise ValueError(f"{name} must be {_SIZE} bytes")
    return int.from_bytes(raw, "big")
