"""Areas: what a rule covers, what covers it, and points in it that the engine agrees with."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from gateway.decide.analysis.acts import act_at
from gateway.decide.analysis.automata import Language, Verdict
from gateway.decide.analysis.space import Area, anything, areas, covered, has, literals, point_in
from gateway.decide.conditions import Outcome
from gateway.decide.schema import Rule
from tests.gateway.decide.build import policy, rule
from tests.reference.draw import Data, a_policy, real_policy

VARIABLES = {"home": "/home/u"}


def of(*rules: dict[str, Any], **more: Any) -> tuple[Area, ...]:
    return areas(policy(*rules, **more), VARIABLES)


def test_a_rule_has_an_area_for_each_operation() -> None:
    made = of(rule("r", "allow", "fs.read", "fs.write", resources=["${workspace}/**"]))
    assert [str(one.operation) for one in made] == ["fs.read", "fs.write"]
    assert set(made[0].sets) == {"user", "path"}
    assert has(made[0].sets["path"], "/ws/a")
    assert not has(made[0].sets["path"], "/other")


@pytest.mark.parametrize(
    ("more", "narrowed"),
    [
        ({}, False),
        ({"when": "true"}, False),
        ({"limits": {"count": 1}}, False),
        ({"taint": "none"}, False),
        ({"audit": "metadata"}, False),
        ({"identities": ["a"]}, False),
        ({"arguments": {"p": {"type": "string"}}}, True),
    ],
)
def test_what_is_not_understood_narrows(more: dict[str, Any], narrowed: bool) -> None:
    (area,) = of(rule("r", "allow", "mcp.call", **more))
    assert area.narrowed is narrowed


def test_every_key_of_a_rule_is_modelled_neutral_or_narrows() -> None:
    (area,) = of(rule("r", "ask", "fs.read", taint_any=["attempted"]))
    assert area.narrowed
    assert "taint_any" in Rule.model_fields


def test_a_union_covers_in_one_dimension() -> None:
    one, two, both = of(
        rule("one", "allow", "fs.read", resources=["/ws", "/ws/a*"]),
        rule("two", "allow", "fs.read", resources=["/ws/**/*"]),
        rule("both", "allow", "fs.read", resources=["${workspace}/**"]),
    )
    assert covered(both, [one, two]).whole
    assert covered(both, [one]).verdict is Verdict.FOUND
    assert covered(one, [both]).by == ("both",)


def test_other_operations_and_users_do_not_cover() -> None:
    read, write, bob = of(
        rule("read", "allow", "fs.read"),
        rule("write", "allow", "fs.write"),
        rule("bob", "allow", "fs.read", identities=["bob"]),
    )
    assert not covered(read, [write]).whole
    assert not covered(read, [bob]).whole
    assert covered(bob, [read]).whole


def test_commands_and_hosts_and_calls() -> None:
    pairs = [
        (rule("a", "allow", "shell.run", programs=["cat"]),
         rule("b", "allow", "shell.run", programs=["cat", "ls"])),
        (rule("a", "allow", "shell.run", commands=[["date"]]),
         rule("b", "allow", "shell.run", commands=[["date"], ["true"]])),
        (rule("a", "allow", "net.request", hosts=["x.example.com"]),
         rule("b", "allow", "net.request", hosts=["*.example.com"])),
        (rule("a", "allow", "net.request", hosts=["x.y"], schemes=["https"], ports=[443]),
         rule("b", "allow", "net.request", hosts=["x.y"], methods=["GET"])),
        (rule("a", "allow", "net.request", paths=["/a/b"]),
         rule("b", "allow", "net.request", paths=["/a"])),
        (rule("a", "allow", "mcp.call", servers=["s"], tools=["read_x"]),
         rule("b", "allow", "mcp.call", servers=["*"], tools=["read_*"])),
        (rule("a", "allow", "mcp.resource", uris=["n:/a/b"]),
         rule("b", "allow", "mcp.resource", uris=["n:*"])),
        (rule("a", "allow", "api.call", api={"audience": "a", "operations": ["x"]}),
         rule("b", "allow", "api.call", api={"audience": "a", "operations": ["x", "y"]})),
    ]  # fmt: skip
    for number, (narrow, wide) in enumerate(pairs):
        a, b = of(narrow, wide)
        assert covered(a, [b]).whole is (number != 3), narrow
        assert not covered(b, [a]).whole, wide


def test_a_command_without_a_grammar_is_not_covered_by_programs() -> None:
    exact, by_name = of(
        rule("exact", "allow", "shell.run", commands=[["cat", "x"]]),
        rule("cat", "allow", "shell.run", programs=["cat"]),
    )
    assert not covered(exact, [by_name]).whole


def test_a_point_avoids_and_prefers() -> None:
    (area,) = of(rule("r", "allow", "fs.read", resources=["${workspace}/**"]))
    assert point_in(area, likely={"path": ["/out", "/ws/nice"]}) == {
        "user": "someone", "path": "/ws/nice",
    }  # fmt: skip
    assert point_in(area, never={"path": Language(exact=area.sets["path"].exact)}) is None
    assert has(anything("path"), "/x/y")
    assert has(literals(["A"], caseless=True), "a")


@settings(max_examples=80, deadline=None)
@given(data=a_policy())
def test_a_point_is_in_the_rule_as_the_engine_sees_it(data: Data) -> None:
    rules = [{**one, "broken": False} for one in data["rules"]]
    compiled = real_policy(
        {**data, "rules": [{k: v for k, v in one.items() if k != "broken"} for one in rules]}
    )
    for area in areas(compiled, VARIABLES):
        point = point_in(area)
        if point is None:
            continue
        act = act_at(area, point, compiled.roots)
        outcome, _ = area.rule.judge(act.resource, act.caller, act.state)
        assert outcome is not Outcome.FAILS, (area.rule.model, point)
