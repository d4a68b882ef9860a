"""`init` writes what is missing, privately, and never overwrites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.config import load
from tests.broker.cli.support import Cli

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_it_makes_everything_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli = Cli(tmp_path, capsys)
    first = cli.json("init", "--port", "8200", "--base-url", "mail-api=http://127.0.0.1:9102")
    assert len(first) == 4
    assert all(first.values())
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(files) == 4
    for path in files:
        assert path.stat().st_mode & 0o777 == 0o600
    config = load(tmp_path / "broker.toml")
    assert config.issuer == "http://127.0.0.1:8200"
    assert config.catalogue["mail-api"].base_url == "http://127.0.0.1:9102"
    assert not any(cli.json("init", "--port", "8300").values())
    assert {path: path.read_bytes() for path in files} == files


def test_a_wrong_audience_or_address_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli = Cli(tmp_path, capsys)
    code, _, err = cli.run("init", "--base-url", "other-api=http://127.0.0.1:1")
    assert code == 1
    assert "other-api" in err
    code, _, err = cli.run("init", "--base-url", "mail-api=http://mail.example")
    assert code == 1
    assert "base_url" in err
