"""What can only make a decision stricter, on random policies, acts and sessions."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gateway.decide.engine import Decide
from gateway.decide.layers import Layered, joined
from gateway.model.names import Effect
from gateway.model.ports import Decider
from tests.gateway.decide import build
from tests.reference.decide import WHEN
from tests.reference.draw import (
    RESOURCES,
    USERS,
    Data,
    a_policy,
    a_resource,
    a_rule,
    a_state,
    caller,
    real,
    real_policy,
    session,
)

EXAMPLES = 20_000 if os.environ.get("COUNTERFOIL_SOAK") else 150
often = settings(max_examples=EXAMPLES, deadline=None)


def effect(decider: Decider, resources: list[Data], user: str, state: Data) -> Effect:
    return decider.decide(build.act(*map(real, resources)), caller(user), session(state)).effect


def of(data: Data) -> Decide:
    return Decide(real_policy(data))


@often
@given(
    data=a_policy(), resources=RESOURCES, user=USERS, state=a_state(), rule=a_rule(9),
    at=st.integers(0, 5),
)  # fmt: skip
def test_adding_a_deny_never_loosens(
    data: Data, resources: list[Data], user: str, state: Data, rule: Data, at: int
) -> None:
    assume(rule["effect"] == "deny")
    more = {**data, "rules": [*data["rules"][:at], rule, *data["rules"][at:]]}
    before, after = (effect(of(one), resources, user, state) for one in (data, more))
    assert after >= before


@often
@given(data=a_policy(), resources=RESOURCES, user=USERS, state=a_state())
def test_a_taint_or_a_suspension_never_loosens(
    data: Data, resources: list[Data], user: str, state: Data
) -> None:
    judge = of(data)
    clean = effect(judge, resources, user, {**state, "taint": set(), "suspended": False})
    assert effect(judge, resources, user, {**state, "taint": {"attempted"}}) >= clean
    assert effect(judge, resources, user, {**state, "suspended": True}) is Effect.DENY


@often
@given(data=a_policy(), resources=RESOURCES, user=USERS, state=a_state(), spent=st.integers(1, 3))
def test_what_was_spent_never_loosens(
    data: Data, resources: list[Data], user: str, state: Data, spent: int
) -> None:
    judge = of(data)
    more = {f"r{number}": state["used"].get(f"r{number}", 0) + spent for number in range(10)}
    after = effect(judge, resources, user, {**state, "used": more})
    assert after >= effect(judge, resources, user, state)


@often
@given(
    data=a_policy(),
    resources=RESOURCES,
    user=USERS,
    state=a_state(),
    at=st.integers(0, 4),
    more=st.sampled_from(
        [{"when": source} for source in WHEN]
        + [{"limits": {"count": count}} for count in (0, 1)]
        + [{"taint": "none"}]
    ),
)
def test_a_when_a_limit_or_a_taint_condition_never_loosens(
    data: Data, resources: list[Data], user: str, state: Data, at: int, more: Data
) -> None:
    rules = list(data["rules"])
    at %= len(rules)
    assume(rules[at]["effect"] != "deny" and not (rules[at].keys() & {*more, "taint_any"}))
    rules[at] = rules[at] | more
    after = effect(of({**data, "rules": rules}), resources, user, state)
    assert after >= effect(of(data), resources, user, state)


@often
@given(data=a_policy(), resources=RESOURCES, user=USERS, state=a_state(), seed=st.randoms())
def test_where_the_denies_stand_is_irrelevant(
    data: Data, resources: list[Data], user: str, state: Data, seed: Any
) -> None:
    denies = [rule for rule in data["rules"] if rule["effect"] == "deny"]
    others = [rule for rule in data["rules"] if rule["effect"] != "deny"]
    for rule in denies:
        others.insert(seed.randint(0, len(others)), rule)
    moved = effect(of({**data, "rules": others}), resources, user, state)
    assert moved is effect(of(data), resources, user, state)


@often
@given(data=a_policy(), resources=RESOURCES, user=USERS, state=a_state(), more=a_resource())
def test_one_resource_more_never_loosens(
    data: Data, resources: list[Data], user: str, state: Data, more: Data
) -> None:
    judge = of(data)
    after = effect(judge, [*resources, more], user, state)
    assert after >= effect(judge, resources, user, state)


@often
@given(data=a_policy(), bound=a_policy(5), resources=RESOURCES, user=USERS, state=a_state())
def test_a_layer_never_loosens(
    data: Data, bound: Data, resources: list[Data], user: str, state: Data
) -> None:
    layers = [of(data), Decide(real_policy(bound, "project"))]
    after = effect(Layered(layers), resources, user, state)
    assert after is max(effect(one, resources, user, state) for one in layers)


@often
@given(data=a_policy(), more=a_policy(5), resources=RESOURCES, user=USERS, state=a_state())
def test_a_trusted_project_never_takes_a_deny_away(
    data: Data, more: Data, resources: list[Data], user: str, state: Data
) -> None:
    denies = {**data, "default": "ask", "rules": [*_denies(data), ALL, FILES]}
    both = Decide(joined(real_policy(data), real_policy(more, "project")))
    if effect(of(denies), resources, user, state) is Effect.DENY:
        assert effect(both, resources, user, state) is Effect.DENY


@often
@given(data=a_policy(), more=a_policy(5), resources=RESOURCES, user=USERS, state=a_state())
def test_an_include_never_removes_a_local_deny(
    data: Data, more: Data, resources: list[Data], user: str, state: Data
) -> None:
    plain = [{k: v for k, v in rule.items() if k != "broken"} for rule in data["rules"]]
    included = [{k: v for k, v in rule.items() if k != "broken"} for rule in more["rules"]]
    text = build.text_of(plain, protected=data["protected"], include=["more.yaml"])
    file = json.dumps({"version": 1, "protected": more["protected"], "rules": included}).encode()
    both = Decide(build.compiled(text, build.reader({"more.yaml": file})))
    denies = {**data, "default": "ask", "rules": [*_denies({"rules": plain}), ALL, FILES]}
    if effect(of(denies), resources, user, state) is Effect.DENY:
        assert effect(both, resources, user, state) is Effect.DENY


ALL = build.rule("all", "allow", "shell.run", "net.request", "mcp.call")
FILES = build.rule("files", "allow", "fs.read", "fs.write", hardlinks="allow")


def _denies(data: Data) -> list[Data]:
    return [rule for rule in data["rules"] if rule["effect"] == "deny"]


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_deny_bites_wherever_it_stands(place: str) -> None:
    deny = build.rule("no", "deny", "fs.read")
    rules = [deny, FILES] if place == "first" else [FILES, deny]
    decision = build.decide(Decide(build.policy(*rules)), build.file("/ws/a"))
    assert build.said(decision) == ("deny", "no", "rule_match")
