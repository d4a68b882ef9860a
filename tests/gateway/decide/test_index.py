"""The index finds every rule that could match, and few others."""

from __future__ import annotations

import pytest

from gateway.decide.glob import parse_path
from gateway.decide.index import glob_key
from gateway.model.resource import Resource
from tests.gateway.decide import build
from tests.gateway.decide.build import ROOT, api, command, file, mcp, rule, url


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        ("${workspace}/**", ("directory", "/ws")),
        ("${workspace}/src/**", ("directory", "/ws/src")),
        ("${workspace}/Src/*.py", ("directory", "/ws/src")),
        ("${workspace}/src/a.py", ("directory", "/ws/src/a.py")),
        ("${workspace}/**/Makefile", ("name", "makefile")),
        ("${workspace}/*/a", ("name", "a")),
        ("${workspace}/*a", ("directory", "/ws")),
        ("**/.env", ("name", ".env")),
        ("**/.env.*", None),
        ("**", None),
        ("/*/x*", None),
        ("/etc", ("directory", "/etc")),
    ],
)
def test_the_key_of_a_glob(pattern: str, key: tuple[str, str] | None) -> None:
    assert glob_key(parse_path(pattern, {"workspace": ROOT}), frozenset({ROOT})) == key


@pytest.mark.parametrize(
    ("template", "resource"),
    [
        (("fs.read", "resources", "${{workspace}}/d{}/**"), file(f"{ROOT}/d7/a")),
        (("fs.read", "resources", "**/name{}"), file(f"{ROOT}/x/NAME7")),
        (("shell.run", "programs", "p{}"), command("p7", "x")),
        (("net.request", "hosts", "h{}.example"), url("h7.example")),
        (("mcp.call", "servers", "s{}"), mcp(server="s7")),
    ],
)
def test_one_of_many_rules_is_looked_at(template: tuple[str, str, str], resource: Resource) -> None:
    operation, key, text = template
    rules = [rule(f"r{n}", "deny", operation, **{key: [text.format(n)]}) for n in range(30)]
    policy = build.policy(*rules)
    found = policy.denies.find(resource, every_name=True)
    assert [policy.rules[position].id for position in found] == ["r7"]


def test_api_operations_and_exact_commands_and_tools_are_filed_too() -> None:
    rules = [
        rule(
            "api",
            "allow",
            "api.call",
            api={"audience": "calendar-api", "operations": ["events.read"]},
        ),
        rule(
            "api2", "allow", "api.call", api={"audience": "calendar-api", "operations": ["other"]}
        ),
        rule("argv", "allow", "shell.run", commands=[["make", "test"]]),
        rule("argv2", "allow", "shell.run", commands=[["make", "all"]]),
        rule("tool", "allow", "mcp.call", servers=["files"], tools=["read"]),
        rule("tool2", "allow", "mcp.call", servers=["files"], tools=["other"]),
        rule("wild", "allow", "mcp.call", servers=["f*"]),
    ]
    policy = build.policy(*rules)

    def ids(resource: Resource) -> list[str]:
        return [policy.rules[n].id for n in policy.grants.find(resource, every_name=False)]

    assert ids(api()) == ["api"]
    assert ids(command("make", "test")) == ["argv"]
    assert ids(mcp()) == ["tool", "wild"]


def test_a_deny_is_found_under_every_name_of_an_object() -> None:
    policy = build.policy(rule("no", "deny", "fs.read", resources=["/secret/**"]))
    resource = file(f"{ROOT}/a", also=("/Secret/b",))
    assert list(policy.denies.find(resource, every_name=True)) == [0]
    assert list(policy.denies.find(resource, every_name=False)) == []
