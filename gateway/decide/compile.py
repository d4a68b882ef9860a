"""A document and the real roots in, a policy out: names resolved, globs parsed, rules filed.

Everything a rule refers to must exist: groups, variables, roots. Refused with file and line, so
that a policy which compiles has no condition that can never be judged. The digest is over the
effective policy: after includes, groups and variables, without examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, TypeAlias

from gateway.decide import conditions
from gateway.decide.arguments import arguments
from gateway.decide.conditions import DENIES, Condition, Outcome
from gateway.decide.glob import (
    Caseless,
    Glob,
    GlobError,
    covering,
    fold,
    regex,
)
from gateway.decide.index import Index, Key, Keys, build, glob_key
from gateway.decide.limits import limits
from gateway.decide.parse import Place, PolicyDocument
from gateway.decide.resolve import Resolver
from gateway.decide.schema import ABSTAIN, Authority, Limits, Rule
from gateway.decide.when import WhenError, when
from gateway.kit import canon
from gateway.model.names import COMMAND_OPERATIONS, Effect, Json, Operation
from gateway.model.request import Caller
from gateway.model.resource import Resource
from gateway.model.session import SessionState

DIGEST_PREFIX: Final = "policy-v1:"

_SHOWN: Final = 2
_WIDTH: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRule:
    """A rule as a list of named conditions; `globs` are those of `resources`."""

    id: str
    effect: Effect
    model: Rule
    place: Place
    conditions: tuple[Condition, ...]
    globs: tuple[Glob, ...]

    def judge(
        self, resource: Resource, caller: Caller, state: SessionState
    ) -> tuple[Outcome, str | None]:
        """Return the rule's outcome and the condition it comes from (None when all hold).

        A condition that fails ends it; one that denies counts only if no other fails. A predicate
        that raises denies: whatever the fault is, the rule permits nothing.
        """
        kept: tuple[Outcome, str | None] = (Outcome.HOLDS, None)
        for name, test in self.conditions:
            try:
                outcome = test(resource, caller, state)
            except Exception:  # noqa: BLE001  # deny, reason internal_error
                outcome = Outcome.ERROR
            if outcome is Outcome.FAILS:
                return outcome, name
            if outcome in DENIES and kept[1] is None:
                kept = (outcome, name)
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A compiled policy. `rules` stand in file order; the indexes hold positions in it.

    `layer` stands in front of the ids of its rules; it is empty for the policy that decides. A
    `default` of None leaves what no rule matches to the other layers.
    """

    document: PolicyDocument
    layer: str
    digest: str
    default: Effect | None
    roots: Mapping[str, str]
    protected: Caseless
    protected_globs: tuple[Glob, ...]
    rules: tuple[CompiledRule, ...]
    denies: Index
    grants: Index
    granting: Mapping[Operation, tuple[str, ...]]
    limits: Limits
    labels: Mapping[str, Mapping[str, str]]
    authority: Mapping[str, Authority]

    @property
    def denied(self) -> Caseless:
        """The names that deny: the protected entries, and those of every deny rule's files."""
        denies = (rule.globs for rule in self.rules if rule.effect is Effect.DENY)
        return Caseless([*self.protected_globs, *chain.from_iterable(denies)])

    @property
    def unreadable(self) -> tuple[Glob, ...]:
        """The protected globs, and those of every rule that may deny reading what they match."""
        denied = (
            glob
            for rule in self.rules
            if rule.effect is Effect.DENY and Operation.FS_READ in rule.model.operations
            for glob in rule.globs
        )
        return (*self.protected_globs, *denied)


def compile_policy(
    document: PolicyDocument,
    *,
    roots: Mapping[str, str],
    variables: Mapping[str, str],
    layer: str = "",
) -> Policy:
    """Compile a document.

    Args:
        document: what :func:`gateway.decide.parse.parse` returned.
        roots: for each root of the document its absolute path without symlinks.
        variables: further variables, such as `home`.
        layer: the name of a layer beside the policy that decides.

    Raises:
        PolicyError: with file and line.
    """
    _check_roots(document, roots, variables)
    resolver = Resolver(groups=document.groups, variables={**variables, **roots})
    if document.default == ABSTAIN and not layer:
        document.main.at("default").fail(
            "only a policy that narrows another may abstain: write `deny` or `ask`"
        )
    compiler = _Compiler(document=document, roots=roots, resolver=resolver, layer=layer)
    protected = tuple(
        covering(glob)
        for entry, place in document.protected
        for glob in resolver.paths(entry, place)
    )
    rules = tuple(compiler.rule(rule, place) for rule, place in document.rules)
    filed = [
        (position, frozenset(rule.model.operations), compiler.keys(rule))
        for position, rule in enumerate(rules)
    ]
    granting: dict[Operation, list[str]] = {}
    for rule in rules:
        if rule.effect is not Effect.DENY:
            for operation in rule.model.operations:
                granting.setdefault(operation, []).append(_summary(rule))
    try:
        tested = Caseless(protected)
    except GlobError as error:
        document.main.at("protected").fail(str(error))
    return Policy(
        document=document,
        layer=layer,
        digest=compiler.digest(protected, rules),
        default=None if document.default == ABSTAIN else Effect[document.default.upper()],
        roots=dict(roots),
        protected=tested,
        protected_globs=protected,
        rules=rules,
        denies=build([entry for entry in filed if rules[entry[0]].effect is Effect.DENY]),
        grants=build([entry for entry in filed if rules[entry[0]].effect is not Effect.DENY]),
        granting={operation: tuple(ids) for operation, ids in granting.items()},
        limits=document.limits,
        labels=document.labels,
        authority=document.authority,
    )


def in_layer(layer: str, name: str) -> str:
    """Return the name of a rule, or of the default, as answers and records show it."""
    return f"{layer}:{name}" if layer else name


def _check_roots(
    document: PolicyDocument, roots: Mapping[str, str], variables: Mapping[str, str]
) -> None:
    for name in document.roots:
        place = document.main.at("roots", name)
        if name in variables:
            place.fail(f"`{name}` is a variable already: choose another name")
        path = roots.get(name)
        if path is None:
            place.fail("the root was not resolved to a path")
        if not path.startswith("/") or path == "/":
            place.fail("a root is an absolute path below `/`")
    if not roots:
        document.main.at("roots").fail("name at least one directory, such as `workspace: .`")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiler:
    document: PolicyDocument
    roots: Mapping[str, str]
    resolver: Resolver
    layer: str

    def rule(self, rule: Rule, place: Place) -> CompiledRule:
        effect = Effect[rule.effect.upper()]
        if rule.audit is not None and self.layer:
            place.at("audit").fail("only the policy that decides says what the record keeps")
        globs = self.resolver.globs(rule.resources or (), place.at("resources"))
        try:
            made = tuple(self.conditions(rule, place, effect))
        except GlobError as error:
            place.fail(str(error))
        return CompiledRule(
            id=in_layer(self.layer, rule.id),
            effect=effect,
            model=rule,
            place=place,
            conditions=made,
            globs=globs,
        )

    def conditions(self, rule: Rule, place: Place, effect: Effect) -> Iterator[Condition]:
        """Cheap ones first; those that deny last, so that explain shows what else would match."""
        yield conditions.operations(rule.operations)
        if (
            effect is not Effect.DENY
            and rule.commands is None
            and not COMMAND_OPERATIONS.isdisjoint(rule.operations)
        ):
            yield conditions.grammar()
        directories = self.directories(rule, place, effect)
        if directories:
            yield conditions.cwd(directories, effect)
        for name, make in _CONDITIONS:
            value = getattr(rule, name)
            if value is not None:
                yield make(self.resolver, value, place.at(name), effect)
        if rule.limits is not None:
            yield limits(rule.limits, in_layer(self.layer, rule.id))
        if rule.when is not None:
            try:
                yield when(rule.when, rule.operations)
            except WhenError as error:
                place.at("when").fail(str(error))

    def directories(self, rule: Rule, place: Place, effect: Effect) -> tuple[Glob, ...]:
        """Return where a rule's commands may run; exact ones in the first root, unless it says."""
        if rule.cwd is None and rule.commands is not None and effect is not Effect.DENY:
            first = next(iter(self.roots.values()))
            return (Glob(text=first, tokens=(first,)),)
        return self.resolver.globs(rule.cwd or (), place.at("cwd"))

    def keys(self, rule: CompiledRule) -> Keys:
        """Return the keys a rule is filed under, from its most telling condition."""
        model, place = rule.model, rule.place
        if rule.globs:
            roots = frozenset(map(fold, self.roots.values()))
            return _all(glob_key(glob, roots) for glob in rule.globs)
        if model.programs is not None:
            names = self.resolver.expand(model.programs, place.at("programs"))
            return frozenset(("program", fold(name)) for name in names)
        if model.commands is not None:
            return frozenset(
                ("argv", fold(conditions.basename(argv[0])), *argv[1:]) for argv in model.commands
            )
        if model.hosts is not None:
            hosts = self.resolver.hosts(model.hosts, place.at("hosts"))
            return frozenset(("host", host) for host in hosts)
        if model.api is not None:
            return frozenset(("api", model.api.audience, name) for name in model.api.operations)
        if model.servers is not None:
            return self.server_keys(model, place)
        return None

    def server_keys(self, model: Rule, place: Place) -> Keys:
        servers = self.resolver.names(model.servers or (), place.at("servers"))
        tools = self.resolver.names(model.tools or (), place.at("tools"))
        if not all(glob.exact for glob in servers):
            return None
        folded = [fold(glob.literal) for glob in servers]
        if tools and all(glob.exact for glob in tools):
            return frozenset(
                ("tool", server, fold(tool.literal)) for server in folded for tool in tools
            )
        return frozenset(("server", server) for server in folded)

    def digest(self, protected: Sequence[Glob], rules: Sequence[CompiledRule]) -> str:
        document = self.document
        effective: dict[str, Json] = {
            "version": 1,
            "default": document.default,
            "roots": dict(self.roots),
            "protected": [regex(glob.tokens) for glob in protected],
            "rules": [canon.digest(self.effective(rule)) for rule in rules],
            "labels": {name: dict(value) for name, value in document.labels.items()},
            "authority": {
                name: value.model_dump(mode="json", by_alias=True)
                for name, value in document.authority.items()
            },
            "limits": document.limits.model_dump(mode="json"),
        }
        return DIGEST_PREFIX + canon.digest(effective)

    def effective(self, rule: CompiledRule) -> Json:
        model, place = rule.model, rule.place
        shown: dict[str, Json] = model.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude={"examples"}
        )
        for name in ("programs", "hosts", "servers", "tools", "uris", "identities"):
            if getattr(model, name) is not None:
                shown[name] = list(self.resolver.expand(getattr(model, name), place.at(name)))
        directories = self.directories(model, place, rule.effect)
        if directories:
            shown["cwd"] = [regex(glob.tokens) for glob in directories]
        if rule.globs:
            shown["resources"] = [regex(glob.tokens) for glob in rule.globs]
        under = self.resolver.under(model.arguments or {}, place.at("arguments"))
        if under:
            shown["under"] = [[regex(glob.tokens) for glob in globs] for globs in under.values()]
        return shown


_Make: TypeAlias = Callable[[Resolver, Any, Place, Effect], Condition]

_CONDITIONS: Final[tuple[tuple[str, _Make], ...]] = (
    ("identities", lambda r, v, p, _e: conditions.identities(r.expand(v, p))),
    ("programs", lambda r, v, p, e: conditions.programs(r.expand(v, p), e)),
    ("commands", lambda _r, v, _p, e: conditions.commands(v, e)),
    ("resources", lambda r, v, p, e: conditions.resources(r.globs(v, p), e)),
    ("schemes", lambda _r, v, _p, _e: conditions.schemes(v)),
    ("hosts", lambda r, v, p, _e: conditions.hosts(r.hosts(v, p))),
    ("methods", lambda _r, v, _p, _e: conditions.methods(v)),
    ("ports", lambda _r, v, _p, _e: conditions.ports(v)),
    ("paths", lambda _r, v, _p, e: conditions.paths(v, e)),
    ("api", lambda _r, v, _p, _e: conditions.api(v.audience, v.operations, v.scope)),
    ("servers", lambda r, v, p, e: conditions.mcp_names("servers", r.names(v, p), e)),
    ("tools", lambda r, v, p, e: conditions.mcp_names("tools", r.names(v, p), e)),
    (
        "memory",
        lambda _r, v, _p, e: conditions.memory(v.scope, v.sensitivity, v.max_bytes, e),
    ),
    ("uris", lambda r, v, p, e: conditions.mcp_names("uris", r.names(v, p), e)),
    ("arguments", lambda r, v, p, e: arguments(r.arguments(v, p), r.under(v, p), e)),
    ("taint_any", lambda _r, v, _p, _e: conditions.taint_any(v)),
    ("taint", lambda _r, _v, _p, _e: conditions.taint_none()),
)


def _summary(rule: CompiledRule) -> str:
    """Return what a denial may say of a rule: its id and the start of its main condition."""
    model = rule.model
    values = model.resources or model.programs or model.hosts or model.servers
    if model.api is not None:
        values = tuple(f"{model.api.audience} {name}" for name in model.api.operations)
    elif model.commands is not None:
        values = tuple(" ".join(argv) for argv in model.commands)
    if values is None:
        return rule.id
    rest = ", …" if len(values) > _SHOWN else ""
    return f"{rule.id} ({', '.join(value[:_WIDTH] for value in values[:_SHOWN])}{rest})"


def _all(keys: Iterable[Key | None]) -> Keys:
    found = frozenset(keys)
    return None if None in found else frozenset(key for key in found if key is not None)
