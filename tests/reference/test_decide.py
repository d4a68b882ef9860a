"""The engine and the reference agree on random policies, actions and states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.decide.compile import CompiledRule, Policy
from gateway.decide.conditions import Outcome
from gateway.decide.engine import Decide
from gateway.decide.explain import explain
from gateway.model.names import Effect, Operation, Taint
from gateway.model.request import Caller
from gateway.model.resource import CommandResource, McpResource, PathResource, Resource
from gateway.model.session import SessionState
from tests.gateway.decide import build
from tests.reference import decide as reference

FS = ["fs.read", "fs.write"]
GLOBS = [
    "${workspace}/**", "**/.env", "**", "${workspace}/a/*", "/ws/?", "${workspace}/**/b", "**/B*",
    "/ws/a", "**/a/**", "/ws/a/**", "**/*.x", "/ws/*/b", "/WS/A", "**/ß",
]  # fmt: skip
PATHS = [
    "/ws", "/ws/a", "/ws/A", "/ws/a/b", "/ws/a/.env", "/ws/.ENV/c", "/ws/c.x", "/out/b", "/ws/b/c/b",
    "/ws/ß", "/ws/SS", "/ws/a/é",
]  # fmt: skip
PROGRAMS = ["cat", "ls"]
OPTIONAL = st.booleans


@st.composite
def a_rule(draw: st.DrawFn, number: int) -> dict[str, Any]:
    effect = draw(st.sampled_from(["allow", "ask", "deny"]))
    kind = draw(st.sampled_from(["file", "command", "mcp"]))
    rule: dict[str, Any] = {"id": f"r{number}", "effect": effect}
    if kind == "file":
        rule["operations"] = draw(
            st.lists(st.sampled_from(FS), min_size=1, max_size=2, unique=True)
        )
        if draw(OPTIONAL()):
            rule["resources"] = draw(st.lists(st.sampled_from(GLOBS), min_size=1, max_size=3))
        if effect != "deny" and draw(OPTIONAL()):
            rule["hardlinks"] = "allow"
    elif kind == "command":
        rule["operations"] = ["shell.run"]
        if draw(OPTIONAL()):
            rule["programs"] = [draw(st.sampled_from(PROGRAMS))]
    else:
        rule["operations"] = ["mcp.call"]
        if draw(OPTIONAL()):
            constraint = {
                "in": draw(st.sampled_from([[1], ["x"], [1, "x"]])),
                "optional": draw(OPTIONAL()),
            }
            rule["arguments"] = {"p": constraint}
    if draw(st.integers(0, 4)) == 0:
        rule["identities"] = [draw(st.sampled_from(["alice", "bob"]))]
    if effect != "deny" and draw(st.integers(0, 4)) == 0:
        rule["taint"] = "none"
    if draw(st.integers(0, 9)) == 0:
        rule["broken"] = True
    return rule


@st.composite
def a_resource(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["file", "file", "command", "mcp"]))
    if kind == "file":
        return {
            "operation": draw(st.sampled_from(FS)),
            "path": draw(st.sampled_from(PATHS)),
            "also": draw(st.lists(st.sampled_from(PATHS), max_size=1)),
            "links": draw(st.sampled_from([1, 1, 2])),
        }
    if kind == "command":
        network = draw(OPTIONAL())
        program = draw(st.sampled_from(PROGRAMS))
        return {
            "operation": "shell.run",
            "program": program,
            "grammar": draw(OPTIONAL()),
            "network": network,
        }
    arguments = draw(st.sampled_from([{}, {"p": 1}, {"p": "x"}, {"p": "y"}]))
    return {"operation": "mcp.call", "arguments": arguments}


@st.composite
def a_policy(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 5))
    return {
        "default": draw(st.sampled_from(["deny", "ask"])),
        "protected": draw(st.lists(st.sampled_from(["**/.env", "/ws/a/é", "**/c/**"]), max_size=1)),
        "rules": [draw(a_rule(number)) for number in range(count)],
    }


def real(res: dict[str, Any]) -> Resource:
    operation = Operation(res["operation"])
    if "path" in res:
        # The root is set for all: a write outside the roots is egress, which is tested on its own.
        return PathResource(
            operation=operation,
            path=res["path"],
            also=tuple(res["also"]),
            links=res["links"],
            root="w",
        )
    if "program" in res:
        return CommandResource(
            operation=operation, program=res["program"], executable="/bin/" + res["program"],
            argv=(res["program"],), cwd="/ws", grammar=res["grammar"], network=res["network"],
        )  # fmt: skip
    return McpResource(operation=operation, server="s", name="t", arguments=res["arguments"])


def _raise(*_: object) -> Outcome:
    raise RuntimeError("broken")


def engine_of(data: dict[str, Any]) -> Policy:
    rules = [{k: v for k, v in rule.items() if k != "broken"} for rule in data["rules"]]
    policy = build.policy(*rules, default=data["default"], protected=data["protected"])

    def breaking(rule: CompiledRule, source: dict[str, Any]) -> CompiledRule:
        if not source.get("broken"):
            return rule
        return replace(rule, conditions=(*rule.conditions, ("broken", _raise)))

    return replace(policy, rules=tuple(map(breaking, policy.rules, data["rules"])))


@settings(max_examples=200, deadline=None)
@given(
    data=a_policy(),
    resources=st.lists(a_resource(), min_size=1, max_size=3),
    user=st.sampled_from(["alice", "bob"]),
    taint=st.sampled_from([set(), {"attempted"}]),
    suspended=st.sampled_from([False, False, True]),
)
def test_engine_and_reference_agree(
    data: dict[str, Any],
    resources: list[dict[str, Any]],
    user: str,
    taint: set[str],
    suspended: bool,
) -> None:
    decider = Decide(engine_of(data))
    state = SessionState(taint=frozenset(map(Taint, taint)), suspended=suspended)
    caller = Caller(user=user, uid=1, door="t", session="s", scope="x")
    action = build.act(*map(real, resources))
    decision = decider.decide(action, caller, state)
    effect, secret = reference.decide(data, resources, user, taint, suspended)
    assert (decision.effect.word, bool(decision.taint)) == (effect, secret)
    explained = explain(decider, action, caller, state)
    if all(word == "passed" for _, word in explained.before):
        words = [Effect[lines.effect.upper()] for lines in explained.resources]
        assert max(words) is decision.effect
        for lines in explained.resources:
            if not lines.decided_by.startswith("builtin:"):
                assert scan(lines.rules) == lines.decided_by


def scan(lines: Any) -> str | None:
    """What a scan of every rule says decides: the index must not have missed a rule."""
    effective = [line for line in lines if line.outcome != "fails"]
    denies = [line for line in effective if line.effect == "deny"]
    first = (denies or effective or [None])[0]
    return "default" if first is None else first.rule


def test_the_reference_is_short() -> None:
    assert len(Path(reference.__file__).read_text(encoding="utf-8").splitlines()) <= 100


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"), [("/a/**", "/a", True), ("/a/**", "/ab", False)]
)
def test_the_reference_knows_the_subtree(pattern: str, path: str, wanted: bool) -> None:
    assert reference.glob(pattern, path) is wanted
