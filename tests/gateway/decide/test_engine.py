"""The promises of deciding, by name, and the order of the steps."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from gateway.decide.engine import Decide
from gateway.model.action import Refusal
from gateway.model.names import EGRESS_OPERATIONS, Effect, Operation, Taint
from gateway.model.resource import MemoryResource, PathResource, Resource
from gateway.model.session import SessionState
from tests.gateway.decide import build
from tests.gateway.decide.build import (
    ALICE,
    CLEAN,
    ROOT,
    TAINTED,
    act,
    api,
    command,
    decide,
    decider,
    file,
    mcp,
    rule,
    said,
    url,
)  # fmt: skip

READ = rule("read", "allow", "fs.read", "fs.list", "fs.write")


def test_deny_trumps_allow() -> None:
    allow, deny = rule("yes", "allow", "fs.read"), rule("no", "deny", "fs.read", resources=["**/x"])
    for rules in ([allow, deny], [deny, allow]):
        judge = decider(*rules)
        assert said(decide(judge, file("/x"))) == ("deny", "no", "rule_match")
        assert said(decide(judge, file("/y"))) == ("allow", "yes", "rule_match")


@pytest.mark.parametrize("default", ["deny", "ask"])
def test_no_match_is_the_default_and_the_default_is_never_allow(default: str) -> None:
    judge = decider(rule("r", "allow", "fs.list"), default=default)
    assert said(decide(judge, file("/a"))) == (default, "default", "default_decision")


def test_unknown_never_reaches_the_default() -> None:
    judge = decider(rule("r", "allow", "fs.list"), default="ask")
    unknown = command("x", operation="unknown")
    assert said(decide(judge, unknown)) == ("deny", "builtin:unknown", "unknown_operation")
    assert said(judge.decide(act(), ALICE, CLEAN)) == (
        "deny",
        "builtin:unknown",
        "unknown_operation",
    )


def test_a_deny_rule_may_name_unknown() -> None:
    judge = decider(rule("no", "deny", "unknown"))
    assert decide(judge, command("x", operation="unknown")).rule == "no"


def test_order_never_makes_a_deny_disappear() -> None:
    rules = [
        rule("a", "allow", "fs.read"),
        rule("b", "ask", "fs.read", resources=["**/x"]),
        rule("c", "deny", "fs.read", resources=["/d/**"]),
        rule("d", "deny", "fs.read", resources=["**/x"]),
    ]
    for ordered in itertools.permutations(rules):
        judge = decider(*ordered)
        assert decide(judge, file("/d/x")).effect is Effect.DENY
        assert decide(judge, file("/x")).effect is Effect.DENY


def test_the_first_matching_allow_or_ask_decides() -> None:
    ask, allow = rule("ask", "ask", "fs.read"), rule("allow", "allow", "fs.read")
    assert decide(decider(ask, allow), file("/a")).effect is Effect.ASK
    assert decide(decider(allow, ask), file("/a")).effect is Effect.ALLOW


@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
def test_an_erroring_rule_never_permits(effect: str) -> None:
    policy = build.policy(rule("bad", effect, "fs.read"), rule("yes", "allow", "fs.read"))

    def fail(*_: object) -> Any:
        raise ZeroDivisionError

    broken = replace(policy.rules[0], conditions=(*policy.rules[0].conditions, ("bad", fail)))
    judge = Decide(replace(policy, rules=(broken, *policy.rules[1:])))
    assert said(decide(judge, file("/a"))) == ("deny", "bad", "internal_error")


def test_the_strictest_resource_counts_and_the_first_of_them_is_told() -> None:
    judge = decider(
        rule("ask", "ask", "fs.read", resources=["**/ask"]),
        rule("no1", "deny", "fs.read", resources=["**/no1"]),
        rule("no2", "deny", "fs.read", resources=["**/no2"]),
        rule("yes", "allow", "fs.read"),
    )
    assert decide(judge, file("/a"), file("/ask")).rule == "ask"
    assert decide(judge, file("/ask"), file("/no2"), file("/a"), file("/no1")).rule == "no2"
    assert decide(judge, file("/a"), file("/b")).rule == "yes"


def test_a_refusal_denies_with_its_own_reason() -> None:
    refusal = Refusal(reason="path_percent", message="Write the plain path.")
    decision = decider(READ).decide(act(file("/x"), refusal=refusal), ALICE, CLEAN)
    assert said(decision) == ("deny", "builtin:normalize", "path_percent")
    assert decision.message == "Write the plain path."
    assert not decision.taint


@pytest.mark.parametrize("refused", [True, False])
def test_naming_a_protected_path_taints_whatever_else_is_decided(refused: bool) -> None:
    judge = decider(READ, protected=["**/.env", "${home}/.ssh/**"])
    refusal = Refusal(reason="path_outside_roots", message="no") if refused else None
    for path in (f"{ROOT}/.env", f"{ROOT}/.ENV/x", "/home/u/.ssh", "/home/u/.ssh/id", "/x/.env"):
        decision = judge.decide(act(file("/a"), file(path), refusal=refusal), ALICE, CLEAN)
        assert decision.effect is Effect.DENY
        assert decision.taint == {Taint.ATTEMPTED}
        assert decision.reason == ("path_outside_roots" if refused else "fs_protected")


def test_a_protected_path_is_known_by_its_other_names() -> None:
    judge = decider(READ, protected=["**/.env"])
    decision = decide(judge, file(f"{ROOT}/notes", also=(f"{ROOT}/.env",)))
    assert said(decision) == ("deny", "builtin:protected", "fs_protected")


def test_a_suspended_session_gets_nothing() -> None:
    decision = decide(decider(READ), file("/a"), state=SessionState(suspended=True))
    assert said(decision) == ("deny", "builtin:suspended", "session_suspended")


EGRESS: list[Resource] = [
    api(),
    url("a.example"),
    mcp(),
    mcp(operation="mcp.resource"),
    command("git", "push", operation="git.remote"),
    command("tool", network=True),
    MemoryResource(scope="session", sensitivity="low", size=1),
    PathResource(operation=Operation.FS_WRITE, path="/outside", root=None),
]


@pytest.mark.parametrize("resource", EGRESS)
@pytest.mark.parametrize("taint", list(Taint))
def test_taint_stops_egress_on_every_surface(resource: Resource, taint: Taint) -> None:
    judge = decider(rule("all", "allow", str(resource.operation)))
    assert decide(judge, resource).effect is Effect.ALLOW
    tainted = SessionState(taint=frozenset({taint}))
    decision = decide(judge, resource, state=tainted)
    assert said(decision) == ("deny", "builtin:taint", "taint_session")
    assert decision.labels == (taint.value,)


def test_every_egress_operation_is_among_the_surfaces_above() -> None:
    assert {resource.operation for resource in EGRESS} >= EGRESS_OPERATIONS


def test_a_tainted_session_still_reads() -> None:
    judge = decider(READ)
    assert decide(judge, file(f"{ROOT}/a"), state=TAINTED).effect is Effect.ALLOW
    assert decide(judge, file(f"{ROOT}/a", "fs.write"), state=TAINTED).effect is Effect.ALLOW


def test_hard_links_deny_unless_the_matching_rule_accepts_them() -> None:
    linked = file(f"{ROOT}/a", links=2)
    refused = ("deny", "builtin:hardlink", "fs_hardlink")
    assert said(decide(decider(READ), linked)) == refused
    assert (
        said(decide(decider(READ, rule("late", "allow", "fs.read", hardlinks="allow")), linked))
        == refused
    )
    assert decide(decider({**READ, "hardlinks": "allow"}), linked).effect is Effect.ALLOW
    assert said(decide(decider(rule("o", "allow", "fs.list"), default="ask"), linked)) == refused
    deny = rule("no", "deny", "fs.read")
    assert decide(decider(deny), linked).rule == "no"


def test_a_decision_carries_the_action_and_the_policy() -> None:
    judge = decider(READ)
    decision = decide(judge, file("/a"))
    assert decision.policy_digest == judge.policy.digest
    assert (decision.action_digest, decision.normalized) == ("sha256:00", {"named": "fs.read"})
    assert decision.operation is Operation.FS_READ


def test_the_same_input_gives_the_same_decision() -> None:
    judge = decider(READ)
    assert decide(judge, file("/a")) == decide(judge, file("/a"))


def test_a_denial_says_which_rules_are_open_and_an_ask_that_silence_is_no_consent() -> None:
    judge = decider(
        rule("src", "ask", "fs.write", resources=["${workspace}/src/**"]),
        rule("call", "allow", "api.call", api={"audience": "c", "operations": ["r"]}),
        rule("mk", "allow", "shell.run", commands=[["make", "test"]]),
    )
    denied = decide(judge, file("/a", "fs.write"))
    assert (
        denied.message
        == "No rule matches. fs.write is open to these rules: src (${workspace}/src/**)."
    )
    assert "No fs.read is allowed at all" in decide(judge, file("/a")).message
    assert "mk (make test)" in decide(judge, command("x")).message
    assert "call (c r)" in decide(judge, api()).message
    asked = decide(judge, file(f"{ROOT}/src/a", "fs.write"))
    assert "No answer is not consent." in asked.message


def test_a_justification_is_part_of_the_message() -> None:
    judge = decider(rule("no", "deny", "fs.read", justification="Ask the data team."))
    assert decide(judge, file("/a")).message == "Denied by rule no. Ask the data team."


def test_observe_lifts_the_policys_deny_of_one_resource_and_nothing_of_another() -> None:
    rules = (
        rule("no", "deny", "fs.read", resources=["/ws/no"]),
        rule("ask", "ask", "fs.read", resources=["/ws/ask"]),
        rule("all", "allow", "fs.read", resources=["/ws/**"]),
    )
    one = Decide(build.policy(*rules), observe=True)
    for other, effect, said_rule in (
        (file("/ws/ok"), "allow", "no"),
        (file("/ws/ask"), "ask", "ask"),
        (file("/ws/linked", links=2), "deny", "builtin:hardlink"),
    ):
        decision = one.decide(act(file("/ws/no"), other), ALICE, CLEAN)
        assert (decision.effect.word, decision.rule) == (effect, said_rule)
        assert (decision.would is Effect.DENY) is (effect != "deny")
    assert one.decide(act(file("/ws/ok")), ALICE, CLEAN).would is None
    plain = Decide(build.policy(*rules)).decide(act(file("/ws/no")), ALICE, CLEAN)
    assert (plain.effect, plain.would) == (Effect.DENY, None)


def test_observe_lifts_a_deny_and_then_asks_as_ever() -> None:
    one = Decide(
        build.policy(
            rule("no", "deny", "fs.read"),
            rule("ask", "ask", "fs.read", resources=["/ws/ask"]),
            rule("bad", "allow", "fs.read", resources=["/ws/bad"], when="1 / 0 == 1"),
        ),
        observe=True,
    )
    assert said(decide(one, file("/ws/ask"))) == ("ask", "ask", "rule_match")
    assert said(decide(one, file("/ws/bad"))) == ("deny", "bad", "when_error")
    assert said(decide(one, file("/ws/a"))) == ("allow", "no", "rule_match")


def test_an_ask_for_tainted_sessions_comes_on_top() -> None:
    judge = decider(
        rule("careful", "ask", "fs.read", taint_any=["attempted"]),
        rule("bad", "allow", "fs.read", resources=["/ws/bad"], when="false"),
        rule("all", "allow", "fs.read", resources=["/ws/**"]),
    )
    for path, clean, tainted in (
        ("/ws/a", ("allow", "all"), ("ask", "careful")),
        ("/ws/bad", ("deny", "bad"), ("deny", "bad")),
        ("/out", ("deny", "default"), ("deny", "default")),
    ):
        assert said(decide(judge, file(path)))[:2] == clean
        assert said(decide(judge, file(path), state=TAINTED))[:2] == tainted


def test_observe_lifts_no_erroring_rule() -> None:
    judge = decider(rule("bad", "allow", "fs.read"))

    def broken(*_: object) -> Any:
        raise ZeroDivisionError

    spoiled = replace(judge.policy.rules[0], conditions=(("operations", broken),))
    one = Decide(replace(judge.policy, rules=(spoiled,)), observe=True)
    decision = one.decide(act(file("/a")), ALICE, CLEAN)
    assert (decision.effect, decision.reason) == (Effect.DENY, "internal_error")
