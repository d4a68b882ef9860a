"""The conditions of a rule as named predicates over one resource; engine and explain share them.

A condition holds, fails (the rule does not match), or denies: a constrained argument is missing, a
`taint: none` is not met, or the predicate itself broke. An outcome that denies counts only if the
other conditions hold, and never lets a later rule decide.

Denies compare caselessly and need one name or one element to match; allows and asks compare
exactly and need all. A value whose type a constraint cannot judge fails an allow and meets a deny.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Final, TypeAlias

from gateway.decide.glob import Caseless, Exact, Glob, fold
from gateway.model.names import (
    COMMAND_OPERATIONS,
    MEMORY_SCOPES,
    MEMORY_SENSITIVITIES,
    Effect,
    Operation,
)
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


class Outcome(Enum):
    """What one condition, or a whole rule, says of one resource; values are words of explain."""

    HOLDS = "holds"
    FAILS = "fails"
    MISSING = "argument_missing"
    TAINTED = "taint_condition"
    RATE = "rate_exceeded"
    BUDGET = "budget_exceeded"
    WHEN_FALSE = "when_false"
    WHEN_ERROR = "when_error"
    ERROR = "internal_error"


DENIES: Final = frozenset(Outcome) - {Outcome.HOLDS, Outcome.FAILS}

Test: TypeAlias = Callable[[Resource, Caller, SessionState], Outcome]
Condition: TypeAlias = tuple[str, Test]

SCOPES: Final = {word: place for place, word in enumerate(MEMORY_SCOPES)}
SENSITIVITIES: Final = {word: place for place, word in enumerate(MEMORY_SENSITIVITIES)}


def said(holds: bool) -> Outcome:  # noqa: FBT001  # the one place where a bool becomes a verdict
    """Return the outcome of a plain yes or no."""
    return Outcome.HOLDS if holds else Outcome.FAILS


def operations(names: Iterable[Operation]) -> Condition:
    """Hold if the resource's operation is one of these."""
    wanted = frozenset(names)
    return "operations", lambda resource, _caller, _state: said(resource.operation in wanted)


def resources(globs: Sequence[Glob], effect: Effect) -> Condition:
    """Hold if the path matches: any of its names for a deny, what it really is for the rest."""
    if effect is Effect.DENY:
        caseless = Caseless(globs)

        def any_name(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
            return said(
                isinstance(resource, PathResource)
                and (caseless.matches(resource.path) or any(map(caseless.matches, resource.also)))
            )

        return "resources", any_name
    exact = Exact(globs)

    def real_path(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
        return said(isinstance(resource, PathResource) and exact.matches(resource.path))

    return "resources", real_path


def basename(path: str) -> str:
    """Return the last component."""
    return path.rpartition("/")[2]


def names_of(resource: CommandResource) -> frozenset[str]:
    """Return every name a command goes by, caselessly."""
    first = resource.argv[0] if resource.argv else ""
    return frozenset(
        {fold(resource.program), fold(basename(resource.executable)), fold(basename(first))}
    )


def programs(names: Iterable[str], effect: Effect) -> Condition:
    """Hold if the program is one of these; a deny looks at every name it goes by."""
    wanted = frozenset(names)
    folded = frozenset(map(fold, wanted))

    def test(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
        if not isinstance(resource, CommandResource):
            return Outcome.FAILS
        if effect is Effect.DENY:
            return said(not folded.isdisjoint(names_of(resource)))
        return said(resource.program in wanted)

    return "programs", test


def commands(many: Iterable[Sequence[str]], effect: Effect) -> Condition:
    """Hold if the argv is exactly one of these; a deny knows the program by its base name, too."""
    wanted = frozenset(tuple(argv) for argv in many)
    folded = frozenset((fold(basename(argv[0])), *argv[1:]) for argv in wanted)

    def test(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
        if not isinstance(resource, CommandResource):
            return Outcome.FAILS
        if effect is Effect.DENY:
            return said(any((n, *resource.argv[1:]) in folded for n in names_of(resource)))
        return said(resource.argv in wanted)

    return "commands", test


def cwd(globs: Sequence[Glob], effect: Effect) -> Condition:
    """Hold if the command's working directory is one of these.

    What a command without a grammar runs is mostly found there (a Makefile, a test suite), so the
    compiler gives a rule with `commands` that names none the first root.
    """
    compiled = Caseless(globs) if effect is Effect.DENY else Exact(globs)
    return "cwd", lambda resource, _caller, _state: said(
        isinstance(resource, CommandResource) and compiled.matches(resource.cwd)
    )


def grammar() -> Condition:
    """Hold if a grammar parsed the command; every allow or ask without `commands` has it."""

    def test(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
        if resource.operation not in COMMAND_OPERATIONS:
            return Outcome.HOLDS
        return said(isinstance(resource, CommandResource) and resource.grammar)

    return "grammar", test


def hosts(patterns: Iterable[str]) -> Condition:
    """Hold if the host is one of these names, or beneath one of `*.name`; `*` is any."""
    wanted = frozenset(patterns)

    def test(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
        return said(
            isinstance(resource, UrlResource) and not wanted.isdisjoint(host_keys(resource.host))
        )

    return "hosts", test


def host_keys(host: str) -> tuple[str, ...]:
    """Return every pattern that matches a host."""
    labels = host.split(".")
    return (host, "*", *("*." + ".".join(labels[i:]) for i in range(1, len(labels))))


def methods(names: Iterable[str]) -> Condition:
    """Hold if the method is one of these."""
    wanted = frozenset(names)
    return "methods", lambda resource, _caller, _state: said(
        isinstance(resource, UrlResource) and resource.method in wanted
    )


def schemes(names: Iterable[str]) -> Condition:
    """Hold if the scheme is one of these."""
    wanted = frozenset(names)
    return "schemes", lambda resource, _caller, _state: said(
        isinstance(resource, UrlResource) and resource.scheme in wanted
    )


def ports(numbers: Iterable[int]) -> Condition:
    """Hold if the port is one of these."""
    wanted = frozenset(numbers)
    return "ports", lambda resource, _caller, _state: said(
        isinstance(resource, UrlResource) and resource.port in wanted
    )


def paths(prefixes: Iterable[str], effect: Effect) -> Condition:
    """Hold if the URL's path is one of these or beneath it, by whole components."""
    form = fold if effect is Effect.DENY else str
    wanted = tuple(form(prefix.rstrip("/")) for prefix in prefixes)

    def test(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
        if not isinstance(resource, UrlResource):
            return Outcome.FAILS
        path = form(resource.path)
        return said(any(path == prefix or path.startswith(prefix + "/") for prefix in wanted))

    return "paths", test


def api(audience: str, names: Iterable[str], scope: str | None) -> Condition:
    """Hold if the call is one of the audience's operations named here, with the scope if named."""
    wanted = frozenset(names)
    return "api", lambda resource, _caller, _state: said(
        isinstance(resource, ApiResource)
        and resource.audience == audience
        and resource.api_operation in wanted
        and scope in {None, resource.scope}
    )


def mcp_names(key: str, globs: Sequence[Glob], effect: Effect) -> Condition:
    """Hold if the server (`servers`), the tool (`tools`) or the URI (`uris`) is one of these."""
    compiled = Caseless(globs) if effect is Effect.DENY else Exact(globs)

    def test(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
        if not isinstance(resource, McpResource):
            return Outcome.FAILS
        return said(compiled.matches(resource.server if key == "servers" else resource.name))

    return key, test


def memory(
    scope: str | None, sensitivity: str | None, max_bytes: int | None, effect: Effect
) -> Condition:
    """Hold up to each bound for an allow; from each on, and for unknown words, for a deny."""

    def within(bound: str | None, value: str, order: dict[str, int]) -> bool:
        if bound is None:
            return True
        if value not in order:
            return effect is Effect.DENY
        if effect is Effect.DENY:
            return order[value] >= order[bound]
        return order[value] <= order[bound]

    def small(size: int) -> bool:
        if max_bytes is None:
            return True
        return size > max_bytes if effect is Effect.DENY else size <= max_bytes

    def test(resource: Resource, _caller: Caller, _state: SessionState) -> Outcome:
        return said(
            isinstance(resource, MemoryResource)
            and within(scope, resource.scope, SCOPES)
            and within(sensitivity, resource.sensitivity, SENSITIVITIES)
            and small(resource.size)
        )

    return "memory", test


def identities(names: Iterable[str]) -> Condition:
    """Hold if the user, as the door proved it, is one of these."""
    wanted = frozenset(names)
    return "identities", lambda _resource, caller, _state: said(caller.user in wanted)


def taint_none() -> Condition:
    """Hold if the session is clean; one that is not denies here, and no later rule decides."""
    return (
        "taint",
        lambda _resource, _caller, state: Outcome.TAINTED if state.taint else Outcome.HOLDS,
    )


def taint_any(words: Iterable[str]) -> Condition:
    """Hold if the session has at least one of these taints."""
    wanted = frozenset(words)
    return "taint_any", lambda _resource, _caller, state: said(
        not wanted.isdisjoint(str(word) for word in state.taint)
    )
