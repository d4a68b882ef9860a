"""`user`: passwords from standard input or a prompt, never shown."""

from __future__ import annotations

import getpass
import io
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.broker.cli.support import Cli

STDIN = "--password-stdin"


def test_users_are_added_listed_and_disabled(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a long password\n"))
    assert cli.json("user", "add", "alice", STDIN) == {"user": "alice"}
    assert cli.json("user", "list")[0]["enabled"] is True
    cli.json("user", "disable", "alice")
    assert cli.json("user", "list")[0]["enabled"] is False
    assert cli.run("user", "list")[1] == "alice  disabled\n"
    assert cli.run("user", "disable", "bob")[0] == 1


@pytest.mark.parametrize(
    ("name", "password", "told"),
    [
        ("Alice", "a long password", "name"),
        ("a b", "a long password", "name"),
        ("alice", "short", "password"),
        ("alice", "", "password"),
        ("alice", "p" * 1025, "password"),
    ],
)
def test_a_bad_name_or_password_is_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str, password: str, told: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
    code, _, err = cli.run("user", "add", name, STDIN)
    assert code == 1
    assert err.startswith(f"broker: {told}")
    assert cli.json("user", "list") == []


def test_a_name_is_taken_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for code in (0, 1):
        monkeypatch.setattr("sys.stdin", io.StringIO("a long password\n"))
        assert cli.run("user", "add", "alice", STDIN)[0] == code


def test_a_prompted_password_is_asked_twice(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["a long password", "another password", "a long password", "a long password"])
    monkeypatch.setattr(getpass, "getpass", lambda _: next(answers))
    code, _, err = cli.run("user", "add", "alice")
    assert (code, "differ" in err) == (1, True)
    assert cli.run("user", "add", "alice")[0] == 0
