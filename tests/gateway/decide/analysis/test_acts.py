"""Acts made from points: the request an agent would make, and the resource it comes to."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.decide.analysis.acts import act_at
from gateway.decide.analysis.space import areas, point_in
from gateway.decide.engine import Decide
from tests.gateway.decide.build import policy, rule


def made(one: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the request of a rule's first area, and the rule that decides it."""
    judge = Decide(policy(one))
    (area, *_) = areas(judge.policy, {"home": "/home/u"})
    point = point_in(area, likely={"path": ["/ws/example"], "cwd": ["/ws"]})
    assert point is not None
    act = act_at(area, point, judge.policy.roots)
    return act.to_json(), judge.decide(act.action, act.caller, act.state).rule


@pytest.mark.parametrize(
    ("conditions", "operation", "request_"),
    [
        ({"resources": ["${workspace}/*.py"]}, "fs.read", {"tool": "fs.read", "params": {"path": "/ws/.py"}}),
        ({}, "fs.write", {"tool": "fs.write", "params": {"path": "/ws/example", "content": ""}}),
        ({"programs": ["cat"]}, "shell.run", {"tool": "shell.run", "params": {"argv": ["cat"], "cwd": "/ws"}}),
        ({"commands": [["date", "-u"]]}, "shell.run",
         {"tool": "shell.run", "params": {"argv": ["date", "-u"], "cwd": "/ws"}}),
        ({}, "git.read", {"tool": "shell.run", "params": {"argv": ["git", "status"], "cwd": "/ws"}}),
        ({"hosts": ["a.example.com"], "ports": [8443], "methods": ["POST"], "paths": ["/x"]}, "net.request",
         {"tool": "net.request", "params": {"url": "https://a.example.com:8443/x", "method": "POST"}}),
        ({"schemes": ["http"], "ports": [80], "hosts": ["::1"]}, "net.request",
         {"tool": "net.request", "params": {"url": "http://[::1]/", "method": "GET"}}),
        ({"api": {"audience": "a", "operations": ["x"], "scope": "s"}, "arguments": {"n": {"min": 3}}}, "api.call",
         {"tool": "api.call", "params": {"audience": "a", "operation": "x", "arguments": {"n": 3}}}),
        ({"servers": ["s"], "tools": ["t"],
          "arguments": {"a.b": {"in": ["seven"]}, "a.c": {"equals": "q"}, "l[].m": {"under": ["${workspace}"]},
                        "**": {"contains_none": ["!"]}, "o": {"type": "object"}}}, "mcp.call",
         {"tool": "mcp.call", "params": {"server": "s", "tool": "t", "arguments": {
             "a": {"b": "seven", "c": "q"}, "l": [{"m": "/ws"}], "o": {}}}}),
        ({"servers": ["s"], "uris": ["n:1"]}, "mcp.resource",
         {"tool": "mcp.resource", "params": {"server": "s", "uri": "n:1"}}),
        ({"memory": {"scope": "project", "sensitivity": "low"}}, "memory.write",
         {"tool": "memory.write", "params": {"scope": "project", "sensitivity": "low", "content": ""}}),
        ({"identities": ["bob"]}, "fs.list",
         {"tool": "fs.list", "params": {"path": "/ws/example"}, "user": "bob"}),
    ],
)  # fmt: skip
def test_the_request_is_what_an_agent_would_send_and_the_rule_decides_it(
    conditions: dict[str, Any], operation: str, request_: dict[str, Any]
) -> None:
    shown, decided_by = made(rule("r", "allow", operation, **conditions))
    assert (shown, decided_by) == (request_, "r")


def test_a_tainted_session_is_shown() -> None:
    shown, decided_by = made(rule("r", "ask", "fs.read", taint_any=["attempted"]))
    assert (shown["taint"], decided_by) == (["attempted"], "default")
    _, decided_by = made(rule("r", "deny", "fs.read", taint_any=["attempted"]))
    assert decided_by == "r"
