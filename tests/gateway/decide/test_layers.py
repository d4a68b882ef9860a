"""Layers: a further policy only narrows."""

from __future__ import annotations

import itertools

import pytest

from gateway.decide.layers import Layered
from gateway.errors import InvariantError
from gateway.model.names import Effect, Taint
from tests.gateway.decide.build import ALICE, CLEAN, act, command, decider, file, rule


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
