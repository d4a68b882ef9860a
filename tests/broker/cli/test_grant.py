"""`grant`: seen without secrets, and ended while the server runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.broker.cli.support import Cli

if TYPE_CHECKING:
    import pytest

    from tests.support.broker_server import BrokerServer


def test_a_grant_is_seen_and_revoked_from_another_connection(
    broker: BrokerServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cli = Cli(broker.folder, capsys)
    answer = broker.handle("calendar.read mail.send")
    token = broker.exchange(answer["access_token"], "calendar.read").json()["access_token"]
    (listed,) = cli.json("grant", "list", "--user", "alice")
    assert listed == {
        "id": answer["grant_id"],
        "user": "alice",
        "agent": "demo-agent",
        "client": "gateway",
        "scopes": ["calendar.read", "mail.send"],
        "audiences": {"calendar-api": ["calendar.read"], "mail-api": ["mail.send"]},
        "purpose": "plan the week",
        "created_at": broker.clock(),
        "expires_at": answer["expires_at"],
        "status": "active",
        "epoch": 0,
    }
    assert cli.json("grant", "list", "--user", "bob") == []
    assert cli.json("grant", "show", listed["id"]) == listed
    assert "active" in cli.run("grant", "list")[1]
    assert "purpose: plan the week" in cli.run("grant", "show", listed["id"])[1]
    for _ in range(2):
        assert cli.json("grant", "revoke", listed["id"]) == {"grant": listed["id"]}
    assert cli.json("grant", "show", listed["id"])["status"] == "revoked"
    assert broker.introspect(token, "calendar-api") == {"active": False}


def test_an_unknown_grant_is_refused(cli: Cli) -> None:
    for verb in ("show", "revoke"):
        code, out, err = cli.run("grant", verb, "nothing")
        assert (code, out, err) == (1, "", "broker: grant nothing: no such grant\n")
