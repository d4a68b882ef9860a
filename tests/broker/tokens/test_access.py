"""An access token says exactly what the wire says."""

from __future__ import annotations

from broker.tokens.access import AccessClaims


def test_the_claims_are_the_wires() -> None:
    claims = AccessClaims(
        iss="i",
        aud="a",
        sub="u",
        agent="g",
        client_id="c",
        scope="s",
        jti="j",
        iat=1,
        exp=2,
        gid="d",
        authorization_details=[{"type": "t"}],
    )
    assert claims.as_json() == {
        "iss": "i",
        "aud": "a",
        "sub": "u",
        "act": {"sub": "g"},
        "client_id": "c",
        "scope": "s",
        "jti": "j",
        "iat": 1,
        "exp": 2,
        "gid": "d",
        "authorization_details": [{"type": "t"}],
    }
