"""Starting workers, killing them, looking at what they left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gateway.record import read

REPOSITORY = Path(__file__).parents[3]
TIMEOUT = 60


def command(root: Path, mode: str) -> list[str]:
    return [sys.executable, "-m", "tests.gateway.record.worker", str(root), mode]


def start(root: Path, mode: str, *before: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, *command(root, mode)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(root: Path, mode: str, *before: str) -> tuple[int, list[str]]:
    """Run a worker to its end; return its status and what it said."""
    process = start(root, mode, *before)
    out, error = process.communicate(timeout=TIMEOUT)
    assert "Traceback" not in error, error
    return process.returncode, out.splitlines()


def kill(process: subprocess.Popen[str]) -> list[str]:
    """Kill a worker this moment; return the whole lines it said."""
    with process:
        process.kill()
        assert process.stdout is not None
        out = process.stdout.read()
    return [line for line in out.splitlines(keepends=True) if line.endswith("\n")]


def records(root: Path) -> list[read.Record]:
    return list(read.records(root / "log"))


def kinds(root: Path) -> list[str]:
    return [record["kind"] for record in records(root)]
