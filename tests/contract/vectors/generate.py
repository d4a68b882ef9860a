"""Makes the shared vectors of the wire: `python -m tests.contract.vectors.generate`.

Keys are fixed, times are fixed and ECDSA is deterministic (RFC 6979), so the same files come out
each time; a test compares. Gateway and resource servers are tested against these files, and the
broker accepts them, so the two sides meet without sharing code. The keys are for tests only.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

FOLDER = Path(__file__).parent
NOW = 1_800_000_000
ISSUER = "http://127.0.0.1:8100"
BASE_URL = "http://127.0.0.1:8101"
HANDLE = "h" * 43
CODE, VERIFIER = "c" * 43, "v" * 64
GRANT_END = NOW + 86_400
ID = "07" * 16
_ORDER = int("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", 16)
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def b64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def private_key(name: str) -> ec.EllipticCurvePrivateKey:
    scalar = int.from_bytes(hashlib.sha256(f"counterfoil vector {name}".encode()).digest(), "big")
    return ec.derive_private_key(scalar % (_ORDER - 1) + 1, ec.SECP256R1())


def jwk(name: str) -> dict[str, str]:
    numbers = private_key(name).private_numbers()
    x, y = numbers.public_numbers.x, numbers.public_numbers.y
    public = {"crv": "P-256", "kty": "EC", "x": b64url(_bytes(x)), "y": b64url(_bytes(y))}
    kid = b64url(hashlib.sha256(_compact(public)).digest())
    return public | {"kid": kid, "d": b64url(_bytes(numbers.private_value))}


def token(name: str, claims: dict[str, Any], *, typ: str) -> dict[str, Any]:
    """One signed token with its parts, as a vector."""
    header = {"alg": "ES256", "typ": typ, "kid": jwk(name)["kid"]}
    signed = f"{b64url(_compact(header))}.{b64url(_compact(claims))}"
    algorithm = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
    r, s = decode_dss_signature(private_key(name).sign(signed.encode(), algorithm))
    compact = f"{signed}.{b64url(_bytes(r) + _bytes(s))}"
    return {"header": header, "claims": claims, "token": compact}


def assertion(client: str, jti: str) -> dict[str, Any]:
    claims = {"iss": client, "sub": client, "aud": ISSUER, "jti": jti, "iat": NOW, "exp": NOW + 60}
    return token(client, claims, typ="client-authentication+jwt")


def details() -> list[dict[str, str]]:
    return [
        {
            "type": "counterfoil_call",
            "decision_id": "01970000-0000-7000-8000-000000000001",
            "action_digest": "sha256:" + hashlib.sha256(b"action").hexdigest(),
            "operation": "events.read",
            "method": "GET",
            "uri": f"{BASE_URL}/v1/events?day=2026-11-30",
            "content_sha256": hashlib.sha256(b"").hexdigest(),
        }
    ]


def vectors() -> dict[str, Any]:
    """Every file's name and content."""
    actor_claims = {"iss": "gateway", "sub": "demo-agent", "aud": ISSUER, "session": "session-1"}
    actor_claims |= {"jti": "actor-1", "iat": NOW, "exp": NOW + 60}  # type: ignore[dict-item]
    actor = token("gateway", actor_claims, typ="counterfoil-actor+jwt")
    access_claims = {
        "iss": ISSUER,
        "aud": "calendar-api",
        "sub": "alice",
        "act": {"sub": "demo-agent"},
        "client_id": "gateway",
        "scope": "calendar.read",
        "jti": ID,
        "iat": NOW,
        "exp": NOW + 300,
        "gid": ID,
        "authorization_details": details(),
    }
    access = token("broker", access_claims, typ="at+jwt")
    return {
        "keys": {
            "about": "Keys for tests only; d is the private part.",
            "gateway": jwk("gateway"),
            "calendar-api": jwk("calendar-api"),
            "broker": jwk("broker"),
        },
        "client_assertion": {"now": NOW, "issuer": ISSUER, **assertion("gateway", "client-1")},
        "actor_token": {"now": NOW, "issuer": ISSUER, **actor},
        "authorization_details": {"valid": details(), "invalid": _invalid_details()},
        "redemption": {
            "now": NOW,
            "request": {
                "grant_type": "authorization_code",
                "code": CODE,
                "redirect_uri": "http://127.0.0.1/callback",
                "code_verifier": VERIFIER,
                "client_assertion_type": _ASSERTION,
                "client_assertion": assertion("gateway", "client-2")["token"],
            },
            "challenge": b64url(hashlib.sha256(VERIFIER.encode()).digest()),
            "answer": {
                "access_token": b64url(b"\x07" * 32),
                "issued_token_type": "urn:counterfoil:token-type:grant-handle",
                "token_type": "N_A",
                "grant_id": ID,
                "user": "alice",
                "agent": "demo-agent",
                "scope": "calendar.read",
                "audiences": {"calendar-api": ["calendar.read"]},
                "expires_at": GRANT_END,
            },
        },
        "exchange": {
            "now": NOW,
            "about": "A broker signs with fresh randomness: compare the token by its parts.",
            "request": {
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "subject_token": HANDLE,
                "subject_token_type": "urn:counterfoil:token-type:grant-handle",
                "actor_token": actor["token"],
                "actor_token_type": "urn:ietf:params:oauth:token-type:jwt",
                "audience": "calendar-api",
                "scope": "calendar.read",
                "authorization_details": json.dumps(details(), separators=(",", ":")),
                "client_assertion_type": _ASSERTION,
                "client_assertion": assertion("gateway", "client-3")["token"],
            },
            "answer": {
                "access_token": access["token"],
                "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "token_type": "Bearer",
                "expires_in": 300,
                "scope": "calendar.read",
                "authorization_details": details(),
            },
            "access_token": access,
        },
        "introspection": {
            "now": NOW,
            "request": {
                "token": access["token"],
                "client_assertion_type": _ASSERTION,
                "client_assertion": assertion("calendar-api", "client-4")["token"],
            },
            "answer": {"active": True, "token_type": "Bearer", **access_claims},
            "inactive": {"active": False},
        },
    }


def rendered() -> dict[str, str]:
    """Every file's name and text."""
    return {f"{name}.json": json.dumps(v, indent=2) + "\n" for name, v in vectors().items()}


def _invalid_details() -> list[dict[str, Any]]:
    call = details()[0]
    lacking = {name: value for name, value in call.items() if name != "action_digest"}
    return [
        {"why": "not an array", "value": call},
        {"why": "two calls", "value": [call, call]},
        {"why": "no call", "value": []},
        {"why": "unknown member", "value": [call | {"note": "x"}]},
        {"why": "missing member", "value": [lacking]},
        {"why": "other type", "value": [call | {"type": "other"}]},
        {"why": "unknown operation", "value": [call | {"operation": "events.drop"}]},
        {"why": "other method", "value": [call | {"method": "POST"}]},
        {"why": "lower-case method", "value": [call | {"method": "get"}]},
        {"why": "fragment", "value": [call | {"uri": call["uri"] + "#x"}]},
        {"why": "user in the URI", "value": [call | {"uri": "http://a@127.0.0.1:8101/v1/events"}]},
        {"why": "other port", "value": [call | {"uri": "http://127.0.0.1:81011/v1/events"}]},
        {"why": "other path", "value": [call | {"uri": f"{BASE_URL}/v1/messages"}]},
        {"why": "dot segment", "value": [call | {"uri": f"{BASE_URL}/v1/../v1/events"}]},
        {"why": "digest without its prefix", "value": [call | {"action_digest": "a" * 64}]},
        {"why": "content digest too short", "value": [call | {"content_sha256": "a" * 63}]},
    ]


def _bytes(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


if __name__ == "__main__":
    for file_name, text in rendered().items():
        (FOLDER / file_name).write_text(text)
