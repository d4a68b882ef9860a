"""What is too broad, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.decide.analysis.broad import INTERPRETERS, broad
from gateway.decide.analysis.space import areas
from tests.gateway.decide.build import policy, rule


def words(one: dict[str, Any]) -> list[str]:
    compiled = policy(one)
    return [text for area in areas(compiled, {}) for text, _ in broad(area, compiled.roots)]


@pytest.mark.parametrize(
    ("one", "count"),
    [
        (rule("r", "allow", "fs.write", resources=["${workspace}/**"]), 1),
        (rule("r", "allow", "fs.write", "fs.delete"), 2),
        (rule("r", "allow", "fs.write", resources=["${workspace}/out/**"]), 0),
        (rule("r", "allow", "fs.write", resources=["${workspace}/**/*"]), 0),  # not the root itself
        (rule("r", "allow", "fs.read"), 0),
        (rule("r", "allow", "shell.run", commands=[["/usr/bin/node", "x.js"], ["date"]]), 1),
        (rule("r", "allow", "shell.run", programs=["cat"]), 0),
        (rule("r", "allow", "net.request", hosts=["*"], methods=["GET"]), 1),
        (rule("r", "allow", "net.request", hosts=["*.example.com"]), 0),
        (rule("r", "allow", "mcp.call", servers=["s"], tools=["*"]), 1),
        (rule("r", "allow", "mcp.call", tools=["read"]), 0),
        (rule("r", "allow", "mcp.resource", servers=["s"]), 1),
        (rule("r", "allow", "api.call"), 1),
        (rule("r", "allow", "memory.write"), 0),
    ],
)
def test_breadth(one: dict[str, Any], count: int) -> None:
    assert len(words(one)) == count


def test_interpreters_are_programs_by_plain_names() -> None:
    assert all(name == name.lower() and "/" not in name for name in INTERPRETERS)
