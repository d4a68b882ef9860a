"""`when`: a CEL expression that may only narrow what a rule has matched.

    when: size(params.attendees) <= 5 && taint == []

It is compiled when the policy is, and sees the act and the session, nothing else: no clock, no
input or output. Whatever is not `true` denies, and no later rule decides: `false` is `when_false`;
an error, a result that is no boolean, or an input too large to be judged cheaply is `when_error`.

What could be slow or mean two things is refused at load: names and functions not listed here,
macros inside macros, `map` and `filter`, `+`, `matches` (a regular expression), times; escapes,
raw, bytes and triple-quoted strings, comments. What remains makes no value larger than its input,
and what a macro could read once for every element is bounded with it.

Source: the Common Expression Language specification (github.com/google/cel-spec), evaluated by
the library `common-expression-language`; there, `size` of a text counts its UTF-8 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gateway.decide.conditions import Condition, Outcome
from gateway.errors import CounterfoilError
from gateway.model.names import COMMAND_OPERATIONS, FS_OPERATIONS, Json, Operation
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

if TYPE_CHECKING:
    import cel

MAX_NODES: Final = 2_000
MAX_TEXT: Final = 65_536
MAX_WORK: Final = 5_000_000

NAMES: Final = frozenset({"operation", "resource", "params", "user", "door", "taint"})
FUNCTIONS: Final = frozenset(
    {"size", "startsWith", "endsWith", "contains", "int", "double", "string"}
)
_SHOWN: Final[Mapping[type, tuple[str, ...]]] = {
    PathResource: ("path", "root", "size"),
    CommandResource: ("program", "argv", "cwd"),
    UrlResource: ("scheme", "host", "port", "method", "path", "query"),
    ApiResource: ("audience", "scope"),
    McpResource: ("server", "name"),
    MemoryResource: ("scope", "sensitivity", "size"),
}
"""What of each resource an expression sees as `resource`."""
_KINDS: Final[Mapping[Operation, type]] = {
    **dict.fromkeys(FS_OPERATIONS, PathResource),
    **dict.fromkeys(COMMAND_OPERATIONS, CommandResource),
    Operation.NET_REQUEST: UrlResource,
    Operation.API_CALL: ApiResource,
    Operation.MCP_CALL: McpResource,
    Operation.MCP_RESOURCE: McpResource,
    Operation.MCP_PROMPT: McpResource,
    Operation.MEMORY_WRITE: MemoryResource,
}
_MEMBER: Final = re.compile(r"\bresource\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)")
_NAME: Final = re.compile(rf"\b({'|'.join(sorted(NAMES))})\b")
_MACROS: Final = ("all", "exists", "exists_one")

_TEXT: Final = re.compile(r'"[^"\\\n]*"|\'[^\'\\\n]*\'')
_PREFIXED: Final = re.compile(r"[A-Za-z]['\"]")
_MACRO: Final = re.compile(rf"\.\s*({'|'.join(_MACROS)})\s*\(")
_BINDS: Final = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*,")
_OPERATOR: Final = re.compile(r"[^a-zA-Z]")


class WhenError(CounterfoilError):
    """The expression is refused; the message says why."""

    code = "policy_invalid"


def when(source: str, operations: Iterable[Operation] = ()) -> Condition:
    """Hold if the expression is true.

    With `operations` given, a member of `resource` that none of them has is refused.

    Raises:
        WhenError: it does not compile, or is outside what the module accepts.
    """
    program = compile_when(source)
    _check_members(source, operations)
    again = _again(_without_texts(source))

    def test(resource: Resource, caller: Caller, state: SessionState) -> Outcome:
        seen = view(resource, caller, state)
        if not _small(seen, again):
            return Outcome.WHEN_ERROR
        try:
            result = program.execute(seen)
        except Exception:  # noqa: BLE001  # whatever the fault is, it permits nothing
            return Outcome.WHEN_ERROR
        if result is True:
            return Outcome.HOLDS
        return Outcome.WHEN_FALSE if result is False else Outcome.WHEN_ERROR

    return "when", test


def _check_members(source: str, operations: Iterable[Operation]) -> None:
    kinds = {_KINDS[operation] for operation in operations if operation in _KINDS}
    if not kinds:
        return
    known = {name for kind in kinds for name in members(kind)}
    for name in _MEMBER.findall(_without_texts(source)):
        if name not in known:
            raise WhenError(
                f"resource has no member {name!r} here (it has: {', '.join(sorted(known))})"
            )


def members(kind: type) -> tuple[str, ...]:
    """Return the members of `resource` for a kind of resource."""
    return (*_SHOWN[kind], "operation") if kind is ApiResource else _SHOWN[kind]


def view(resource: Resource, caller: Caller, state: SessionState) -> dict[str, Any]:
    """Return what an expression sees."""
    called = resource.arguments if isinstance(resource, (ApiResource, McpResource)) else {}
    return {
        "operation": str(resource.operation),
        "resource": _resource(resource),
        "params": dict(called),
        "user": caller.user,
        "door": caller.door,
        "taint": sorted(map(str, state.taint)),
    }


def _resource(resource: Resource) -> dict[str, Any]:
    shown = {name: getattr(resource, name) for name in _SHOWN[type(resource)]}
    if isinstance(resource, ApiResource):
        shown["operation"] = resource.api_operation
    return shown


def compile_when(source: str) -> cel.Program:
    """Compile an expression. Raises as `when` does."""
    code = _without_texts(source)
    bound = _check_macros(code)
    import cel  # slow to load, and few policies need it

    try:
        program = cel.compile(source)
    except Exception as error:  # noqa: BLE001  # its own types; the text quotes our input only
        lines = str(error).splitlines() or [""]
        raise WhenError(f"it does not compile: {lines[0][:200]}") from None
    unknown = [name for name in program.variables() if name not in NAMES | bound]
    if unknown:
        raise WhenError(f"unknown name {unknown[0]!r} (known: {', '.join(sorted(NAMES))})")
    for name in program.functions():
        if name not in FUNCTIONS and not _OPERATOR.match(name):
            raise WhenError(f"no such function {name!r} (known: {', '.join(sorted(FUNCTIONS))})")
    return program


def _without_texts(source: str) -> str:
    """Return the expression with its texts emptied; refuse what hides where a text ends."""
    if not source.isprintable():
        raise WhenError("it is one line of printable text")
    for mark, name in (("\\", "escapes"), ("`", "quoted names"), ('"""', "triple quotes"),
                       ("'''", "triple quotes")):  # fmt: skip
        if mark in source:
            raise WhenError(f"it has {name} ({mark}), which are not accepted")
    code = _TEXT.sub('""', source)
    if "+" in code:
        raise WhenError("it has a `+`, which is not accepted: nothing here makes larger values")
    if "//" in code:
        raise WhenError("it has a comment, which is not accepted")
    if _PREFIXED.search(code) or "'" in code:
        raise WhenError("it has a raw or bytes string, or a text that does not end")
    return code


def _check_macros(code: str) -> frozenset[str]:
    """Return the names the macros bind; refuse a macro inside a macro."""
    refused = re.search(r"\.\s*(map|filter)\s*\(", code)
    if refused is not None:
        raise WhenError(f"`{refused[1]}` is not accepted: write {', '.join(_MACROS)}")
    bound = set()
    ends = 0
    for match in _MACRO.finditer(code):
        if match.start() < ends:
            raise WhenError("a macro inside a macro is not accepted")
        ends = _closing(code, match.end())
        binds = _BINDS.match(code, match.end())
        if binds is None:
            raise WhenError(f"`{match[1]}` takes a name and a condition, as in `l.all(x, x > 1)`")
        bound.add(binds[1])
    if taken := bound & NAMES:
        raise WhenError(f"{min(taken)!r} has a meaning already: bind another name")
    return frozenset(bound)


def _closing(code: str, start: int) -> int:
    depth = 1
    for at in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code)


def _again(code: str) -> int:
    """Return how often a macro's condition speaks of something beside what it binds.

    Such a thing may be looked at as a whole once for every element.
    """
    return sum(
        len(_NAME.findall(code[match.end() : _closing(code, match.end())]))
        for match in _MACRO.finditer(code)
    )


def _small(seen: Json, again: int) -> bool:
    """Whether judging it is cheap: how many values, how much text, looked at how often."""
    nodes, size = 0, 0
    waiting: list[Json] = [seen]
    while waiting:
        value = waiting.pop()
        nodes += 1
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, Mapping):
            waiting.extend(value)
            waiting.extend(value.values())
        elif isinstance(value, Sequence):
            waiting.extend(value)
        if nodes + len(waiting) > MAX_NODES or size > MAX_TEXT:
            return False
    return nodes * (nodes + size) * again <= MAX_WORK
