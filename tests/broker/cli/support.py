"""Running one command in this process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from broker.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class Cli:
    """The command line on one configuration."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def run(self, *argv: str) -> tuple[int, str, str]:
        """Exit code, stdout, stderr."""
        self._capsys.readouterr()
        try:
            code = main(["--config", str(self.folder / "broker.toml"), *argv])
        except SystemExit as stop:
            code = int(str(stop.code))
        out, err = self._capsys.readouterr()
        return code, out, err

    def json(self, *argv: str) -> Any:
        """The JSON a command that must succeed prints."""
        code, out, err = self.run(*argv, "--json")
        assert (code, err) == (0, ""), err
        return json.loads(out)
