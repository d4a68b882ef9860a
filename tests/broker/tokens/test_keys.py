"""Keys: the RFC 7638 rule, strict JWKs, key files nobody else may read."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import ECKey

from broker.config import write_private
from broker.errors import ConfigError
from broker.tokens import keys

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE = ec.derive_private_key(20261130, ec.SECP256R1())
JWK: dict[str, Any] = keys.public_jwk(PRIVATE.public_key())


@given(st.binary(max_size=40))
def test_base64url_comes_back(raw: bytes) -> None:
    assert keys.from_b64url(keys.b64url(raw)) == raw


@pytest.mark.parametrize("text", ["A", "AA==", "AB", "A A", "+/+/", "AAA\n", "é"])
def test_other_base64_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        keys.from_b64url(text)


def test_the_thumbprint_is_that_of_another_library() -> None:
    assert keys.thumbprint(JWK) == ECKey.import_key(JWK).thumbprint()


def test_a_public_key_is_read_with_or_without_its_optional_members() -> None:
    kid = keys.thumbprint(JWK)
    for extra in ({}, {"kid": kid, "use": "sig", "alg": "ES256"}):
        key = keys.parse_jwk(json.dumps(JWK | extra))
        assert key.kid == kid
        assert keys.public_jwk(key.public) == JWK


@pytest.mark.parametrize(
    "change",
    [
        {"d": "AA"},
        {"kty": "oct"},
        {"kty": "RSA"},
        {"crv": "P-384"},
        {"alg": "ES384"},
        {"use": "enc"},
        {"kid": "mine"},
        {"x5c": "MII"},
        {"x": 1},
        {"x": JWK["x"] + "="},
        {"x": JWK["x"][:-4]},
        {"y": JWK["x"]},
        {"x": keys.b64url(b"\0" * 32), "y": keys.b64url(b"\0" * 32)},
    ],
    ids=str,
)
def test_other_keys_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        keys.parse_jwk(json.dumps(JWK | change))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kty":"EC"}', "x" * 2000])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        keys.parse_jwk(text)


def test_the_signing_key_is_read_from_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "signing.pem"
    write_private(path, keys.new_signing_key())
    key = keys.load_signing_key(path)
    assert key.public_jwk()["kid"] == key.kid
    assert "private" not in repr(key)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        keys.load_signing_key(path)


def test_other_signing_keys_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="broker init"):
        keys.load_signing_key(tmp_path / "absent.pem")
    other = ec.generate_private_key(ec.SECP384R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    for number, (content, reason) in enumerate(((b"junk", "not an"), (other, "P-256"))):
        path = tmp_path / str(number)
        write_private(path, content)
        with pytest.raises(ConfigError, match=reason):
            keys.load_signing_key(path)


def test_the_thumbprint_hashes_the_required_members_in_order() -> None:
    text = f'{{"crv":"P-256","kty":"EC","x":"{JWK["x"]}","y":"{JWK["y"]}"}}'
    assert keys.thumbprint(JWK) == keys.b64url(hashlib.sha256(text.encode()).digest())
