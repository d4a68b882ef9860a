"""`client`: a public key and a place to return to, checked before it is stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from broker.tokens.keys import thumbprint
from tests.support.broker_server import Party

if TYPE_CHECKING:
    from tests.broker.cli.support import Cli

PARTY = Party("gateway")
GATEWAY = ("--kind", "gateway", "--redirect-uri", "http://127.0.0.1/callback")
RESOURCE = ("--kind", "resource", "--audience", "mail-api")


@pytest.fixture
def jwk(cli: Cli) -> str:
    path = cli.folder / "client.jwk"
    path.write_text(json.dumps(PARTY.jwk))
    return str(path)


def test_both_kinds_are_added_listed_and_disabled(cli: Cli, jwk: str) -> None:
    added = cli.json("client", "add", "gateway", "--jwk", jwk, *GATEWAY)
    assert added == {
        "id": "gateway",
        "kind": "gateway",
        "audience": None,
        "redirect_uris": ["http://127.0.0.1/callback"],
        "kid": thumbprint(PARTY.jwk),
        "enabled": True,
    }
    cli.json("client", "add", "mail-api", "--jwk", jwk, *RESOURCE)
    assert [client["id"] for client in cli.json("client", "list")] == ["gateway", "mail-api"]
    cli.json("client", "disable", "gateway")
    assert cli.run("client", "list")[1].startswith("gateway  gateway  disabled\n")
    assert cli.run("client", "disable", "nobody")[0] == 1
    code, _, err = cli.run("client", "add", "gateway", "--jwk", jwk, *GATEWAY)
    assert (code, "exists already" in err) == (1, True)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("Gateway", *GATEWAY), "id"),
        (("gateway", "--kind", "gateway"), "--redirect-uri"),
        (("gateway", *GATEWAY, "--audience", "mail-api"), "--audience"),
        (("gateway", *GATEWAY[:3], "http://evil.example/cb"), "loopback"),
        (("gateway", *GATEWAY[:3], "http://127.0.0.1/cb#x"), "--redirect-uri"),
        (("mail-api", "--kind", "resource"), "--audience"),
        (("mail-api", "--kind", "resource", "--audience", "other"), "catalogue"),
        (("other", *RESOURCE), "'mail-api'"),
        (("mail-api", *RESOURCE, *GATEWAY[2:]), "--redirect-uri"),
    ],
    ids=str,
)
def test_what_does_not_fit_its_kind_is_refused(
    cli: Cli, jwk: str, argv: tuple[str, ...], told: str
) -> None:
    code, _, err = cli.run("client", "add", *argv, "--jwk", jwk)
    assert code == 1
    assert told in err
    assert cli.json("client", "list") == []


@pytest.mark.parametrize("content", ["", "{}", json.dumps(PARTY.jwk | {"d": "AA"}), "\xff"])
def test_a_key_that_is_no_public_p256_key_is_refused(cli: Cli, content: str) -> None:
    path = cli.folder / "bad.jwk"
    path.write_bytes(content.encode("latin-1"))
    code, _, err = cli.run("client", "add", "gateway", "--jwk", str(path), *GATEWAY)
    assert (code, err.startswith("broker: --jwk")) == (1, True)
    missing = str(cli.folder / "absent.jwk")
    assert cli.run("client", "add", "gateway", "--jwk", missing, *GATEWAY)[0] == 1
