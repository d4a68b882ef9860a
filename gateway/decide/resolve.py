"""Names of a policy made real: groups listed, variables filled in, globs parsed, hosts checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.decide.glob import Glob, GlobError, covering, parse_name, parse_path
from gateway.decide.parse import Place
from gateway.decide.schema import Constraint

_HOST: Final = re.compile(
    r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*"
    r"|\*|[0-9a-f:.]*:[0-9a-f:.]*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves what rules name; every fault is a PolicyError at its place."""

    groups: Mapping[str, tuple[tuple[str, ...], Place]]
    variables: Mapping[str, str]

    def expand(self, values: Sequence[str], place: Place, *, items: bool = True) -> tuple[str, ...]:
        """Replace `@group` by what the group lists."""
        found: list[str] = []
        for i, value in enumerate(values):
            if not value.startswith("@"):
                found.append(value)
                continue
            group = self.groups.get(value[1:])
            if group is None:
                known = ", ".join(f"@{name}" for name in self.groups) or "none"
                (place.at(i) if items else place).fail(f"unknown group {value} (known: {known})")
            members, defined = group
            for j, member in enumerate(members):
                if member.startswith("@"):
                    defined.at(j).fail("a group lists values, not other groups")
            found += members
        return tuple(found)

    def globs(self, values: Sequence[str], place: Place, *, items: bool = True) -> tuple[Glob, ...]:
        """Parse globs over paths; without `items` the values have no place of their own."""
        return self.each(values, place, lambda text: parse_path(text, self.variables), items=items)

    def names(self, values: Sequence[str], place: Place) -> tuple[Glob, ...]:
        """Parse globs over names."""
        return self.each(values, place, parse_name)

    def each(
        self,
        values: Sequence[str],
        place: Place,
        make: Callable[[str], Glob],
        *,
        items: bool = True,
    ) -> tuple[Glob, ...]:
        """Parse each value with `make`, groups listed."""
        made: list[Glob] = []
        for i, value in enumerate(values):
            here = place.at(i) if items else place
            for text in self.expand((value,), here, items=False):
                try:
                    made.append(make(text))
                except GlobError as error:
                    here.fail(f"bad glob {text[:80]!r}: {error}")
        return tuple(made)

    def hosts(self, values: Sequence[str], place: Place) -> tuple[str, ...]:
        """Return host patterns in lower case."""
        hosts = tuple(host.lower() for host in self.expand(values, place))
        for host in hosts:
            if not _HOST.fullmatch(host):
                place.fail(
                    f"{host[:80]!r} is no host: write `name`, `*.name` (beneath it) or `*`, in "
                    "ASCII, without scheme, port, brackets or final dot"
                )
        return hosts

    def under(
        self, constraints: Mapping[str, Constraint], place: Place
    ) -> Mapping[str, tuple[Glob, ...]]:
        """Return the globs of each constraint's `under`, covering all beneath."""
        return {
            name: tuple(map(covering, self.globs(constraint.under, place.at(name, "under"))))
            for name, constraint in constraints.items()
            if constraint.under is not None
        }
