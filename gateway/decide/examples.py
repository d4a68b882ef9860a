"""Checks the examples of a policy: `match` must be decided by the rule, `not_match` must not.

Examples are requests as an agent would make them. Since deciding does no I/O, they are normalized
by spelling alone: a path is resolved lexically against `cwd`, or the first root; a file has one
name; no symlink, grammar, walk or catalogue is known, file operands of commands are not judged,
and every program counts as one with a grammar. `${root}` at the start of a text is that root. A
`command_line` is split at spaces and may not need a shell. An API call takes the scope its rule
names. The caller is the rule's first identity, the session as clean as the rule allows. What that
cannot show is for `counterfoil policy test`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import ada_url

from gateway.decide.builtin import resolved
from gateway.decide.compile import CompiledRule, Policy
from gateway.decide.conditions import basename
from gateway.decide.engine import Decide
from gateway.decide.schema import Example
from gateway.errors import PolicyError
from gateway.model.action import Action
from gateway.model.names import FS_OPERATIONS, TOOLS, Operation, Taint
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

_SHELL: Final = frozenset("\"'`$\\|&;<>(){}[]*?~#!\n")
_GIT_READ: Final = frozenset({"status", "log", "diff", "show", "branch"})
_GIT_REMOTE: Final = frozenset({"push", "fetch", "pull", "clone", "ls-remote", "remote"})


class _Unusable(Exception):  # noqa: N818  # never leaves this module
    """The example is no request that can be judged purely."""


def check_examples(policy: Policy) -> list[PolicyError]:
    """Return one error, with file and line, for each example that does not hold."""
    decider = Decide(policy)
    errors = []
    for rule in policy.rules:
        examples = rule.model.examples
        if examples is None:
            continue
        for key, wanted in (("match", True), ("not_match", False)):
            for i, example in enumerate(getattr(examples, key)):
                fault = _fault(decider, rule, example, wanted=wanted)
                if fault is not None:
                    errors.append(rule.place.at("examples", key, i).error(fault))
    return errors


def _fault(decider: Decide, rule: CompiledRule, example: Example, *, wanted: bool) -> str | None:
    try:
        filled = _filled(dict(example.params), decider.policy.roots)
        example = example.model_copy(update={"params": filled})
        resource = _resource(example, rule, decider.policy.roots)
    except _Unusable as error:
        return str(error)
    action = Action(
        tool=example.tool,
        operation=resource.operation,
        normalized={},
        digest="",
        resources=(resource,),
    )
    decision = decider.decide(action, _caller(rule), _state(rule))
    if (decision.rule == rule.id) is wanted:
        return None
    verb = "must be decided" if wanted else "must not be decided"
    return f"{verb} by {rule.id}, but is: {decision.effect.word} by {decision.rule}"


def _filled(value: Any, roots: Mapping[str, str]) -> Any:
    """Fill in a root's variable at the start of a text, as in a file of cases."""
    if isinstance(value, str):
        for name, root in roots.items():
            if value.startswith(f"${{{name}}}"):
                return root + value.removeprefix(f"${{{name}}}")
        return value
    if isinstance(value, Mapping):
        return {name: _filled(member, roots) for name, member in value.items()}
    if isinstance(value, tuple):
        return tuple(_filled(member, roots) for member in value)
    return value


def _caller(rule: CompiledRule) -> Caller:
    named = [name for name in rule.model.identities or () if not name.startswith("@")]
    user = named[0] if named else "example"
    return Caller(user=user, uid=0, door="example", session="example", scope="example")


def _state(rule: CompiledRule) -> SessionState:
    return SessionState(taint=frozenset(map(Taint, rule.model.taint_any or ())))


def _resource(example: Example, rule: CompiledRule, roots: Mapping[str, str]) -> Resource:
    if example.tool not in TOOLS:
        raise _Unusable(f"no such tool {example.tool[:64]!r}")
    if example.tool in FS_OPERATIONS:
        path = resolved(_text(example, "path"), _cwd(example, roots))
        return PathResource(
            operation=Operation(example.tool), path=path, root=_root_of(path, roots)
        )
    return _MAKERS[example.tool](example, rule, roots)


def _command(example: Example, _rule: CompiledRule, roots: Mapping[str, str]) -> Resource:
    argv = example.params.get("argv")
    if argv is None:
        line = _text(example, "command_line")
        if not _SHELL.isdisjoint(line):
            raise _Unusable("an example line is plain words: write `argv` instead")
        argv = tuple(line.split())
    if not isinstance(argv, tuple) or not argv or not all(isinstance(a, str) for a in argv):
        raise _Unusable("`argv` is a list of strings")
    program = basename(argv[0])
    operation = Operation.SHELL_RUN
    if program == "git":
        words = [word for word in argv[1:] if not word.startswith("-")]
        subcommand = words[0] if words else ""
        operation = (
            Operation.GIT_READ
            if subcommand in _GIT_READ
            else Operation.GIT_REMOTE
            if subcommand in _GIT_REMOTE
            else Operation.GIT_WRITE
        )
    return CommandResource(
        operation=operation,
        program=program,
        executable=argv[0],
        argv=argv,
        cwd=_cwd(example, roots),
        grammar=True,
    )


def _url(example: Example, _rule: CompiledRule, _roots: Mapping[str, str]) -> Resource:
    try:
        url = ada_url.URL(_text(example, "url"))
    except ValueError:
        raise _Unusable("`url` does not parse") from None
    scheme = url.protocol.rstrip(":")
    ports = {"http": 80, "https": 443}
    if scheme not in ports:
        raise _Unusable("`url` is http or https")
    return UrlResource(
        href=url.href,
        scheme=scheme,
        host=url.hostname.strip("[]").rstrip("."),
        port=int(url.port) if url.port else ports[scheme],
        method=str(example.params.get("method", "GET")).upper(),
        path=url.pathname,
        query=url.search,
    )


def _api(example: Example, rule: CompiledRule, _roots: Mapping[str, str]) -> Resource:
    scope = None if rule.model.api is None else rule.model.api.scope
    return ApiResource(
        audience=_text(example, "audience"),
        api_operation=_text(example, "operation"),
        scope=scope or "",
        arguments=_arguments(example),
    )


def _mcp(operation: Operation, key: str) -> Callable[..., Resource]:
    def make(example: Example, _rule: CompiledRule, _roots: Mapping[str, str]) -> Resource:
        return McpResource(
            operation=operation,
            server=_text(example, "server"),
            name=_text(example, key),
            arguments=_arguments(example),
        )

    return make


def _memory(example: Example, _rule: CompiledRule, _roots: Mapping[str, str]) -> Resource:
    return MemoryResource(
        scope=_text(example, "scope"),
        sensitivity=_text(example, "sensitivity"),
        size=len(_text(example, "content").encode("utf-8", "replace")),
    )


_MAKERS: Final[Mapping[str, Callable[..., Resource]]] = {
    "shell.run": _command,
    "net.request": _url,
    "api.call": _api,
    "mcp.call": _mcp(Operation.MCP_CALL, "tool"),
    "mcp.resource": _mcp(Operation.MCP_RESOURCE, "uri"),
    "mcp.prompt": _mcp(Operation.MCP_PROMPT, "name"),
    "memory.write": _memory,
}


def _text(example: Example, key: str) -> str:
    value = example.params.get(key)
    if not isinstance(value, str) or not value:
        raise _Unusable(f"`{example.tool}` needs the string `{key}`")
    return value


def _arguments(example: Example) -> Mapping[str, Any]:
    value = example.params.get("arguments", {})
    if not isinstance(value, Mapping):
        raise _Unusable("`arguments` is a mapping")
    return value


def _cwd(example: Example, roots: Mapping[str, str]) -> str:
    first = next(iter(roots.values()))
    cwd = example.params.get("cwd", ".")
    if not isinstance(cwd, str):
        raise _Unusable("`cwd` is a string")
    return resolved(cwd, first)


def _root_of(path: str, roots: Mapping[str, str]) -> str | None:
    for name, root in roots.items():
        if path == root or path.startswith(root + "/"):
            return name
    return None
