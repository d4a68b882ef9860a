"""Explaining: every rule, in order, with its first failing condition."""

from __future__ import annotations

import json

from gateway.decide.explain import describe, explain
from gateway.model.resource import MemoryResource
from gateway.model.session import SessionState
from tests.gateway.decide.build import (
    ALICE,
    CLEAN,
    ROOT,
    act,
    api,
    command,
    decider,
    file,
    mcp,
    rule,
    url,
)  # fmt: skip


def test_every_rule_stands_with_its_first_failing_condition() -> None:
    judge = decider(
        rule("op", "deny", "fs.write"),
        rule("who", "allow", "fs.read", identities=["bob"], resources=["/nope"]),
        rule("where", "allow", "fs.read", resources=["/nope"]),
        rule("yes", "allow", "fs.read"),
        rule("late", "ask", "fs.read"),
    )
    explained = explain(judge, act(file(f"{ROOT}/a")), ALICE, CLEAN)
    (lines,) = explained.resources
    assert [(line.rule, line.outcome, line.condition) for line in lines.rules] == [
        ("op", "fails", "operations"),
        ("who", "fails", "identities"),
        ("where", "fails", "resources"),
        ("yes", "matches", None),
        ("late", "matches", None),
    ]
    assert (lines.decided_by, lines.effect, lines.reason) == ("yes", "allow", "rule_match")
    assert lines.rules[0].source == "policy.yaml"
    assert lines.rules[1].line > lines.rules[0].line
    assert {word for _, word in explained.before} == {"passed"}


def test_a_condition_that_denies_is_named() -> None:
    judge = decider(
        rule("r", "allow", "mcp.call", arguments={"p": {"type": "string"}}, taint="none")
    )
    (lines,) = explain(judge, act(mcp()), ALICE, CLEAN).resources
    assert (lines.rules[0].outcome, lines.rules[0].condition) == ("argument_missing", "arguments")


def test_what_stops_before_the_rules_is_named() -> None:
    judge = decider(rule("yes", "allow", "fs.read"), protected=["**/.env"])
    explained = explain(judge, act(file("/.env")), ALICE, SessionState(suspended=True))
    assert explained.before == (
        ("builtin:normalize", "passed"),
        ("builtin:unknown", "passed"),
        ("builtin:self-protection", "passed"),
        ("builtin:protected", "denies"),
        ("builtin:suspended", "not reached"),
        ("builtin:taint", "not reached"),
    )
    assert explained.decision.rule == "builtin:protected"
    assert explained.resources[0].rules[0].outcome == "matches"


def test_it_is_json() -> None:
    judge = decider(rule("yes", "allow", "fs.read"))
    said = explain(judge, act(file("/a")), ALICE, CLEAN).to_json()
    assert json.loads(json.dumps(said))["resources"][0]["rules"][0]["rule"] == "yes"


def test_a_resource_is_described_without_argument_values() -> None:
    assert describe(file("/a")) == "/a"
    assert describe(command("cat", "x")) == "cat x"
    assert describe(url("a")) == "GET https://a:443/"
    assert describe(api(secret="s")) == "calendar-api events.read"
    assert describe(mcp(secret="s")) == "files read"
    assert (
        describe(MemoryResource(scope="session", sensitivity="low", size=3))
        == "session memory, 3 bytes"
    )
