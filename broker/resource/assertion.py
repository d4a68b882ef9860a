"""The resource server proves to the broker who it is: a fresh signed assertion per question.

Source: RFC 7523 §3, docs/wire.md 'Every client authenticates by private_key_jwt'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.tokens import jwt
from broker.tokens.keys import load_signing_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIFE_S = 30

_TYP = "client-authentication+jwt"


def assertion_source(
    key_file: Path,
    *,
    client_id: str,
    issuer: str,
    clock: Callable[[], int],
    new_id: Callable[[], str],
) -> Callable[[], str]:
    """Return a maker of client assertions, signed with the P-256 key of this PEM file."""
    key = load_signing_key(key_file)

    def make() -> str:
        now = clock()
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": issuer,
            "jti": new_id(),
            "iat": now,
            "exp": now + LIFE_S,
        }
        return jwt.sign(claims, key=key, typ=_TYP)

    return make
