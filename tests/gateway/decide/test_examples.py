"""Examples of a policy: decided by their rule, or not; told with file and line."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.decide.examples import check_examples
from tests.gateway.decide import build
from tests.gateway.decide.build import rule


def check(
    entry: dict[str, Any], key: str, *examples: tuple[str, dict[str, Any]], **more: Any
) -> list[str]:
    listed = [{"tool": tool, "params": params} for tool, params in examples]
    policy = build.policy({**entry, "examples": {key: listed}}, protected=["**/.env"], **more)
    return [str(error) for error in check_examples(policy)]


READ = rule("read", "allow", "fs.read", "fs.list", resources=["${workspace}/**"])
HOLDS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    (READ, "fs.read", {"path": "src/a.py"}),
    (READ, "fs.read", {"path": "../../ws/a"}),
    (READ, "fs.read", {"path": "a", "cwd": "sub"}),
    (READ, "fs.list", {"path": "."}),
    (rule("r", "allow", "shell.run", programs=["cat"]), "shell.run", {"argv": ["cat", "a"]}),
    (rule("r", "allow", "shell.run", commands=[["make", "test"]]), "shell.run", {"command_line": "make test"}),
    (rule("r", "allow", "git.read"), "shell.run", {"argv": ["git", "log"]}),
    (rule("r", "allow", "git.remote"), "shell.run", {"argv": ["git", "push"]}),
    (rule("r", "allow", "git.write"), "shell.run", {"argv": ["git", "commit"]}),
    (rule("r", "allow", "net.request", hosts=["a.example"], ports=[443]), "net.request", {"url": "https://a.example/x"}),
    (rule("r", "allow", "net.request", methods=["POST"]), "net.request", {"url": "http://a", "method": "post"}),
    (
        rule("r", "allow", "api.call", api={"audience": "c", "operations": ["o"], "scope": "s"}),
        "api.call", {"audience": "c", "operation": "o", "arguments": {}},
    ),
    (rule("r", "allow", "mcp.call", tools=["t"]), "mcp.call", {"server": "s", "tool": "t"}),
    (rule("r", "allow", "mcp.resource"), "mcp.resource", {"server": "s", "uri": "u:x"}),
    (rule("r", "allow", "mcp.prompt"), "mcp.prompt", {"server": "s", "name": "p"}),
    (
        rule("r", "allow", "memory.write", memory={"scope": "project"}),
        "memory.write", {"scope": "session", "sensitivity": "low", "content": "x"},
    ),
    (rule("r", "allow", "fs.read", identities=["carol"]), "fs.read", {"path": "a"}),
    (rule("r", "deny", "fs.read", taint_any=["exposed"]), "fs.read", {"path": "a"}),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "tool", "params"), HOLDS)
def test_an_example_that_holds(entry: dict[str, Any], tool: str, params: dict[str, Any]) -> None:
    assert check(entry, "match", (tool, params)) == []
    (fault,) = check(entry, "not_match", (tool, params))
    assert "examples.not_match[0]: must not be decided by" in fault


def test_an_example_that_does_not_hold_is_told_with_its_line() -> None:
    faults = check(READ, "match", ("fs.read", {"path": "a"}), ("fs.read", {"path": ".env"}))
    assert len(faults) == 1
    assert faults[0].startswith("policy.yaml:")
    assert "rules[0].examples.match[1]: must be decided by read" in faults[0]
    assert "deny by builtin:protected" in faults[0]
    assert check(READ, "not_match", ("fs.read", {"path": "../etc"})) == []


@pytest.mark.parametrize(
    ("tool", "params", "word"),
    [
        ("fs.raed", {"path": "a"}, "no such tool"),
        ("fs.read", {}, "needs the string `path`"),
        ("fs.read", {"path": 1}, "needs the string `path`"),
        ("fs.read", {"path": "a", "cwd": 1}, "`cwd` is a string"),
        ("shell.run", {"command_line": "a | b"}, "plain words"),
        ("shell.run", {"argv": []}, "list of strings"),
        ("shell.run", {"argv": ["a", 1]}, "list of strings"),
        ("net.request", {"url": "nonsense"}, "does not parse"),
        ("net.request", {"url": "ftp://a"}, "http or https"),
        ("mcp.call", {"server": "s", "tool": "t", "arguments": 1}, "is a mapping"),
    ],
)
def test_an_example_that_is_no_request_is_a_fault(
    tool: str, params: dict[str, Any], word: str
) -> None:
    for key in ("match", "not_match"):
        (fault,) = check(READ, key, (tool, params))
        assert word in fault


def test_a_root_at_the_start_of_a_text_is_filled_in_at_any_depth() -> None:
    examples = {
        "match": [
            {
                "tool": "mcp.call",
                "params": {"server": "s", "tool": "t", "arguments": {"p": ["${workspace}/a"]}},
            }
        ]
    }
    under = {"p": {"under": ["${workspace}"]}}
    made = build.policy(rule("r", "allow", "mcp.call", arguments=under, examples=examples))
    assert check_examples(made) == []
