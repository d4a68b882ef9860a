"""Layers: a further policy only narrows."""

from __future__ import annotations

import itertools

import pytest

from gateway.decide.compile import Policy
from gateway.decide.engine import Decide
from gateway.decide.layers import Layered, joined
from gateway.errors import InvariantError, PolicyError
from gateway.model.names import Effect, Taint
from tests.gateway.decide.build import (
    ALICE,
    CLEAN,
    act,
    command,
    decide,
    decider,
    file,
    policy,
    rule,
)


@pytest.mark.parametrize("effects", list(itertools.product(["allow", "ask", "deny"], repeat=2)))
def test_the_strictest_layer_counts(effects: tuple[str, str]) -> None:
    layers = [decider(rule(f"r{n}", effect, "fs.read")) for n, effect in enumerate(effects)]
    decision = Layered(layers).decide(act(file("/a")), ALICE, CLEAN)
    assert decision.effect is max(Effect[effect.upper()] for effect in effects)
    assert decision.policy_digest.startswith("policy-v1:sha256:")
    assert decision.policy_digest not in {layer.policy.digest for layer in layers}


def test_taint_and_obligations_of_all_layers_are_owed() -> None:
    first = decider(
        rule("r", "allow", "shell.run", "fs.read")
        | {"operations": ["shell.run"], "sandbox": {"min_tier": "B", "network": "proxy"}},
        limits={"read_bytes": 5},
    )
    second = decider(
        rule("r", "allow", "shell.run", sandbox={"min_tier": "A"}), limits={"call_timeout_s": 2}
    )
    owed = Layered([first, second]).decide(act(command("x")), ALICE, CLEAN).obligations
    assert (owed.min_tier, owed.network, owed.read_bytes, owed.call_timeout_s) == (
        "A",
        "none",
        5,
        2,
    )
    guard = decider(rule("no", "deny", "fs.read"), protected=["**/.env"])
    decision = Layered([decider(rule("r", "deny", "fs.read")), guard]).decide(
        act(file("/.env")), ALICE, CLEAN
    )
    assert decision.taint == {Taint.ATTEMPTED}


def test_one_layer_is_that_layer_and_none_is_a_fault() -> None:
    one = decider(rule("r", "allow", "fs.read"))
    assert Layered([one]).decide(act(file("/a")), ALICE, CLEAN) == one.decide(
        act(file("/a")), ALICE, CLEAN
    )
    with pytest.raises(InvariantError):
        Layered([])


def judged(policy: Policy, path: str) -> tuple[str, str]:
    decision = decide(Decide(policy), file(path))
    return decision.effect.word, decision.rule


def test_a_trusted_policy_adds_and_takes_nothing_away() -> None:
    first = policy(
        rule("no", "deny", "fs.read", resources=["${workspace}/a/**"]),
        rule("look", "ask", "fs.read", resources=["${workspace}/b/**"]),
    )
    second = policy(
        rule("all", "allow", "fs.read", resources=["${workspace}/**"]),
        rule("not", "deny", "fs.read", resources=["${workspace}/c/**"]),
        protected=["**/x"],
        limits={"read_bytes": 7},
        layer="project",
    )
    both = joined(first, second)
    assert judged(both, "/ws/a/1") == ("deny", "no")
    assert judged(both, "/ws/b/1") == ("ask", "look")
    assert judged(both, "/ws/c/1") == ("deny", "project:not")
    assert judged(both, "/ws/d") == ("allow", "project:all")
    assert judged(both, "/ws/d/x") == ("deny", "builtin:protected")
    assert both.limits.read_bytes == 7
    assert both.digest not in {first.digest, second.digest}


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [("deny", "ask", Effect.DENY), ("ask", "deny", Effect.DENY), ("ask", "ask", Effect.ASK),
     ("ask", "abstain", Effect.ASK)],
)  # fmt: skip
def test_of_two_defaults_the_stricter_counts(one: str, other: str, result: Effect) -> None:
    nothing = rule("r", "deny", "fs.list")
    first = policy(nothing, default=one)
    assert joined(first, policy(nothing, default=other, layer="project")).default is result


def test_no_layer_lowers_what_rides_on_an_ask_or_forgets_a_limit() -> None:
    base = decider(rule("ask", "ask", "fs.read", approval="high", limits={"count": 9}))
    bound = Decide(
        policy(
            rule("low", "ask", "fs.read", approval="low", redact=["secrets"], limits={"bytes": 9}),
            layer="project",
        )
    )
    decision = Layered([base, bound]).decide(act(file("/ws/b")), ALICE, CLEAN)
    assert (decision.obligations.approval, decision.obligations.redact) == ("high", {"secrets"})
    assert decision.spends == {"ask": 0, "project:low": 0}


def test_a_layer_does_not_say_what_the_record_keeps() -> None:
    with pytest.raises(PolicyError, match="only the policy that decides"):
        policy(rule("r", "allow", "fs.read", audit="metadata"), layer="project")


def test_a_layer_that_abstains_leaves_the_rest_alone() -> None:
    base = decider(
        rule("all", "allow", "fs.read"),
        rule("run", "allow", "shell.run", sandbox={"network": "proxy"}),
    )
    bound = Decide(
        policy(
            rule("no", "deny", "fs.read", resources=["${workspace}/a/**"]),
            default="abstain",
            layer="managed",
        )
    )
    both = Layered([base, bound])
    assert both.decide(act(file("/ws/b")), ALICE, CLEAN).rule == "all"
    assert both.decide(act(file("/ws/a/1")), ALICE, CLEAN).rule == "managed:no"
    ran = both.decide(act(command("x")), ALICE, CLEAN)
    assert (ran.rule, ran.obligations.network) == ("run", "proxy")


def test_a_layer_with_a_default_bounds_what_it_does_not_name() -> None:
    base = decider(rule("all", "allow", "fs.read"))
    for word in ("ask", "deny"):
        bound = Decide(policy(rule("r", "deny", "fs.list"), default=word, layer="narrowing"))
        decision = Layered([base, bound]).decide(act(file("/ws/b")), ALICE, CLEAN)
        assert (decision.effect.word, decision.rule) == (word, "narrowing:default")


def test_only_a_layer_may_abstain() -> None:
    with pytest.raises(PolicyError, match="only a policy that narrows another may abstain"):
        policy(rule("r", "deny", "fs.list"), default="abstain")
