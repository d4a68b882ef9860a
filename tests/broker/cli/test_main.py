"""The command line as a whole: help with an example everywhere, usage errors exit 1."""

from __future__ import annotations

import pytest

from broker.cli.main import parser
from broker.cli.options import Parser
from tests.broker.cli.support import Cli

COMMANDS = [
    (),
    ("init",),
    ("serve",),
    ("user",),
    ("user", "add"),
    ("user", "list"),
    ("user", "disable"),
    ("client",),
    ("client", "add"),
    ("client", "list"),
    ("client", "disable"),
    ("grant",),
    ("grant", "list"),
    ("grant", "show"),
    ("grant", "revoke"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_has_an_example_and_the_common_options(
    cli: Cli, command: tuple[str, ...]
) -> None:
    code, out, _ = cli.run(*command, "--help")
    assert code == 0
    for shown in ("example:\n  python -m broker", "--json", "--config"):
        assert shown in out


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("nothing",),
        ("user",),
        ("user", "add"),
        ("user", "list", "--surprise"),
        ("client", "add", "x", "--kind", "other", "--jwk", "f"),
        ("serve", "--listen", "a:1", "--fd", "3"),
        ("serve", "--fd", "x"),
    ],
    ids=" ".join,
)
def test_a_usage_error_exits_1(cli: Cli, argv: tuple[str, ...]) -> None:
    code, out, err = cli.run(*argv)
    assert (code, out) == (1, "")
    assert err.startswith("usage: python -m broker")


def test_there_is_no_password_argument(cli: Cli) -> None:
    assert cli.run("user", "add", "bob", "--password", "x")[0] == 1
    assert isinstance(parser(), Parser)


def test_a_missing_configuration_is_one_line_with_the_remedy(cli: Cli) -> None:
    (cli.folder / "broker.toml").unlink()
    code, out, err = cli.run("user", "list")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "python -m broker init" in err


def test_the_common_options_may_stand_before_or_after(cli: Cli) -> None:
    assert cli.run("--json", "user", "list")[:2] == (0, "[]\n")
    assert cli.run("user", "list", "--json")[:2] == (0, "[]\n")
    other = str(cli.folder / "other.toml")
    assert other in cli.run("user", "list", "--config", other)[2]
