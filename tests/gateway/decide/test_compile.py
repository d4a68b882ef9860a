"""Compiling: roots, the digest over the effective policy."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.decide.compile import compile_policy
from gateway.decide.parse import no_includes, parse
from gateway.errors import PolicyError
from tests.gateway.decide import build
from tests.gateway.decide.build import rule

BASE = rule("a", "allow", "shell.run", programs=["@g"], justification="why")
GROUPS = {"g": ["cat", "ls"]}


def digest(*rules: dict[str, Any], **more: Any) -> str:
    return build.policy(*rules, **{"groups": GROUPS, **more}).digest


def test_the_digest_is_stable_and_versioned() -> None:
    assert digest(BASE) == digest(BASE)
    assert digest(BASE).startswith("policy-v1:sha256:")


def test_the_digest_is_over_what_counts() -> None:
    same = digest(rule("a", "allow", "shell.run", programs=["cat", "ls"], justification="why"))
    assert same == digest(BASE)
    examples = {"match": [{"tool": "shell.run", "params": {"argv": ["cat"]}}]}
    assert digest({**BASE, "examples": examples}) == digest(BASE)


@pytest.mark.parametrize(
    "changed",
    [
        {"groups": {"g": ["cat"]}},
        {"default": "ask"},
        {"protected": ["**/x"]},
        {"limits": {"read_bytes": 9}},
        {"labels": {"t": {"*": "untrusted"}}},
        {"authority": {"t": {"class": "egress"}}},
        {"roots": {"workspace": ".", "more": "."}},
    ],
)
def test_the_digest_changes_with_the_policy(changed: dict[str, Any]) -> None:
    assert digest(BASE, **changed) != digest(BASE)


def test_the_digest_changes_with_each_rule_and_their_order() -> None:
    other = rule("b", "deny", "fs.read", resources=["${home}/x"])
    assert len({digest(BASE), digest(BASE, other), digest(other, BASE)}) == 3


def test_the_digest_is_over_the_resolved_roots_and_variables() -> None:
    document = parse(
        "p",
        build.text_of([rule("a", "allow", "fs.read", resources=["${home}/**"])]),
        read_include=no_includes,
    )
    one = compile_policy(document, roots={"workspace": "/ws"}, variables={"home": "/h"})
    two = compile_policy(document, roots={"workspace": "/ws"}, variables={"home": "/h*"})
    three = compile_policy(document, roots={"workspace": "/ws2"}, variables={"home": "/h"})
    assert len({one.digest, two.digest, three.digest}) == 3


@pytest.mark.parametrize(
    ("roots", "variables", "word"),
    [
        ({}, {}, "not resolved"),
        ({"workspace": "relative"}, {}, "absolute"),
        ({"workspace": "/"}, {}, "absolute path below"),
        ({"workspace": "/ws"}, {"workspace": "/x"}, "a variable already"),
    ],
)
def test_roots_that_cannot_be_used_are_refused(
    roots: dict[str, str], variables: dict[str, str], word: str
) -> None:
    document = parse("p", build.text_of([rule("a", "deny", "unknown")]), read_include=no_includes)
    with pytest.raises(PolicyError) as caught:
        compile_policy(document, roots=roots, variables=variables)
    assert word in str(caught.value)
    assert caught.value.line is not None


def test_what_a_rule_denies_reading_is_unreadable_like_what_is_protected() -> None:
    policy = build.policy(
        rule("a", "allow", "fs.read", resources=["**/a"]),
        rule("b", "deny", "fs.read", "fs.write", resources=["**/b"], taint_any=["attempted"]),
        rule("c", "deny", "fs.write", resources=["**/c"]),
        protected=["**/p"],
    )
    assert [glob.effective for glob in policy.unreadable] == ["/**/p/**", "/**/b"]


def test_the_digest_is_over_where_a_command_may_run() -> None:
    plain = rule("a", "allow", "shell.run", commands=[["make"]])
    said = {**plain, "cwd": ["${workspace}"]}
    other = {**plain, "cwd": ["${workspace}/**"]}
    assert digest(plain) == digest(said)
    assert digest(plain) != digest(other)


def test_names_that_deny_are_those_of_every_deny_rule_and_the_protected() -> None:
    one = build.policy(
        rule("no", "deny", "fs.write", resources=["${workspace}/gen/**"]),
        rule("yes", "allow", "fs.read", resources=["${workspace}/ok"]),
        protected=["**/.env"],
    )
    names = ["/ws/GEN/x", "/ws/a/.env", "/ws/ok"]
    assert [one.denied.matches(name) for name in names] == [True, True, False]
