"""What an access token says: user, acting agent, one audience, one scope, one call.

Source: RFC 9068 section 2.2, RFC 8693 section 4.1 (`act`), RFC 9396 section 9.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TYP = "at+jwt"
MAX_LIFE_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessClaims:
    """The claims, in the words of the wire."""

    iss: str
    aud: str
    sub: str
    agent: str
    client_id: str
    scope: str
    jti: str
    iat: int
    exp: int
    gid: str
    authorization_details: list[dict[str, str]]

    def as_json(self) -> dict[str, Any]:
        """Write them as the token's payload and as introspection shows them."""
        return {
            "iss": self.iss,
            "aud": self.aud,
            "sub": self.sub,
            "act": {"sub": self.agent},
            "client_id": self.client_id,
            "scope": self.scope,
            "jti": self.jti,
            "iat": self.iat,
            "exp": self.exp,
            "gid": self.gid,
            "authorization_details": self.authorization_details,
        }
