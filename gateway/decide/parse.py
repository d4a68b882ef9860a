"""Bytes in, one policy document out: includes read, shapes checked, every fault with its line.

Includes are relative, at most three deep, and never form a cycle; reading them is the caller's
work, and so is seeing that they do not leave the directory. An included file only adds: its rules
come after the including file's, its protected entries are joined, and a name it shares with
another file is refused. It cannot set `default`, `roots` or `limits`, and since a matching deny
always wins, nothing it adds removes one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Never, TypeAlias

from pydantic import ValidationError

from gateway.decide.schema import (
    APPLIES,
    Api,
    Authority,
    Constraint,
    Examples,
    Included,
    Limits,
    Main,
    Memory,
    Rate,
    Rule,
    RuleLimits,
    Sandbox,
)
from gateway.decide.yaml_strict import Parsed, Path, read
from gateway.errors import PolicyError
from gateway.model.names import Operation

MAX_INCLUDE_DEPTH: Final = 3
MAX_FILES: Final = 64

ReadInclude: TypeAlias = Callable[[str, str], bytes]
"""`(source of the including file, relative name) -> bytes`; raises PolicyError."""

_MESSAGES: Final = {
    "missing": "missing",
    "extra_forbidden": "unknown key",
    "tuple_type": "write a list",
    "mapping_type": "write a mapping",
    "dict_type": "write a mapping",
    "model_type": "write a mapping",
    "model_attributes_type": "write a mapping",
    "string_type": "write a string",
    "int_type": "write an integer",
    "bool_type": "write a string, a number, `true` or `false`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something stands: a path within a parsed file."""

    parsed: Parsed
    path: Path

    def at(self, *more: str | int) -> Place:
        """Return the place of a part."""
        return Place(parsed=self.parsed, path=(*self.path, *more))

    @property
    def source(self) -> str:
        """The file's name."""
        return self.parsed.source

    @property
    def line(self) -> int:
        """The 1-based line."""
        return self.parsed.line(self.path)

    def error(self, message: str) -> PolicyError:
        """Return an error that stands here; its message begins with the key."""
        return PolicyError(_located(self.path, message), source=self.source, line=self.line)

    def fail(self, message: str) -> Never:
        """Raise that error."""
        raise self.error(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    """A policy as written, with included files joined; nothing is resolved yet.

    `roots` are as written: assembly resolves them against the directory of the file.
    """

    source: str
    default: str
    roots: Mapping[str, str]
    limits: Limits
    protected: tuple[tuple[str, Place], ...]
    groups: Mapping[str, tuple[tuple[str, ...], Place]]
    rules: tuple[tuple[Rule, Place], ...]
    labels: Mapping[str, Mapping[str, str]]
    authority: Mapping[str, Authority]
    files: tuple[str, ...]
    main: Place


@dataclass(slots=True, kw_only=True)
class _Join:
    """Everything gathered from the files read so far."""

    read_include: ReadInclude
    protected: list[tuple[str, Place]] = field(default_factory=list)
    groups: dict[str, tuple[tuple[str, ...], Place]] = field(default_factory=dict)
    rules: list[tuple[Rule, Place]] = field(default_factory=list)
    ids: dict[str, Place] = field(default_factory=dict)
    labels: dict[str, tuple[Mapping[str, str], Place]] = field(default_factory=dict)
    authority: dict[str, tuple[Authority, Place]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    def add(self, file: Main | Included, parsed: Parsed, chain: tuple[str, ...]) -> None:
        here = Place(parsed=parsed, path=())
        self.files.append(parsed.source)
        self.protected += [
            (entry, here.at("protected", i)) for i, entry in enumerate(file.protected)
        ]
        _join(self.groups, file.groups, here.at("groups"))
        _join(self.labels, file.labels, here.at("labels"))
        _join(self.authority, file.authority, here.at("authority"))
        for i, rule in enumerate(file.rules):
            self.rule(rule, here.at("rules", i))
        for i, name in enumerate(file.include):
            self.include(name, here.at("include", i), chain)

    def rule(self, rule: Rule, place: Place) -> None:
        if rule.id == "default":
            place.at("id").fail("`default` is reserved: choose another id")
        if rule.id in self.ids:
            first = self.ids[rule.id]
            place.at("id").fail(f"duplicate id {rule.id!r}, first at {first.source}:{first.line}")
        self.ids[rule.id] = place.at("id")
        _check_rule(rule, place)
        self.rules.append((rule, place))

    def include(self, name: str, place: Place, chain: tuple[str, ...]) -> None:
        if name.startswith(("/", "~")) or "\\" in name or ".." in name.split("/"):
            place.fail("an include is a relative path without `..`")
        if len(chain) > MAX_INCLUDE_DEPTH:
            place.fail(f"includes nest deeper than {MAX_INCLUDE_DEPTH}")
        if len(self.files) >= MAX_FILES:
            place.fail(f"more than {MAX_FILES} files")
        source = _join_source(place.source, name)
        if source in chain:
            place.fail(f"a cycle of includes: {' -> '.join((*chain, source))}")
        if source in self.files:
            place.fail(f"{source} is included twice")
        try:
            data = self.read_include(place.source, name)
        except PolicyError as error:
            place.fail(f"{error.source or name}: {error.detail}")
        parsed = read(source, data)
        refuse_nulls(parsed)
        self.add(validate(Included, parsed), parsed, (*chain, source))


def parse(source: str, data: bytes, *, read_include: ReadInclude) -> PolicyDocument:
    """Read a policy file and what it includes.

    Raises:
        PolicyError: with file and line.
    """
    parsed = read(source, data)
    refuse_nulls(parsed)
    main = validate(Main, parsed)
    join = _Join(read_include=read_include)
    join.add(main, parsed, (source,))
    return PolicyDocument(
        source=source,
        default=main.default,
        roots=main.roots,
        limits=main.limits,
        protected=tuple(join.protected),
        groups=join.groups,
        rules=tuple(join.rules),
        labels={name: value for name, (value, _) in join.labels.items()},
        authority={name: value for name, (value, _) in join.authority.items()},
        files=tuple(join.files),
        main=Place(parsed=parsed, path=()),
    )


def no_includes(source: str, relative: str) -> bytes:
    """Refuse every include: a `read_include` for policies that stand alone."""
    raise PolicyError(f"{relative}: includes cannot be read here", source=source)


def _join(into: dict[str, tuple[Any, Place]], more: Mapping[str, Any], place: Place) -> None:
    for name, value in more.items():
        here = place.at(name)
        if name in into:
            first = into[name][1]
            here.fail(f"already defined at {first.source}:{first.line}")
        into[name] = (value, here)


def _join_source(source: str, name: str) -> str:
    parts = [part for part in name.split("/") if part not in {"", "."}]
    directory, slash, _ = source.rpartition("/")
    return directory + slash + "/".join(parts)


def _check_rule(rule: Rule, place: Place) -> None:
    """Refuse what has the right shape and no meaning."""
    if rule.effect != "deny" and Operation.UNKNOWN in rule.operations:
        place.at("operations").fail("`unknown` may stand in deny rules only")
    if rule.effect == "deny":
        for name in ("taint", "hardlinks", "sandbox", "limits", "when", "approval", "redact"):
            if getattr(rule, name) is not None:
                place.at(name).fail("it means nothing on a deny rule: remove it")
    if rule.effect == "allow" and rule.approval is not None:
        place.at("approval").fail("an allow asks nobody: write `effect: ask`, or remove it")
    if rule.effect == "allow" and rule.taint_any is not None:
        place.at("taint_any").fail("no taint allows anything: it is for deny and ask rules")
    if rule.taint is not None and rule.taint_any is not None:
        place.at("taint_any").fail("it contradicts `taint: none`: keep one")
    for path in rule.paths or ():
        if not {"*", "?"}.isdisjoint(path):
            place.at("paths").fail("no wildcards here: a path stands for itself and all beneath")
    for name, operations in APPLIES.items():
        if getattr(rule, name) is None:
            continue
        for operation in rule.operations:
            if operation not in operations:
                place.at(name).fail(f"it cannot judge {operation}: give {operation} its own rule")


def validate(model: type[Any], parsed: Parsed) -> Any:
    """Return a strict model of a parsed file.

    Raises:
        PolicyError: with the line of the first fault.
    """
    if not isinstance(parsed.value, Mapping):
        raise PolicyError("write a mapping of keys", source=parsed.source, line=1)
    try:
        return model.model_validate(parsed.value)
    except ValidationError as error:
        raise _first(error, parsed) from None


def refuse_nulls(parsed: Parsed) -> None:
    """Refuse a key without a value: it would read as if the condition were not there.

    Raises:
        PolicyError: with its line.
    """
    for path in filter(None, _nulls(parsed.value, ())):
        message = _located(path, "nothing is written here: write a value, or remove the key")
        raise PolicyError(message, source=parsed.source, line=parsed.line(path))


def _nulls(value: Any, path: Path) -> Iterator[Path]:
    if value is None:
        yield path
    elif isinstance(value, Mapping):
        for name, member in value.items():
            if name != "examples":  # requests as an agent makes them; null is a value there
                yield from _nulls(member, (*path, name))
    elif isinstance(value, tuple):
        for place, member in enumerate(value):
            yield from _nulls(member, (*path, place))


def _first(error: ValidationError, parsed: Parsed) -> PolicyError:
    """Return the fault that stands first in the file."""
    found = []
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        path = _known(tuple(item["loc"]), parsed)
        message = _MESSAGES.get(item["type"], item["msg"].removeprefix("Value error, "))
        if item["type"] == "extra_forbidden":
            message += _meant(str(item["loc"][-1]))
        elif item["type"] == "string_pattern_mismatch":
            message = _PATTERNS.get(
                str(path[-2] if isinstance(path[-1], int) else path[-1]), message
            )
        found.append((parsed.line(path), _located(path, message)))
    line, message = min(found, key=lambda entry: entry[0])
    return PolicyError(message, source=parsed.source, line=line)


def _meant(key: str) -> str:
    """Return the key that was probably meant."""
    near = difflib.get_close_matches(key, _KEYS, 1)
    return f" (did you mean `{near[0]}`?)" if near else ""


_KEYS: Final = sorted(
    {
        info.alias or name
        for model in (
            Main,
            Rule,
            Constraint,
            RuleLimits,
            Rate,
            Limits,
            Api,
            Memory,
            Sandbox,
            Examples,
        )
        for name, info in model.model_fields.items()
    }
)
_PATTERNS: Final = {
    "id": "letters, digits, `.`, `_` and `-`, at most 64",
    "methods": "a method in capitals, such as GET",
    "paths": "a path begins with `/`",
    "groups": "a lower-case letter, then letters, digits, `_` or `-`; at most 64",
    "roots": "a lower-case letter, then letters, digits, `_` or `-`; at most 64",
}


def _known(location: Path, parsed: Parsed) -> Path:
    """Drop what pydantic adds to a location (names of union members); keep a missing key."""
    path: Path = ()
    for part in location:
        if (*path, part) in parsed.lines:
            path = (*path, part)
    if location and location[-1] not in path and _is_key(location[-1]):
        return (*path, location[-1])
    return path


def _is_key(part: str | int) -> bool:
    return isinstance(part, str) and part.replace("_", "").isalpha() and part not in _UNION


_UNION: Final = frozenset({"str", "int", "float", "bool"})


def _located(path: Path, message: str) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return f"{text}: {message}" if text else message
