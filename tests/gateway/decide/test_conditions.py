"""Each condition, for an allow and for a deny."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.model.names import Operation, Taint
from gateway.model.resource import MemoryResource, Resource
from gateway.model.session import SessionState
from tests.gateway.decide.build import (
    ALICE,
    CLEAN,
    ROOT,
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


def memory(scope: str = "session", sensitivity: str = "low", size: int = 5) -> Resource:
    return MemoryResource(scope=scope, sensitivity=sensitivity, size=size)


def matches(effect: str, resource: Resource, **conditions: Any) -> bool:
    judge = decider(rule("r", effect, str(resource.operation), **conditions))
    return decide(judge, resource).rule == "r"


CASES: list[tuple[Resource, dict[str, Any], bool, bool]] = [
    # resource, conditions, an allow matches, a deny matches
    (file(f"{ROOT}/a"), {"resources": ["${workspace}/a"]}, True, True),
    (file(f"{ROOT}/A"), {"resources": ["${workspace}/a"]}, False, True),
    (file(f"{ROOT}/b", also=(f"{ROOT}/a",)), {"resources": ["${workspace}/a"]}, False, True),
    (command("cat", "x"), {"programs": ["cat"]}, True, True),
    (command("cat", "x", grammar=False), {"programs": ["cat"]}, False, True),
    (command("cat", "x", grammar=False), {}, False, True),
    (command("/srv/CAT", program="other"), {"programs": ["cat"]}, False, True),
    (command("x", executable="/usr/bin/cat"), {"programs": ["cat"]}, False, True),
    (command("make", "all", grammar=False), {"commands": [["make", "all"]]}, True, True),
    (command("make", "all", "x"), {"commands": [["make", "all"]]}, False, False),
    (command("./make", "all"), {"commands": [["make", "all"]]}, False, True),
    (command("Make", "all"), {"commands": [["make", "all"]]}, False, True),
    (command("make", "ALL"), {"commands": [["make", "all"]]}, False, False),
    (command("make", cwd=f"{ROOT}/x", grammar=False), {"commands": [["make"]]}, False, True),
    (command("make", cwd=f"{ROOT}/x"), {"commands": [["make"]], "cwd": ["${workspace}/*"]}, True, True),
    (command("make", cwd=f"{ROOT}/X"), {"commands": [["make"]], "cwd": ["${workspace}/x"]}, False, True),
    (command("make"), {"commands": [["make"]], "cwd": ["${workspace}/x"]}, False, False),
    (command("cat", cwd="/other/x"), {"programs": ["cat"]}, True, True),
    (command("cat", cwd="/other/x"), {"programs": ["cat"], "cwd": ["${workspace}/**"]}, False, False),
    (url("a.example"), {"hosts": ["a.example"]}, True, True),
    (url("x.a.example"), {"hosts": ["*.a.example"]}, True, True),
    (url("y.x.a.example"), {"hosts": ["*.a.example"]}, True, True),
    (url("a.example"), {"hosts": ["*.a.example"]}, False, False),
    (url("xa.example"), {"hosts": ["*.a.example"]}, False, False),
    (url("any"), {"hosts": ["*"]}, True, True),
    (url("a", method="POST"), {"methods": ["GET", "HEAD"]}, False, False),
    (url("a", port=8443), {"ports": [8443]}, True, True),
    (url("a", port=80), {"ports": [443]}, False, False),
    (url("a", path="/v1/x"), {"paths": ["/v1"]}, True, True),
    (url("a", path="/v1"), {"paths": ["/v1/"]}, True, True),
    (url("a", path="/v10"), {"paths": ["/v1"]}, False, False),
    (url("a", path="/V1/x"), {"paths": ["/v1"]}, False, True),
    (url("a", path="/x"), {"paths": ["/"]}, True, True),
    (api(), {"api": {"audience": "calendar-api", "operations": ["events.read"]}}, True, True),
    (api(scope="w"), {"api": {"audience": "calendar-api", "operations": ["events.read"], "scope": "r"}}, False, False),
    (api(), {"api": {"audience": "mail-api", "operations": ["events.read"]}}, False, False),
    (url("a"), {"schemes": ["https"]}, True, True),
    (url("a"), {"schemes": ["http"]}, False, False),
    (mcp("file:///a/b", operation="mcp.resource"), {"uris": ["file:///a/*"]}, True, True),
    (mcp("FILE:///a/b", operation="mcp.resource"), {"uris": ["file:///a/*"]}, False, True),
    (mcp("note:b", operation="mcp.resource"), {"uris": ["file:///*"]}, False, False),
    (mcp(), {"servers": ["files"], "tools": ["read"]}, True, True),
    (mcp("READ", "FILES"), {"servers": ["files"], "tools": ["re*"]}, False, True),
    (mcp("drop/all"), {"tools": ["drop*"]}, True, True),
    (mcp("read"), {"tools": ["write"]}, False, False),
    (memory(), {"memory": {"scope": "project"}}, True, False),
    (memory("global"), {"memory": {"scope": "project"}}, False, True),
    (memory("galaxy"), {"memory": {"scope": "global"}}, False, True),
    (memory(sensitivity="high"), {"memory": {"sensitivity": "medium"}}, False, True),
    (memory(size=11), {"memory": {"max_bytes": 10}}, False, True),
    (memory(size=10), {"memory": {"max_bytes": 10}}, True, False),
    (file("/a"), {"identities": ["alice"]}, True, True),
    (file("/a"), {"identities": ["bob"]}, False, False),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "conditions", "allow", "deny"), CASES)
def test_condition(resource: Resource, conditions: dict[str, Any], allow: bool, deny: bool) -> None:
    assert matches("allow", resource, **conditions) is allow
    assert matches("deny", resource, **conditions) is deny


def test_an_identity_is_the_user_that_the_door_proved() -> None:
    judge = decider(
        rule("a", "allow", "fs.read", identities=["@team"]), groups={"team": ["alice", "bob"]}
    )
    assert said(decide(judge, file("/a"))) == ("allow", "a", "rule_match")
    assert said(decide(judge, file("/a"), caller=ALICE.__class__(
        user="eve", uid=1, door="t", session="alice", scope="s", agent="alice"
    ))) == ("deny", "default", "default_decision")  # fmt: skip


def test_taint_none_denies_without_falling_through() -> None:
    judge = decider(
        rule("careful", "allow", "fs.read", taint="none"), rule("any", "allow", "fs.read")
    )
    tainted = SessionState(taint=frozenset({Taint.EXPOSED}))
    assert said(decide(judge, file("/a"), state=CLEAN)) == ("allow", "careful", "rule_match")
    assert said(decide(judge, file("/a"), state=tainted)) == ("deny", "careful", "taint_condition")


def test_taint_any_matches_only_such_a_session() -> None:
    judge = decider(
        rule("no", "deny", "fs.read", taint_any=["exposed"]), rule("yes", "allow", "fs.read")
    )
    exposed = SessionState(taint=frozenset({Taint.EXPOSED}))
    attempted = SessionState(taint=frozenset({Taint.ATTEMPTED}))
    assert decide(judge, file("/a"), state=exposed).rule == "no"
    assert decide(judge, file("/a"), state=attempted).rule == "yes"


def test_a_rule_speaks_of_its_operations_only() -> None:
    judge = decider(rule("r", "allow", "fs.read"))
    assert decide(judge, file("/a", str(Operation.FS_LIST))).rule == "default"


def test_an_exact_command_runs_in_the_first_root_only_unless_the_rule_says() -> None:
    """What it runs (a Makefile, a test suite) is mostly found where it runs."""
    judge = decider(
        rule("mk", "allow", "shell.run", commands=[["make", "t"]]),
        roots={"workspace": ".", "downloads": "x"},
    )
    assert decide(judge, command("make", "t", grammar=False)).rule == "mk"
    for elsewhere in (f"{ROOT}/vendor/evil", "/downloads", "/"):
        act = command("make", "t", grammar=False, cwd=elsewhere)
        assert said(decide(judge, act)) == ("deny", "default", "default_decision")
