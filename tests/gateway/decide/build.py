"""Short ways to a policy, a decider and an action, for the tests of this room."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gateway.decide.compile import Policy, compile_policy
from gateway.decide.engine import Decide
from gateway.decide.parse import no_includes, parse
from gateway.model.action import Action, Refusal
from gateway.model.decision import Decision
from gateway.model.names import Operation, Taint
from gateway.model.request import Caller
from gateway.model.resource import (
    ApiResource,
    CommandResource,
    McpResource,
    PathResource,
    Resource,
    UrlResource,
)
from gateway.model.session import SessionState

ROOT = "/ws"
HOME = "/home/u"
CLEAN = SessionState()
TAINTED = SessionState(taint=frozenset({Taint.ATTEMPTED}))
ALICE = Caller(user="alice", uid=1000, door="test", session="s", scope="alice:/ws")


def text_of(rules: list[dict[str, Any]], **more: Any) -> bytes:
    document = {"version": 1, "roots": {"workspace": "."}, "rules": rules, **more}
    return json.dumps(document, indent=1).encode()


def compiled(
    data: bytes, read: Callable[[str, str], bytes] = no_includes, *, layer: str = ""
) -> Policy:
    document = parse("policy.yaml", data, read_include=read)
    roots = {name: f"{ROOT}" if name == "workspace" else f"/{name}" for name in document.roots}
    return compile_policy(document, roots=roots, variables={"home": HOME}, layer=layer)


def policy(*rules: dict[str, Any], layer: str = "", **more: Any) -> Policy:
    return compiled(text_of(list(rules), **more), layer=layer)


def decider(*rules: dict[str, Any], **more: Any) -> Decide:
    return Decide(
        policy(*rules, **more),
        self_paths=["/etc/counterfoil", "/var/lib/counterfoil/log"],
        forbidden_origins=[("127.0.0.1", 8080), ("broker.example.com", 443)],
    )


def file(path: str, operation: str = "fs.read", **more: Any) -> PathResource:
    root = "workspace" if path == ROOT or path.startswith(ROOT + "/") else None
    return PathResource(
        operation=Operation(operation), path=path, root=more.pop("root", root), **more
    )


def command(*argv: str, operation: str = "shell.run", **more: Any) -> CommandResource:
    program = argv[0].rpartition("/")[2]
    fields = {"program": program, "executable": f"/usr/bin/{program}", "cwd": ROOT, **more}
    return CommandResource(operation=Operation(operation), argv=argv, **{"grammar": True, **fields})


def url(host: str, *, port: int = 443, method: str = "GET", path: str = "/") -> UrlResource:
    href = f"https://{host}:{port}{path}"
    return UrlResource(
        href=href, scheme="https", host=host, port=port, method=method, path=path, query=""
    )


def api(
    operation: str = "events.read", *, scope: str = "calendar.read", **arguments: Any
) -> ApiResource:
    return ApiResource(
        audience="calendar-api", api_operation=operation, scope=scope, arguments=arguments
    )


def mcp(
    tool: str = "read", server: str = "files", operation: str = "mcp.call", **arguments: Any
) -> McpResource:
    return McpResource(
        operation=Operation(operation), server=server, name=tool, arguments=arguments
    )


def act(
    *resources: Resource, refusal: Refusal | None = None, operation: str | None = None
) -> Action:
    named = operation or (str(resources[0].operation) if resources else "unknown")
    return Action(
        tool="test",
        operation=Operation(named),
        normalized={"named": named},
        digest="sha256:00",
        resources=resources,
        refusal=refusal,
    )


def decide(
    judge: Decide, *resources: Resource, state: SessionState = CLEAN, caller: Caller = ALICE
) -> Decision:
    return judge.decide(act(*resources), caller, state)


def said(decision: Decision) -> tuple[str, str, str]:
    return decision.effect.word, decision.rule, decision.reason


def rule(name: str, effect: str, *operations: str, **conditions: Any) -> dict[str, Any]:
    return {"id": name, "effect": effect, "operations": list(operations), **conditions}


Files = Mapping[str, bytes]


def reader(files: Files) -> Callable[[str, str], bytes]:
    return lambda _source, relative: files[relative]
