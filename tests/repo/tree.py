"""The checkout as the repository tests see it: files by folder, parsed once."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("gateway", "broker")
CODE = (*SHIPPED, "mock_apis", "scripts", "benchmarks")


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))
