"""What a rule covers, as a product: one set of strings for each thing a condition looks at.

A rule gives one area for each of its operations. Every dimension is a :class:`Language`, so one
search answers for paths, hosts, programs, tools and users alike. A condition that is not understood
here makes the area `narrowed`: the rule then covers at most this, so it can be covered by others
and meet them, but never counts as covering. So does every key of a rule this module has not heard
of. What a rule decides although it denies there (`taint: none`, `limits` or `when` not met) is
covered by it.

A union of rules is found to cover an area when those that cover it in all dimensions but one do so
together in that one. Covers that need more than one dimension are not found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gateway.decide.analysis.automata import (
    Form,
    Language,
    Search,
    Verdict,
    difference,
    may_meet,
    overlap,
)
from gateway.decide.analysis.automata import witness as search
from gateway.decide.compile import CompiledRule, Policy
from gateway.decide.conditions import basename
from gateway.decide.glob import Caseless, Exact, Glob, Wild
from gateway.decide.parse import Place
from gateway.decide.resolve import Resolver
from gateway.decide.schema import Rule
from gateway.model.names import COMMAND_OPERATIONS, FS_OPERATIONS, Effect, Operation

Point: TypeAlias = Mapping[str, str]
"""One string for each dimension: an act in the area."""

ARGV_SEPARATOR: Final = "\0"

_COMMANDS: Final = ("program", "argv", "cwd", "grammar")
_MCP: Final = ("server", "tool")
_DIMENSIONS: Final[Mapping[Operation, tuple[str, ...]]] = {
    **dict.fromkeys(FS_OPERATIONS, ("path",)),
    **dict.fromkeys(COMMAND_OPERATIONS, _COMMANDS),
    Operation.NET_REQUEST: ("scheme", "host", "method", "port", "url_path"),
    Operation.API_CALL: ("audience", "api_operation", "api_scope"),
    Operation.MCP_CALL: _MCP,
    Operation.MCP_RESOURCE: _MCP,
    Operation.MCP_PROMPT: _MCP,
}
_FORMS: Final = {"path": Form.PATH, "cwd": Form.PATH}

# What is tried before a search, so that a witness looks like an act one has seen.
_LIKELY: Final[Mapping[str, tuple[str, ...]]] = {
    "user": ("someone",),
    "program": ("cat", "git", "python3"),
    "grammar": ("yes",),
    "scheme": ("https", "http"),
    "host": ("example.com", "www.example.com"),
    "method": ("GET", "POST"),
    "port": ("443", "80"),
    "url_path": ("/",),
    "server": ("server",),
    "tool": ("tool",),
    "api_scope": ("scope",),
}

# Keys that are modelled here, and keys that leave what the rule covers as it is.
MODELLED: Final = frozenset(
    {"resources", "programs", "commands", "cwd", "hosts", "methods", "ports", "paths", "api"}
    | {"servers", "tools", "uris", "schemes", "identities"}
)
NEUTRAL: Final = frozenset(
    {"id", "effect", "operations", "hardlinks", "sandbox", "taint", "limits", "when"}
    | {"approval", "audit", "redact", "examples", "justification"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """What a rule covers of one operation; at most that, when it is `narrowed`."""

    rule: CompiledRule
    operation: Operation
    sets: Mapping[str, Language]
    narrowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """Whether an area is covered, and the rules that do it; `undetermined` is not covered."""

    verdict: Verdict
    by: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing of the area is left."""
        return self.verdict is Verdict.NONE


def anything(dimension: str) -> Language:
    """Return the set of everything."""
    token = Wild.SUBTREE if form_of(dimension) is Form.PATH else Wild.NAME_RUN
    return Language(exact=(Glob(text="*", tokens=(token,)),))


def form_of(dimension: str) -> Form:
    """Return what the strings of a dimension are."""
    return _FORMS.get(dimension, Form.NAME)


def literals(values: Sequence[str], *, caseless: bool = False) -> Language:
    """Return the set of these strings."""
    globs = tuple(Glob(text=value, tokens=(value,)) for value in values if value)
    return Language(caseless=globs) if caseless else Language(exact=globs)


def areas(policy: Policy, variables: Mapping[str, str]) -> tuple[Area, ...]:
    """Return the areas of every rule, in file order; `variables` as they were compiled with."""
    resolver = Resolver(groups=policy.document.groups, variables={**variables, **policy.roots})
    first = next(iter(policy.roots.values()))
    return tuple(area for rule in policy.rules for area in _areas_of(rule, resolver, first))


def covered(area: Area, by: Sequence[Area]) -> Cover:
    """Say whether these areas, together, leave nothing of one."""
    able = [one for one in by if not one.narrowed and _may_meet(area, one)]
    undetermined = False
    for pivot in area.sets:
        rest = [name for name in area.sets if name != pivot]
        others = [one for one in able if all(_within(area, one, name) for name in rest)]
        if not others:
            continue
        union = Language()
        for one in others:
            union |= one.sets[pivot]
        found = difference(area.sets[pivot], union, form=form_of(pivot))
        if found.none:
            ids = tuple(one.rule.id for one in others if _meets(area, one, pivot))
            return Cover(verdict=Verdict.NONE, by=tuple(dict.fromkeys(ids)))
        undetermined = undetermined or found.verdict is Verdict.UNDETERMINED
    return Cover(verdict=Verdict.UNDETERMINED if undetermined else Verdict.FOUND)


def point_in(
    area: Area,
    *,
    also: Area | None = None,
    never: Mapping[str, Language] | None = None,
    likely: Mapping[str, Sequence[str]] | None = None,
) -> Point | None:
    """Return an act in an area, and in another, outside the sets of `never`; None for none.

    Args:
        area: the area.
        also: a second area of the same operation.
        never: for a dimension, what its string must not be in.
        likely: for a dimension, strings to try first.
    """
    if also is not None and not _may_meet(area, also):
        return None
    found = {}
    for name, language in area.sets.items():
        inside = [language] if also is None else [language, also.sets[name]]
        outside = (never or {}).get(name, Language())
        tried = ((likely or {}).get(name) or ()), _LIKELY.get(name, ())
        text = _likely([*tried[0], *tried[1]], inside, outside)
        if text is None:
            one = search(inside, outside, form=form_of(name))
            if not one.found:
                return None
            text = one.witness
        found[name] = text
    return found


def _likely(texts: Sequence[str], inside: Sequence[Language], outside: Language) -> str | None:
    for text in texts:
        if all(has(one, text) for one in inside) and not has(outside, text):
            return text
    return None


def has(language: Language, text: str) -> bool:
    """Return whether a string lies in a set, by the matcher that decides."""
    return Exact(language.exact).matches(text) or Caseless(language.caseless).matches(text)


def _may_meet(area: Area, other: Area) -> bool:
    """Tell quickly that two areas cannot meet."""
    return other.operation is area.operation and all(
        may_meet(area.sets[name], other.sets[name]) for name in area.sets
    )


def _within(area: Area, other: Area, name: str) -> bool:
    mine, theirs = area.sets[name], other.sets[name]
    return theirs == anything(name) or difference(mine, theirs, form=form_of(name)).none


def _meets(area: Area, other: Area, name: str) -> bool:
    found: Search = overlap(area.sets[name], other.sets[name], form=form_of(name))
    return not found.none


def _areas_of(rule: CompiledRule, resolver: Resolver, first: str) -> list[Area]:
    sets = {
        name: language
        for key, make in _SETS.items()
        if getattr(rule.model, key, None) is not None
        for name, language in make(_Given(rule=rule, resolver=resolver)).items()
    }
    granting = rule.effect is not Effect.DENY
    if granting and rule.model.commands is None:
        sets["grammar"] = literals(["yes"])
    if granting and rule.model.commands is not None and rule.model.cwd is None:
        sets["cwd"] = literals([first])
    narrowed = bool(_said(rule.model) - MODELLED - NEUTRAL)
    return [
        Area(
            rule=rule,
            operation=operation,
            sets={
                name: sets.get(name, anything(name))
                for name in ("user", *_DIMENSIONS.get(operation, ()))
            },
            narrowed=narrowed or operation not in _DIMENSIONS,
        )
        for operation in rule.model.operations
    ]


def _said(model: Rule) -> frozenset[str]:
    """Return the keys a rule says something by."""
    return frozenset(name for name in type(model).model_fields if getattr(model, name) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    rule: CompiledRule
    resolver: Resolver

    @property
    def model(self) -> Rule:
        return self.rule.model

    @property
    def deny(self) -> bool:
        return self.rule.effect is Effect.DENY

    def at(self, key: str) -> Place:
        return self.rule.place.at(key)

    def words(self, key: str) -> tuple[str, ...]:
        return self.resolver.expand(getattr(self.model, key), self.at(key))

    def compared(self, globs: tuple[Glob, ...]) -> Language:
        return Language(caseless=globs) if self.deny else Language(exact=globs)


def _commands(given: _Given) -> dict[str, Language]:
    argvs = given.model.commands or ()
    made = {"argv": literals([ARGV_SEPARATOR.join(argv) for argv in argvs])}
    if given.model.programs is None:
        made["program"] = literals([basename(argv[0]) for argv in argvs])
    return made


def _host(pattern: str) -> Glob:
    if pattern == "*":
        return Glob(text=pattern, tokens=(Wild.NAME_RUN,))
    if pattern.startswith("*."):
        return Glob(text=pattern, tokens=(Wild.NAME_ONE, Wild.NAME_RUN, pattern[1:]))
    return Glob(text=pattern, tokens=(pattern,))


def _hosts(given: _Given) -> dict[str, Language]:
    hosts = given.resolver.hosts(given.model.hosts or (), given.at("hosts"))
    return {"host": Language(exact=tuple(map(_host, hosts)))}


def _url_paths(given: _Given) -> dict[str, Language]:
    globs = []
    for prefix in given.model.paths or ():
        plain = prefix.rstrip("/")
        tokens = (plain, Wild.SUBTREE) if plain else (Wild.SUBTREE,)
        globs.append(Glob(text=prefix, tokens=tokens))
    return {"url_path": given.compared(tuple(globs))}


def _api(given: _Given) -> dict[str, Language]:
    api = given.model.api
    if api is None:
        return {}
    made = {"audience": literals([api.audience]), "api_operation": literals(api.operations)}
    return made if api.scope is None else {**made, "api_scope": literals([api.scope])}


def _mcp(key: str, dimension: str) -> Callable[[_Given], dict[str, Language]]:
    def make(given: _Given) -> dict[str, Language]:
        globs = given.resolver.names(getattr(given.model, key), given.at(key))
        return {dimension: given.compared(globs)}

    return make


_SETS: Final[Mapping[str, Callable[[_Given], dict[str, Language]]]] = {
    "resources": lambda given: {"path": given.compared(given.rule.globs)},
    "programs": lambda given: {"program": literals(given.words("programs"), caseless=given.deny)},
    "commands": _commands,
    "cwd": lambda given: {
        "cwd": given.compared(given.resolver.globs(given.model.cwd or (), given.at("cwd")))
    },
    "hosts": _hosts,
    "methods": lambda given: {"method": literals(given.model.methods or ())},
    "ports": lambda given: {"port": literals([str(one) for one in given.model.ports or ()])},
    "paths": _url_paths,
    "api": _api,
    "servers": _mcp("servers", "server"),
    "tools": _mcp("tools", "tool"),
    "uris": _mcp("uris", "tool"),
    "schemes": lambda given: {"scheme": literals(given.model.schemes or ())},
    "identities": lambda given: {"user": literals(given.words("identities"))},
}
