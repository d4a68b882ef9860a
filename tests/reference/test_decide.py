"""The engine and the reference agree on random policies, actions and states."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from gateway.decide.engine import Decide
from gateway.decide.explain import explain
from gateway.model.names import Effect
from tests.gateway.decide import build
from tests.reference import decide as reference
from tests.reference.draw import (
    RESOURCES,
    USERS,
    Data,
    a_policy,
    a_state,
    caller,
    real,
    real_policy,
)
from tests.reference.draw import session as real_session

COMPARISONS = 100_000 if os.environ.get("COUNTERFOIL_SOAK") else 300


@settings(max_examples=COMPARISONS, deadline=None)
@given(data=a_policy(), resources=RESOURCES, user=USERS, state=a_state())
def test_engine_and_reference_agree(
    data: Data, resources: list[Data], user: str, state: Data
) -> None:
    decider = Decide(real_policy(data))
    action = build.act(*map(real, resources))
    asking, session = caller(user), real_session(state)
    decision = decider.decide(action, asking, session)
    effect, secret = reference.decide(data, resources, user, state)
    assert (decision.effect.word, bool(decision.taint)) == (effect, secret)
    explained = explain(decider, action, asking, session)
    if all(word == "passed" for _, word in explained.before):
        words = [Effect[lines.effect.upper()] for lines in explained.resources]
        assert max(words) is decision.effect
        for lines in explained.resources:
            if not lines.decided_by.startswith("builtin:"):
                assert lines.decided_by in scan(lines.rules)


def scan(lines: Any) -> set[str]:
    """What a scan of every rule says may decide: the index must not have missed a rule."""
    effective = [line for line in lines if line.outcome != "fails"]
    denies = [line for line in effective if line.effect == "deny"]
    if denies:
        return {denies[0].rule}
    return {"default", *(line.rule for line in effective)}


def test_the_reference_is_short() -> None:
    assert len(Path(reference.__file__).read_text(encoding="utf-8").splitlines()) <= 100


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"), [("/a/**", "/a", True), ("/a/**", "/ab", False)]
)
def test_the_reference_knows_the_subtree(pattern: str, path: str, wanted: bool) -> None:
    assert reference.glob(pattern, path) is wanted
