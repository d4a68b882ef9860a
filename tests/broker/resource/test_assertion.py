"""The assertion of a resource server, as the broker reads it and as another library does."""

from __future__ import annotations

import itertools
import json

import jwt as pyjwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from broker.errors import ConfigError
from broker.resource import assertion_source
from broker.tokens import jwt
from broker.tokens.keys import new_signing_key, parse_jwk
from tests.broker.resource.support import ISSUER, NOW
from tests.support.broker_server import Party
from tests.support.mock_world import write_key


def source(tmp_path, party, clock=lambda: NOW):
    numbers = itertools.count(1)
    return assertion_source(
        write_key(tmp_path / "key.pem", party),
        client_id=party.id,
        issuer=ISSUER,
        clock=clock,
        new_id=lambda: f"id-{next(numbers)}",
    )


def test_it_is_what_the_wire_demands_of_every_client(tmp_path):
    party = Party("calendar-api")
    make = source(tmp_path, party)
    tokens = [make(), make()]
    key = party.private.public_key()
    timeless = {"verify_iat": False, "verify_exp": False}
    claims = [
        pyjwt.decode(t, key, algorithms=["ES256"], audience=ISSUER, options=timeless)
        for t in tokens
    ]
    assert [one.pop("jti") for one in claims] == ["id-1", "id-2"]
    usual = {"iss": "calendar-api", "sub": "calendar-api", "aud": ISSUER}
    assert claims == [usual | {"iat": NOW, "exp": NOW + 30}] * 2
    public = parse_jwk(json.dumps(party.jwk))
    assert pyjwt.get_unverified_header(tokens[0]) == {
        "alg": "ES256",
        "typ": "client-authentication+jwt",
        "kid": public.kid,
    }
    expected = jwt.Expected(
        typ="client-authentication+jwt", issuer=party.id, audience=ISSUER, max_life_s=60
    )
    jwt.verify(jwt.parse(tokens[0]), key=public, expected=expected, now=NOW)


def test_each_is_of_its_moment(tmp_path):
    now = [NOW]
    make = source(tmp_path, Party("x"), clock=lambda: now[0])
    make()
    now[0] += 1000
    claims = pyjwt.decode(make(), options={"verify_signature": False})
    assert (claims["iat"], claims["exp"]) == (NOW + 1000, NOW + 1030)


@pytest.mark.parametrize("what", ["absent", "open", "other curve", "no key"])
def test_a_key_file_that_cannot_be_trusted_is_refused_at_once(tmp_path, what):
    path = tmp_path / "key.pem"
    if what == "open":
        path.write_bytes(new_signing_key())
        path.chmod(0o644)
    elif what == "other curve":
        write_key(path, Party("x", ec.generate_private_key(ec.SECP384R1())))
    elif what == "no key":
        path.touch(mode=0o600)
    with pytest.raises(ConfigError, match="key"):
        assertion_source(path, client_id="x", issuer=ISSUER, clock=lambda: NOW, new_id=lambda: "1")
