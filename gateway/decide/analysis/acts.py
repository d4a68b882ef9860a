"""From a point of an area to an act that the engine judges: the proof of every finding.

The act is made by spelling alone, as examples are: one name a file, one resource an act. What is
shown is the request an agent would make. Arguments are filled in from a rule's constraints where a
value can be read off them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.decide.analysis.space import ARGV_SEPARATOR, Area, Point
from gateway.decide.argument_path import Every, Steps, parse_argument
from gateway.decide.conditions import basename
from gateway.decide.schema import Constraint, Rule
from gateway.model.action import Action
from gateway.model.names import COMMAND_OPERATIONS, FS_OPERATIONS, Json, Operation, Taint
from gateway.model.request import Caller
from gateway.model.resource import (
    ApiResource,
    CommandResource,
    McpResource,
    MemoryResource,
    PathResource,
    Resource,
    UrlResource,
)
from gateway.model.session import SessionState

_GIT: Final = {
    Operation.GIT_READ: "status",
    Operation.GIT_WRITE: "commit",
    Operation.GIT_REMOTE: "push",
}
_NAMED_BY: Final = {
    Operation.MCP_CALL: "tool",
    Operation.MCP_RESOURCE: "uri",
    Operation.MCP_PROMPT: "name",
}
_OF_TYPE: Final[Mapping[str, Json]] = {
    "string": "x",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An act that shows something: the request, and what the engine is given."""

    request: Mapping[str, Json]
    action: Action
    caller: Caller
    state: SessionState

    @property
    def resource(self) -> Resource:
        """The one thing it touches."""
        return self.action.resources[0]

    def to_json(self) -> dict[str, Json]:
        """Return the request, and who asks in which session where that matters."""
        shown = dict(self.request)
        if self.caller.user != ANYONE:
            shown["user"] = self.caller.user
        if self.state.taint:
            shown["taint"] = sorted(map(str, self.state.taint))
        return shown


ANYONE: Final = "someone"


def act_at(area: Area, point: Point, roots: Mapping[str, str]) -> Act:
    """Make the act at a point of an area."""
    given = _Given(model=area.rule.model, operation=area.operation, point=point, roots=roots)
    tool, params, resource = _maker(area.operation)(given)
    request: dict[str, Json] = {"tool": tool, "params": params}
    action = Action(
        tool=tool,
        operation=area.operation,
        normalized=request,
        digest="",
        resources=(resource,),
    )
    user = point.get("user", ANYONE)
    taint = frozenset(map(Taint, area.rule.model.taint_any or ()))
    return Act(
        request=request,
        action=action,
        caller=Caller(user=user, uid=0, door="lint", session="lint", scope="lint"),
        state=SessionState(taint=taint),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    model: Rule
    operation: Operation
    point: Point
    roots: Mapping[str, str]

    @property
    def arguments(self) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for path, constraint in (self.model.arguments or {}).items():
            _put(made, parse_argument(path), self.argument(constraint))
        return made

    def argument(self, constraint: Constraint) -> Json:
        if constraint.equals is not None:
            return constraint.equals
        if constraint.in_ is not None:
            return constraint.in_[0]
        if constraint.under is not None:
            return next(iter(self.roots.values()))
        if constraint.min is not None or constraint.max is not None:
            return constraint.min if constraint.min is not None else constraint.max
        return _OF_TYPE[constraint.type or "string"]


def _put(into: dict[str, Json], steps: Steps, value: Json) -> None:
    """Set what stands at a path; one element stands for a list, and `**` needs nothing."""
    name, *rest = steps
    if not isinstance(name, str):
        return
    lists = 0
    while rest and rest[0] is Every.ELEMENT:
        lists += 1
        rest.pop(0)
    if rest and rest[0] is not Every.DEEP:
        there = into.get(name)
        inner: dict[str, Json] = dict(there) if isinstance(there, Mapping) else {}
        _put(inner, tuple(rest), value)
        value = inner
    for _ in range(lists):
        value = [value]
    into[name] = value


_PORTS: Final = {"http": "80", "https": "443"}
_Made = tuple[str, dict[str, Json], Resource]


def _path(given: _Given) -> _Made:
    path = given.point["path"]
    root = next(
        (n for n, top in given.roots.items() if path == top or path.startswith(top + "/")), None
    )
    resource = PathResource(operation=given.operation, path=path, root=root)
    content: dict[str, Json] = {"content": ""} if given.operation is Operation.FS_WRITE else {}
    return str(given.operation), {"path": path, **content}, resource


def _command(given: _Given) -> _Made:
    point = given.point
    argv = tuple(point["argv"].split(ARGV_SEPARATOR))
    if given.model.commands is None:
        subcommand = _GIT.get(given.operation)
        argv = (point["program"],) if subcommand is None else ("git", subcommand)
    program = basename(argv[0])
    resource = CommandResource(
        operation=given.operation,
        program=program,
        executable=argv[0] if argv[0].startswith("/") else f"/usr/bin/{program}",
        argv=argv,
        cwd=point["cwd"],
        grammar=given.model.commands is None,
    )
    return "shell.run", {"argv": list(argv), "cwd": point["cwd"]}, resource


def _url(given: _Given) -> _Made:
    point = given.point
    scheme = point["scheme"]
    port = "" if point["port"] == _PORTS.get(scheme) else f":{point['port']}"
    path = point["url_path"] if point["url_path"].startswith("/") else "/" + point["url_path"]
    host = f"[{point['host']}]" if ":" in point["host"] else point["host"]
    href = f"{scheme}://{host}{port}{path}"
    resource = UrlResource(
        href=href,
        scheme=scheme,
        host=point["host"],
        port=int(point["port"]) if point["port"].isdecimal() else 443,
        method=point["method"],
        path=path,
        query="",
    )
    return "net.request", {"url": href, "method": point["method"]}, resource


def _api(given: _Given) -> _Made:
    point = given.point
    resource = ApiResource(
        audience=point["audience"],
        api_operation=point["api_operation"],
        scope=point["api_scope"],
        arguments=given.arguments,
    )
    params: dict[str, Json] = {
        "audience": resource.audience,
        "operation": resource.api_operation,
        "arguments": given.arguments,
    }
    return "api.call", params, resource


def _mcp(given: _Given) -> _Made:
    point = given.point
    resource = McpResource(
        operation=given.operation,
        server=point["server"],
        name=point["tool"],
        arguments=given.arguments,
    )
    params: dict[str, Json] = {
        "server": point["server"],
        _NAMED_BY[given.operation]: point["tool"],
    }
    if given.operation is not Operation.MCP_RESOURCE:
        params["arguments"] = given.arguments
    return str(given.operation), params, resource


def _memory(given: _Given) -> _Made:
    memory = given.model.memory
    scope = (memory and memory.scope) or "session"
    sensitivity = (memory and memory.sensitivity) or "low"
    deny = given.model.effect == "deny"
    size = memory.max_bytes + 1 if memory and memory.max_bytes is not None and deny else 0
    resource = MemoryResource(scope=scope, sensitivity=sensitivity, size=size)
    params: dict[str, Json] = {"scope": scope, "sensitivity": sensitivity, "content": "x" * size}
    return "memory.write", params, resource


def _maker(operation: Operation) -> Callable[[_Given], _Made]:
    if operation in FS_OPERATIONS:
        return _path
    if operation in COMMAND_OPERATIONS:
        return _command
    return _OTHERS.get(operation, _memory)


_OTHERS: Final[Mapping[Operation, Callable[[_Given], _Made]]] = {
    Operation.NET_REQUEST: _url,
    Operation.API_CALL: _api,
    Operation.MCP_CALL: _mcp,
    Operation.MCP_RESOURCE: _mcp,
    Operation.MCP_PROMPT: _mcp,
}
