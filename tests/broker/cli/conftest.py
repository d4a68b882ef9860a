"""Fixtures of the command line's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.broker.cli.support import Cli

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in a folder where `init` was run."""
    cli = Cli(tmp_path, capsys)
    cli.json("init")
    return cli
