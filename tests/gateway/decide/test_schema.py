"""The shape of a policy: what each key accepts and refuses."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.decide.schema import APPLIES, Rule
from gateway.errors import PolicyError
from gateway.model.names import Operation
from tests.gateway.decide import build
from tests.gateway.decide.build import rule

FULL: list[dict[str, Any]] = [
    rule("files", "allow", "fs.read", resources=["${workspace}/**"], hardlinks="allow", identities=["a"]),
    rule("tests", "ask", "shell.run", commands=[["pytest", "-q"]], sandbox={"min_tier": "A"}),
    rule("docs", "allow", "net.request", hosts=["a.example"], methods=["GET"], ports=[443], paths=["/x"]),
    rule("calendar", "allow", "api.call", api={"audience": "c", "operations": ["r"], "scope": "s"}),
    rule(
        "server", "allow", "mcp.call", servers=["f"], tools=["read_*"], taint="none",
        arguments={"p": {"under": ["${workspace}"], "max_length": 9}, "n": {"min": 1, "max": 2.5}},
    ),
    rule("keep", "allow", "memory.write", memory={"scope": "project", "max_bytes": 10}),
    rule("never", "deny", "unknown", taint_any=["exposed"], justification="why"),
]  # fmt: skip


def test_every_condition_is_accepted_where_it_belongs() -> None:
    policy = build.policy(
        *FULL,
        labels={"mail.search": {"[].email": "directory", "*": "untrusted"}},
        authority={"mail.send": {"class": "egress", "who": ["to"], "content": ["body"]}},
        limits={"approval_timeout_s": 5},
    )
    assert [one.id for one in policy.rules] == [entry["id"] for entry in FULL]
    assert policy.limits.approval_timeout_s == 5


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"version": 2}, "`version: 1`"),
        ({"version": True}, "`version: 1`"),
        ({"default": "allow"}, "never allows by default"),
        ({"default": "maybe"}, "default"),
        ({"protect": []}, "protect: unknown key"),
        ({"roots": {}}, "roots: name at least one"),
        ({"roots": {"Work Space": "."}}, "roots"),
        ({"rules": []}, "rules: empty"),
        ({"rules": None}, "rules"),
        ({"groups": {"g": []}}, "groups.g: empty"),
        ({"limits": {"read_bytes": 0}}, "limits.read_bytes"),
        ({"limits": {"read_bytes": "1"}}, "limits.read_bytes"),
        ({"authority": {"x": {"class": "magic"}}}, "authority.x.class"),
        ({"labels": {"x": "y"}}, "labels.x: write a mapping"),
    ],
)
def test_a_file_of_another_shape_is_refused(more: dict[str, Any], word: str) -> None:
    with pytest.raises(PolicyError) as caught:
        build.compiled(build.text_of(**{"rules": [rule("a", "deny", "unknown")], **more}))
    assert word in str(caught.value)
    assert caught.value.line is not None


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"effect": "permit"}, "effect"),
        ({"operations": []}, "operations: empty"),
        ({"operations": ["fs.red"]}, "no such operation (known: fs.read"),
        ({"operations": "fs.read"}, "write a list"),
        ({"id": "builtin:x"}, "id"),
        ({"id": "default"}, "reserved"),
        ({"id": ""}, "id"),
        ({"resources": []}, "resources: empty"),
        ({"resource": ["**"]}, "resource: unknown key"),
        ({"when": ""}, "at least 1 character"),
        ({"when": "x" * 1025}, "at most 1024 characters"),
        ({"limits": {}}, "it says nothing"),
        ({"limits": {"rate": {"count": 1001, "seconds": 1}}}, "less than or equal to 1000"),
        ({"redact": []}, "at least one entry"),
        ({"taint": "some"}, "taint"),
        ({"taint_any": ["labels"]}, "taint_any"),
        ({"taint_any": ["exposed"]}, "no taint allows anything"),
        ({"effect": "ask", "taint": "none", "taint_any": ["exposed"]}, "contradicts"),
        ({"hardlinks": "deny"}, "hardlinks"),
        ({"operations": ["fs.read", "shell.run"], "resources": ["**"]}, "its own rule"),
        ({"operations": ["unknown"]}, "deny rules only"),
        ({"hosts": ["a"]}, "cannot judge fs.read"),
        ({"effect": "deny", "taint": "none"}, "means nothing on a deny"),
        ({"effect": "deny", "hardlinks": "allow"}, "means nothing on a deny"),
        ({"effect": "deny", "limits": {"count": 1}}, "means nothing on a deny"),
        ({"effect": "deny", "when": "true"}, "means nothing on a deny"),
        ({"effect": "deny", "redact": ["secrets"]}, "means nothing on a deny"),
        ({"effect": "deny", "approval": "low"}, "means nothing on a deny"),
        ({"approval": "high"}, "an allow asks nobody"),
        ({"audit": "none"}, "audit"),
        ({"schemes": ["https"]}, "cannot judge fs.read"),
        ({"uris": ["x"]}, "cannot judge fs.read"),
        ({"examples": {"matches": []}}, "unknown key"),
        ({"operations": ["mcp.call"], "arguments": {}}, "arguments: empty"),
        ({"operations": ["mcp.call"], "arguments": {"p": {}}}, "says nothing"),
        ({"operations": ["mcp.call"], "arguments": {"p": {"optional": True}}}, "says nothing"),
        ({"operations": ["mcp.call"], "arguments": {"p": {"in": [[1]]}}}, "arguments.p.in"),
        ({"operations": ["mcp.call"], "arguments": {"p": {"matches": "x"}}}, "unknown key"),
        ({"operations": ["mcp.resource"], "tools": ["x"]}, "cannot judge mcp.resource"),
        ({"operations": ["net.request"], "ports": [0]}, "ports"),
        ({"operations": ["net.request"], "methods": ["get"]}, "methods"),
        ({"operations": ["net.request"], "paths": ["x"]}, "paths"),
        ({"operations": ["memory.write"], "memory": {}}, "says nothing"),
        ({"operations": ["shell.run"], "sandbox": {"min_tier": "Z"}}, "min_tier"),
        ({"operations": ["shell.run"], "commands": [[]]}, "commands[0]: empty"),
    ],
)
def test_a_rule_that_could_mislead_is_refused(more: dict[str, Any], word: str) -> None:
    with pytest.raises(PolicyError) as caught:
        build.policy({**rule("a", "allow", "fs.read"), **more})
    assert word in str(caught.value)
    assert caught.value.line is not None


def test_the_table_of_conditions_names_real_keys_and_operations() -> None:
    assert set(APPLIES) <= set(Rule.model_fields)
    assert all(operations <= set(Operation) for operations in APPLIES.values())
