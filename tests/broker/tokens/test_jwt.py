"""Every rule of the JWT module: one good token, and each way it can be bad."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

import jwt as pyjwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.errors import JwtError
from broker.tokens import jwt
from broker.tokens.keys import SigningKey, VerifyKey, b64url, public_jwk, thumbprint

NOW = 1_800_000_000
PRIVATE = ec.derive_private_key(20261130, ec.SECP256R1())
KID = thumbprint(public_jwk(PRIVATE.public_key()))
KEY = VerifyKey(kid=KID, public=PRIVATE.public_key())
EXPECTED = jwt.Expected(typ="x+jwt", issuer="me", audience="https://as", max_life_s=60)
HEADER: dict[str, Any] = {"alg": "ES256", "typ": "x+jwt", "kid": KID}
CLAIMS: dict[str, Any] = {
    "iss": "me",
    "sub": "me",
    "aud": "https://as",
    "jti": "1",
    "iat": NOW,
    "exp": NOW + 60,
}
_engine = pyjwt.PyJWS().get_algorithm_by_name("ES256")


def make(header: bytes | None = None, claims: bytes | None = None) -> str:
    """A token signed by the right key over exactly these bytes."""
    head = b64url(json.dumps(HEADER).encode() if header is None else header)
    signed = f"{head}.{b64url(json.dumps(CLAIMS).encode() if claims is None else claims)}"
    return f"{signed}.{b64url(_engine.sign(signed.encode(), PRIVATE))}"


def with_header(**changes: Any) -> str:
    return make(header=json.dumps(HEADER | changes).encode())


def with_claims(**changes: Any) -> str:
    return make(claims=json.dumps(CLAIMS | changes).encode())


def without(name: str) -> str:
    return make(claims=json.dumps({k: v for k, v in CLAIMS.items() if k != name}).encode())


def rule_broken_by(token: str, *, now: int = NOW) -> str:
    with pytest.raises(JwtError) as caught:
        jwt.verify(jwt.parse(token), key=KEY, expected=EXPECTED, now=now)
    return caught.value.rule


def test_a_good_token_yields_its_claims() -> None:
    assert jwt.verify(jwt.parse(make()), key=KEY, expected=EXPECTED, now=NOW) == CLAIMS


def test_what_sign_makes_verifies() -> None:
    token = jwt.sign(CLAIMS, key=SigningKey(kid=KID, private=PRIVATE), typ="x+jwt")
    assert jwt.parse(token).header == HEADER
    assert jwt.verify(jwt.parse(token), key=KEY, expected=EXPECTED, now=NOW) == CLAIMS


@pytest.mark.parametrize("alg", ["none", "None", "nOnE", "", "HS256", "ES384", "RS256", "es256", 1])
def test_the_algorithm_is_the_keys_never_the_headers(alg: object) -> None:
    assert rule_broken_by(with_header(alg=alg)) == "alg"


def test_an_unsigned_token_is_refused() -> None:
    header = b64url(json.dumps(HEADER | {"alg": "none"}).encode())
    claims = b64url(json.dumps(CLAIMS).encode())
    assert rule_broken_by(f"{header}.{claims}.") == "form"
    assert rule_broken_by(f"{header}.{claims}") == "form"


@pytest.mark.parametrize(("alg", "rule"), [("HS256", "alg"), ("ES256", "signature")])
def test_the_public_key_is_never_an_hmac_secret(alg: str, rule: str) -> None:
    pem = PRIVATE.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for secret in (pem, json.dumps(public_jwk(PRIVATE.public_key())).encode()):
        signed = with_header(alg=alg).rpartition(".")[0]
        mac = hmac.digest(secret, signed.encode(), "sha256")
        for signature in (mac, mac + mac):
            assert rule_broken_by(f"{signed}.{b64url(signature)}") == rule


def test_an_rsa_signature_is_refused() -> None:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    token = pyjwt.encode(CLAIMS, private, algorithm="RS256", headers=HEADER | {"alg": "RS256"})
    assert rule_broken_by(token) == "alg"


@pytest.mark.parametrize("signature", [b"\0" * 64, b"\0" * 63, b"\xff" * 64, b"\0", b"\1" * 65])
def test_degenerate_signatures_are_refused(signature: bytes) -> None:
    head, claims, _ = make().split(".")
    assert rule_broken_by(f"{head}.{claims}.{b64url(signature)}") == "signature"


def test_another_keys_signature_is_refused() -> None:
    signed = make().rpartition(".")[0]
    other = _engine.sign(signed.encode(), ec.generate_private_key(ec.SECP256R1()))
    assert rule_broken_by(f"{signed}.{b64url(other)}") == "signature"


@pytest.mark.parametrize(
    "kid", ["", "../../etc/passwd", "' OR 1=1 --", "k" * 2000, KID.upper(), KID + "\u0000", 7, None]
)
def test_the_key_id_is_matched_exactly(kid: object) -> None:
    assert rule_broken_by(with_header(kid=kid)) == "kid"


@pytest.mark.parametrize(
    "typ", ["JWT", "X+JWT", "application/x+jwt", "at+jwt", "dpop+jwt", "counterfoil-actor+jwt", ""]
)
def test_the_type_is_matched_exactly(typ: str) -> None:
    assert rule_broken_by(with_header(typ=typ)) == "typ"


@pytest.mark.parametrize(
    "member",
    [
        {"jku": "https://evil"},
        {"x5u": "https://evil"},
        {"x5c": ["MII"]},
        {"jwk": public_jwk(PRIVATE.public_key())},
        {"crit": ["exp"]},
        {"b64": False},
        {"zip": "DEF"},
        {"enc": "A256GCM"},
        {"cty": "JWT"},
    ],
    ids=lambda member: next(iter(member)),
)
def test_no_other_header_member_is_taken(member: dict[str, Any]) -> None:
    assert rule_broken_by(with_header(**member)) == "header"


@pytest.mark.parametrize("name", ["alg", "typ", "kid"])
def test_every_header_member_is_required(name: str) -> None:
    header = {key: value for key, value in HEADER.items() if key != name}
    assert rule_broken_by(make(header=json.dumps(header).encode())) == "header"


def test_repeated_members_are_refused() -> None:
    for part in ("header", "claims"):
        good = json.dumps(HEADER if part == "header" else CLAIMS)
        name = "alg" if part == "header" else "sub"
        twice = f'{{"{name}": "none", {good[1:]}'.encode()
        assert rule_broken_by(make(**{part: twice})) == "json"


@pytest.mark.parametrize("raw", [b"[]", b'"x"', b"1", b"null", b"", b"{", b"\xff\xfe", b"{}{}"])
def test_parts_that_are_not_one_object_are_refused(raw: bytes) -> None:
    wanted = "form" if raw == b"" else "json"
    assert rule_broken_by(make(header=raw)) == wanted
    assert rule_broken_by(make(claims=raw)) == wanted


def test_deep_json_is_refused() -> None:
    assert rule_broken_by(make(claims=b"[" * 2500 + b"]" * 2500)) == "json"


@pytest.mark.parametrize("name", ["iss", "aud"])
@pytest.mark.parametrize(
    "value", ["", "other", "https://as/", "https://as/token", ["https://as"], ["me"], None, 1]
)
def test_issuer_and_audience_are_one_string_matched_exactly(name: str, value: object) -> None:
    assert rule_broken_by(with_claims(**{name: value})) == name
    assert rule_broken_by(without(name)) == name


@pytest.mark.parametrize("jti", ["", "j" * 257, 1, None, ["1"]])
def test_the_token_id_is_a_short_text(jti: object) -> None:
    assert rule_broken_by(with_claims(jti=jti)) == "jti"


@pytest.mark.parametrize("name", ["iat", "exp", "nbf"])
@pytest.mark.parametrize("value", [True, str(NOW), None, [], {}])
def test_times_are_integers(name: str, value: object) -> None:
    assert rule_broken_by(with_claims(**{name: value})) == "time"


@pytest.mark.parametrize("name", ["iat", "exp"])
def test_times_are_required(name: str) -> None:
    assert rule_broken_by(without(name)) == "time"


@pytest.mark.parametrize("number", ["1e999", "NaN", "Infinity", "-Infinity", "1.8e9", "9" * 400])
def test_numbers_that_are_no_plain_integers_are_refused(number: str) -> None:
    text = json.dumps(CLAIMS).replace(str(NOW + 60), number)
    assert rule_broken_by(make(claims=text.encode())) == "json"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"exp": NOW + 61}, "life"),
        ({"exp": NOW}, "life"),
        ({"exp": -1}, "life"),
        ({"iat": NOW + 6, "exp": NOW + 60}, "early"),
        ({"nbf": NOW + 6}, "early"),
        ({"iat": NOW - 65, "exp": NOW - 5}, "expired"),
    ],
)
def test_the_clock_stands_between_issue_and_expiry(changes: dict[str, int], rule: str) -> None:
    assert rule_broken_by(with_claims(**changes)) == rule


def test_five_seconds_of_skew_pass_and_two_minutes_do_not() -> None:
    token = jwt.parse(make())
    for skew in (-5, 0, 64):
        assert jwt.verify(token, key=KEY, expected=EXPECTED, now=NOW + skew)
    assert rule_broken_by(make(), now=NOW - 120) == "early"
    assert rule_broken_by(make(), now=NOW + 120) == "expired"


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t + "=",
        lambda t: t + "\n",
        lambda t: " " + t,
        lambda t: t + "\0",
        lambda t: t + ".x",
        lambda t: t.replace(".", ".."),
        lambda t: "e30.e30.e30.e30.e30",
        lambda t: json.dumps({"payload": "e30", "signatures": []}),
        lambda t: t.replace("e", "é", 1),
        lambda t: "",
        lambda t: t[:-1] + ("B" if t[-1] == "A" else chr(ord(t[-1]) + 1)),
    ],
)
def test_anything_but_three_canonical_segments_is_refused(change: Any) -> None:
    assert rule_broken_by(change(make())) in {"form", "signature"}


def test_a_last_character_with_stray_bits_is_not_canonical() -> None:
    head, claims, signature = make().split(".")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    stray = alphabet[alphabet.index(signature[-1]) ^ 1]
    same = base64.urlsafe_b64decode(signature[:-1] + stray + "==")
    assert same == base64.urlsafe_b64decode(signature + "==")
    assert rule_broken_by(f"{head}.{claims}.{signature[:-1]}{stray}") == "form"


def test_size_is_capped_before_anything_is_decoded() -> None:
    assert rule_broken_by("a" * (jwt.MAX_BYTES + 1)) == "size"


def test_no_message_holds_the_token() -> None:
    token = with_claims(exp=NOW + 61)
    with pytest.raises(JwtError) as caught:
        jwt.verify(jwt.parse(token), key=KEY, expected=EXPECTED, now=NOW)
    assert token.split(".")[2] not in f"{caught.value!r} {jwt.parse(token)!r}"


@settings(max_examples=100, deadline=None)
@given(
    st.text(max_size=300)
    | st.from_regex(
        r"[A-Za-z0-9_-]{0,99}\.[A-Za-z0-9_-]{0,99}\.[A-Za-z0-9_-]{0,99}", fullmatch=True
    )
)
def test_nothing_made_up_verifies(token: str) -> None:
    with pytest.raises(JwtError):
        jwt.verify(jwt.parse(token), key=KEY, expected=EXPECTED, now=NOW)
