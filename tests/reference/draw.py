"""Random policies, acts and sessions as plain data, and the same for the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from gateway.decide.compile import CompiledRule, Policy
from gateway.decide.conditions import Outcome
from gateway.model.names import Operation, Taint
from gateway.model.request import Caller
from gateway.model.resource import CommandResource, McpResource, PathResource, Resource
from gateway.model.session import SessionState, Usage
from tests.gateway.decide import build
from tests.reference.decide import WHEN

Data = dict[str, Any]

FS = ["fs.read", "fs.write"]
GLOBS = [
    "${workspace}/**", "**/.env", "**", "${workspace}/a/*", "/ws/?", "${workspace}/**/b", "**/B*",
    "/ws/a", "**/a/**", "/ws/a/**", "**/*.x", "/ws/*/b", "/WS/A", "**/ß",
]  # fmt: skip
PATHS = [
    "/ws", "/ws/a", "/ws/A", "/ws/a/b", "/ws/a/.env", "/ws/.ENV/c", "/ws/c.x", "/out/b", "/ws/b/c/b",
    "/ws/ß", "/ws/SS", "/ws/a/é",
]  # fmt: skip
ARGVS = [["cat"], ["cat", "x"], ["ls"]]
HOSTS = ["a.example.com", "example.com", "b.a.example.com", "other.org"]
PATTERNS = ["*", "example.com", "*.example.com", "*.a.example.com", "other.org"]
KINDS = ["file", "command", "mcp", "url"]
USERS = st.sampled_from(["alice", "bob"])


def some(values: list[Any], count: int = 2) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=count, unique_by=str)


@st.composite
def a_rule(draw: st.DrawFn, number: int, kinds: list[str] = KINDS) -> Data:
    effect = draw(st.sampled_from(["allow", "ask", "deny"]))
    kind = draw(st.sampled_from(kinds))
    rule: Data = {"id": f"r{number}", "effect": effect}
    maybe = draw(st.booleans())
    if kind == "file":
        rule["operations"] = draw(some(FS))
        if maybe:
            rule["resources"] = draw(some(GLOBS, 3))
        if effect != "deny" and draw(st.booleans()):
            rule["hardlinks"] = "allow"
    elif kind == "command":
        rule["operations"] = ["shell.run"]
        if maybe:
            rule |= draw(
                st.sampled_from(
                    [{"programs": ["cat"]}, {"programs": ["ls"]}, {"commands": [["cat"]]}]
                )
            )
    elif kind == "url":
        rule["operations"] = ["net.request"]
        if maybe:
            rule["hosts"] = draw(some(PATTERNS))
    else:
        rule["operations"] = ["mcp.call"]
        if maybe:
            accepted = draw(st.sampled_from([[1], ["x"], [1, "x"]]))
            rule["arguments"] = {"p": {"in": accepted, "optional": draw(st.booleans())}}
    return rule | draw(narrowing(effect))


@st.composite
def narrowing(draw: st.DrawFn, effect: str) -> Data:
    """Return conditions that fit every operation."""

    def seldom() -> bool:
        return draw(st.integers(0, 5)) == 0

    more: Data = {}
    if seldom():
        more["identities"] = [draw(USERS)]
    if seldom():
        more["broken"] = True
    if effect != "allow" and seldom():
        more["taint_any"] = ["attempted"]
    if effect == "deny":
        return more
    if "taint_any" not in more and seldom():
        more["taint"] = "none"
    if seldom():
        more["when"] = draw(st.sampled_from(list(WHEN)))
    if seldom():
        more["limits"] = {"count": draw(st.integers(0, 2))}
    return more


@st.composite
def a_resource(draw: st.DrawFn) -> Data:
    kind = draw(st.sampled_from(["file", *KINDS]))
    if kind == "file":
        return {
            "operation": draw(st.sampled_from(FS)),
            "path": draw(st.sampled_from(PATHS)),
            "also": draw(st.lists(st.sampled_from(PATHS), max_size=1)),
            "links": draw(st.sampled_from([1, 1, 2])),
            "arguments": {},
        }
    if kind == "command":
        return {
            "operation": "shell.run",
            "argv": draw(st.sampled_from(ARGVS)),
            "grammar": draw(st.booleans()),
            "network": draw(st.booleans()),
            "arguments": {},
        }
    if kind == "url":
        return {"operation": "net.request", "host": draw(st.sampled_from(HOSTS)), "arguments": {}}
    return {
        "operation": "mcp.call",
        "arguments": draw(st.sampled_from([{}, {"p": 1}, {"p": "x"}, {"p": "y"}])),
    }


@st.composite
def a_policy(draw: st.DrawFn, first: int = 0) -> Data:
    count = draw(st.integers(1, 5))
    return {
        "default": draw(st.sampled_from(["deny", "ask"])),
        "protected": draw(st.lists(st.sampled_from(["**/.env", "/ws/a/é", "**/c/**"]), max_size=1)),
        "rules": [draw(a_rule(first + number)) for number in range(count)],
    }


@st.composite
def a_state(draw: st.DrawFn) -> Data:
    """Return a session: its taint, whether it is suspended, how often each rule was used."""
    rules = st.sampled_from([f"r{number}" for number in range(10)])
    return {
        "taint": draw(st.sampled_from([set(), {"attempted"}])),
        "suspended": draw(st.sampled_from([False] * 5 + [True])),
        "used": draw(st.dictionaries(rules, st.integers(0, 3), max_size=4)),
    }


RESOURCES = st.lists(a_resource(), min_size=1, max_size=3)


def real(res: Data) -> Resource:
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
    if "argv" in res:
        program = res["argv"][0]
        return CommandResource(
            operation=operation, program=program, executable="/bin/" + program,
            argv=tuple(res["argv"]), cwd="/ws", grammar=res["grammar"], network=res["network"],
        )  # fmt: skip
    if "host" in res:
        return build.url(res["host"])
    return McpResource(operation=operation, server="s", name="t", arguments=res["arguments"])


def session(state: Data) -> SessionState:
    return SessionState(
        taint=frozenset(map(Taint, state["taint"])),
        suspended=state["suspended"],
        usage={rule: Usage(count=count) for rule, count in state["used"].items()},
    )


def caller(user: str) -> Caller:
    return Caller(user=user, uid=1, door="t", session="s", scope="x")


def _raise(*_: object) -> Outcome:
    raise RuntimeError("broken")


def real_policy(data: Data, layer: str = "") -> Policy:
    rules = [{k: v for k, v in rule.items() if k != "broken"} for rule in data["rules"]]
    policy = build.policy(*rules, default=data["default"], protected=data["protected"], layer=layer)

    def breaking(rule: CompiledRule, source: Data) -> CompiledRule:
        if not source.get("broken"):
            return rule
        return replace(rule, conditions=(*rule.conditions, ("broken", _raise)))

    return replace(policy, rules=tuple(map(breaking, policy.rules, data["rules"])))
