"""Finds the rules that could match a resource without looking at the others.

A rule is filed under keys (a directory, a program, a host, an audience and operation, a server and
tool); a resource asks under each of its own. The index only narrows: every rule found is still
judged by all its conditions, and a rule that has no keys is always found. Keys are folded, so a
deny is found whatever the spelling.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from gateway.decide.conditions import basename, host_keys, names_of
from gateway.decide.glob import Glob, Wild, fold
from gateway.model.names import Operation
from gateway.model.resource import (
    ApiResource,
    CommandResource,
    McpResource,
    PathResource,
    Resource,
    UrlResource,
)

Key: TypeAlias = tuple[Hashable, ...]
Keys: TypeAlias = frozenset[Key] | None
"""None: the rule is always looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Positions of rules, by operation and key; `always` has those without keys."""

    keyed: Mapping[Operation, Mapping[Key, tuple[int, ...]]]
    always: Mapping[Operation, tuple[int, ...]]

    def find(self, resource: Resource, *, every_name: bool) -> Sequence[int]:
        """Return positions in file order; `every_name` looks under other names of a path, too."""
        always = self.always.get(resource.operation, ())
        keyed = self.keyed.get(resource.operation)
        if not keyed:
            return always
        found = [
            positions
            for key in resource_keys(resource, every_name=every_name)
            if (positions := keyed.get(key))
        ]
        if not found:
            return always
        return sorted({*always, *(position for many in found for position in many)})

    def joined(self, other: Index, offset: int) -> Index:
        """Return an index over these rules and, `offset` positions on, those of another."""
        keyed = {operation: dict(many) for operation, many in self.keyed.items()}
        for operation, more in other.keyed.items():
            into = keyed.setdefault(operation, {})
            for key, positions in more.items():
                into[key] = (*into.get(key, ()), *(offset + one for one in positions))
        always = dict(self.always)
        for operation, positions in other.always.items():
            always[operation] = (
                *always.get(operation, ()),
                *(offset + one for one in positions),
            )
        return Index(keyed=keyed, always=always)


def build(rules: Sequence[tuple[int, frozenset[Operation], Keys]]) -> Index:
    """File rules, given as position, operations and keys."""
    keyed: dict[Operation, dict[Key, list[int]]] = defaultdict(lambda: defaultdict(list))
    always: dict[Operation, list[int]] = defaultdict(list)
    for position, operations, keys in rules:
        for operation in operations:
            if keys is None:
                always[operation].append(position)
            else:
                for key in keys:
                    keyed[operation][key].append(position)
    return Index(
        keyed={
            operation: {key: tuple(found) for key, found in many.items()}
            for operation, many in keyed.items()
        },
        always={operation: tuple(found) for operation, found in always.items()},
    )


def resource_keys(resource: Resource, *, every_name: bool) -> Iterator[Key]:
    """Return every key a rule that matches the resource can be filed under."""
    keys = _RESOURCE_KEYS.get(type(resource))
    if keys is not None:
        yield from keys(resource)
    if every_name and isinstance(resource, PathResource):
        for name in resource.also:
            yield from _name_keys(name)


def glob_key(glob: Glob, roots: frozenset[str]) -> Key | None:
    """Return the key of a glob: its literal directory, else its literal last component.

    A glob whose literal directory is only a (folded) root is filed by its last component if it
    can be, since whole policies live beneath one root.
    """
    literal = fold(glob.literal)
    whole = glob.exact or Wild.SUBTREE in glob.tokens[:2]
    directory = literal if whole else literal.rpartition("/")[0]
    last = glob.tokens[-1]
    if (not directory or directory in roots) and isinstance(last, str) and not glob.exact:
        if "/" in last:
            return ("name", fold(basename(last)))
        if glob.tokens[-2] is Wild.DIRECTORIES:
            return ("name", fold(last))
    return ("directory", directory) if directory else None


def _path_keys(resource: PathResource) -> Iterator[Key]:
    return _name_keys(resource.path)


def _name_keys(path: str) -> Iterator[Key]:
    folded = fold(path)
    yield ("name", basename(folded))
    while folded:
        yield ("directory", folded)
        folded = folded.rpartition("/")[0]


def _command_keys(resource: CommandResource) -> Iterator[Key]:
    for name in names_of(resource):
        yield ("program", name)
        yield ("argv", name, *resource.argv[1:])


def _url_keys(resource: UrlResource) -> Iterator[Key]:
    return (("host", pattern) for pattern in host_keys(resource.host))


def _api_keys(resource: ApiResource) -> Iterator[Key]:
    yield ("api", resource.audience, resource.api_operation)


def _mcp_keys(resource: McpResource) -> Iterator[Key]:
    server = fold(resource.server)
    yield ("server", server)
    yield ("tool", server, fold(resource.name))


_RESOURCE_KEYS: Final[Mapping[type, Callable[[Any], Iterator[Key]]]] = {
    PathResource: _path_keys,
    CommandResource: _command_keys,
    UrlResource: _url_keys,
    ApiResource: _api_keys,
    McpResource: _mcp_keys,
}
