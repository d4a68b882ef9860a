"""Constraints on arguments: types, lists, objects, missing ones."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.errors import PolicyError
from tests.gateway.decide.build import decide, decider, mcp, policy, rule, said

CASES: list[tuple[dict[str, Any], Any, bool, bool]] = [
    # constraint, value, an allow matches, a deny matches
    ({"type": "string"}, "a", True, True),
    ({"type": "string"}, 1, False, False),
    ({"type": "integer"}, 1, True, True),
    ({"type": "integer"}, True, False, False),
    ({"type": "integer"}, 1.0, False, False),
    ({"type": "number"}, 1.5, True, True),
    ({"type": "boolean"}, False, True, True),
    ({"type": "array"}, [1], True, True),
    ({"type": "array"}, "abc", False, False),
    ({"type": "object"}, {}, True, True),
    ({"in": ["a", 1]}, "a", True, True),
    ({"in": ["a", 1]}, 1.0, True, True),
    ({"in": ["a", 1]}, True, False, False),
    ({"in": ["a"]}, "A", False, True),
    ({"in": ["a"]}, ["a"], True, True),
    ({"in": ["a"]}, ["b", ["a"]], False, True),
    ({"in": ["a"]}, {"x": "a"}, False, True),
    ({"in": ["a"]}, None, False, False),
    ({"equals": True}, 1, False, False),
    ({"equals": "x"}, "x", True, True),
    ({"not_in": ["evil"]}, "good", True, True),
    ({"not_in": ["evil"]}, "EVIL", False, True),
    ({"not_in": ["evil"]}, ["good", "evil"], False, True),
    ({"contains_none": ["drop table"]}, "select", True, True),
    ({"contains_none": ["drop table"]}, "x DROP Table y", False, False),
    ({"contains_none": ["x"]}, 7, False, True),
    ({"max_length": 3}, "abc", True, True),
    ({"max_length": 3}, "abcd", False, False),
    ({"max_length": 1}, ["a", "b"], False, True),
    ({"max_length": 1}, 7, False, True),
    ({"min": 1, "max": 3}, 2, True, True),
    ({"min": 1, "max": 3}, 4, False, False),
    ({"min": 1}, True, False, True),
    ({"max": 3}, "2", False, True),
    ({"under": ["${workspace}"]}, "/ws/a", True, True),
    ({"under": ["${workspace}"]}, "/ws", True, True),
    ({"under": ["${workspace}"]}, "/wsx", False, False),
    ({"under": ["${workspace}"]}, "/WS/a", False, True),
    ({"under": ["${workspace}"]}, "/ws/../etc/passwd", False, True),
    ({"under": ["${workspace}"]}, "/ws//a", False, True),
    ({"under": ["${workspace}"]}, "a.txt", False, True),
    ({"under": ["${workspace}"]}, "/ws/a\n", False, True),
    ({"under": ["${workspace}"]}, 7, False, True),
]


@pytest.mark.parametrize(("constraint", "value", "allow", "deny"), CASES)
def test_constraint(constraint: dict[str, Any], value: Any, allow: bool, deny: bool) -> None:
    for effect, wanted in (("allow", allow), ("deny", deny)):
        judge = decider(rule("r", effect, "mcp.call", arguments={"p": constraint}))
        assert (decide(judge, mcp(p=value)).rule == "r") is wanted, effect


def test_a_missing_constrained_argument_denies() -> None:
    judge = decider(
        rule("one", "allow", "mcp.call", tools=["read"], arguments={"p": {"type": "string"}}),
        rule("two", "allow", "mcp.call"),
    )
    assert said(decide(judge, mcp("read"))) == ("deny", "one", "argument_missing")
    assert said(decide(judge, mcp("other"))) == ("allow", "two", "rule_match")
    assert said(decide(judge, mcp("read", p="x"))) == ("allow", "one", "rule_match")


def test_a_missing_argument_of_a_deny_rule_denies_too() -> None:
    judge = decider(
        rule("no", "deny", "mcp.call", arguments={"p": {"in": ["evil"]}}),
        rule("yes", "allow", "mcp.call"),
    )
    assert said(decide(judge, mcp())) == ("deny", "no", "argument_missing")


def test_an_optional_argument_may_be_missing_but_not_wrong() -> None:
    judge = decider(
        rule(
            "r",
            "allow",
            "mcp.call",
            arguments={"n": {"type": "integer", "max": 9, "optional": True}},
        )
    )
    assert decide(judge, mcp()).rule == "r"
    assert decide(judge, mcp(n=10)).rule == "default"


def test_a_wrong_argument_beside_a_missing_one_is_no_match() -> None:
    judge = decider(
        rule("r", "allow", "mcp.call", arguments={"a": {"type": "string"}, "b": {"type": "string"}})
    )
    assert decide(judge, mcp(b=1)).rule == "default"


@pytest.mark.parametrize(
    ("path", "arguments", "allow", "deny"),
    [
        ("a.b", {"a": {"b": "x"}}, "r", "r"),
        ("a.b", {"a": {"b": "y"}}, "default", "default"),
        ("a.b", {"a": {}}, "missing", "missing"),
        ("a.b", {"a": "x"}, "default", "r"),
        ("l[].b", {"l": [{"b": "x"}, {"b": "x"}]}, "r", "r"),
        ("l[].b", {"l": [{"b": "x"}, {"b": "y"}]}, "default", "r"),
        ("l[].b", {"l": [{"b": "y"}, {"b": "z"}]}, "default", "default"),
        ("l[].b", {"l": [{"b": "x"}, {}]}, "missing", "r"),
        ("l[].b", {"l": [{"b": "y"}, {}]}, "default", "missing"),
        ("l[].b", {"l": []}, "r", "default"),
        ("l[].b", {"l": {"b": "x"}}, "default", "r"),
        ("**", {"q": {"deep": ["y", {"x": 1}]}}, "default", "r"),
        ("**", {"q": {"deep": ["y", {"z": "X"}]}}, "default", "r"),
        ("**", {"x": ["x"]}, "r", "r"),
        ("**", {}, "r", "default"),
    ],
)
def test_paths_into_the_arguments(
    path: str, arguments: dict[str, Any], allow: str, deny: str
) -> None:
    for effect, wanted in (("allow", allow), ("deny", deny)):
        judge = decider(rule("r", effect, "mcp.call", arguments={path: {"in": ["x"]}}))
        decision = decide(judge, mcp(**arguments))
        seen = "missing" if decision.reason == "argument_missing" else decision.rule
        assert seen == wanted, effect


def test_a_deny_finds_a_word_wherever_it_hides() -> None:
    judge = decider(
        rule("no", "deny", "mcp.call", arguments={"**": {"in": ["rm -rf"]}}),
        rule("only", "allow", "mcp.call", arguments={"**": {"contains_none": ["../"]}}),
    )
    assert decide(judge, mcp(a=[{"b": {"c": ["RM -RF"]}}])).rule == "no"
    assert decide(judge, mcp(**{"rm -rf": 1})).rule == "no"
    assert decide(judge, mcp(a=[{"../x": "ok"}])).rule == "default"
    assert decide(judge, mcp(a=[{"x": "ok"}])).rule == "only"


def test_lengths() -> None:
    judge = decider(
        rule("r", "allow", "mcp.call", arguments={"p": {"min_length": 2, "max_length": 3}})
    )
    for value, wanted in (("a", 0), ("ab", 1), ("abcd", 0), ([1, 2], 1), ([], 0), (7, 0)):
        assert (decide(judge, mcp(p=value)).rule == "r") is bool(wanted), value


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"a[0]": {"type": "string"}}, r"arguments.a\[0\]: a `.` is wanted before"),
        ({"a": {"type": "string"}, '"a"': {"type": "string"}}, "constrained twice"),
    ],
)
def test_a_path_that_is_none_is_refused_with_its_line(arguments: dict[str, Any], word: str) -> None:
    with pytest.raises(PolicyError, match=word) as caught:
        policy(rule("r", "allow", "mcp.call", arguments=arguments))
    assert caught.value.line is not None


@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        ({"type": "integer", "min": 1000}, 5000.0),
        ({"type": "integer", "min": 1000}, "5000"),
        ({"type": "integer", "min": 1000}, [5000]),
        ({"type": "string", "equals": "evil"}, ["evil"]),
        ({"type": "string", "equals": "evil"}, {"x": "evil"}),
        ({"min_length": 100}, ["x" * 1000]),
        ({"type": "string", "min_length": 100}, [["x" * 1000]]),
    ],
)
def test_another_type_is_no_way_around_a_deny(constraint: dict[str, Any], value: Any) -> None:
    judge = decider(
        rule("no", "deny", "mcp.call", arguments={"p": constraint}),
        rule("all", "allow", "mcp.call"),
    )
    assert decide(judge, mcp(p=value)).rule == "no"
