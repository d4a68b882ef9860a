"""Import contracts, locks, and words that must not stand in the tree."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from tests.repo.tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAME = re.compile(r"^([A-Za-z0-9._-]+)")
TEXTS = {".py", ".md", ".toml", ".yaml", ".yml", ".in", ".lock", ".json", ".html", ".css", ""}


def _names(lines: list[str]) -> set[str]:
    return {
        re.sub(r"[._-]+", "-", match[1]).lower()
        for line in lines
        if not line.startswith(("#", "-", " ")) and (match := NAME.match(line))
    }


def _read(name: str) -> list[str]:
    return (ROOT / name).read_text(encoding="utf-8").splitlines()


def test_import_contracts_hold():
    words = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout


def test_runtime_lock_is_of_the_projects_dependencies():
    asked = _names(PROJECT["project"]["dependencies"])
    tools = {"editables", "hatchling"}
    assert _names(_read("locks/runtime.in")) == asked | tools
    assert asked <= _names(_read("locks/runtime.lock"))


def test_locks_are_pinned_by_hash_and_name_no_address():
    for lock in ("runtime", "development"):
        lines = _read(f"locks/{lock}.lock")
        pins = [line for line in lines if NAME.match(line)]
        assert all("==" in line for line in pins)
        assert sum("--hash=sha256:" in line for line in lines) >= len(pins)
        assert not [line for line in lines if "://" in line or "index" in line.split("==")[0]]


def test_the_runtime_lock_is_part_of_the_development_lock():
    pins = {line.split(" ")[0] for line in _read("locks/runtime.lock") if NAME.match(line)}
    assert pins <= {
        line.split(" ")[0] for line in _read("locks/development.lock") if NAME.match(line)
    }


def test_the_licence_and_the_version_agree():
    from gateway import __version__

    assert PROJECT["project"]["version"] == __version__
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")[:400]
