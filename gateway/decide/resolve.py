"""Names of a policy made real: groups listed, variables filled in, globs parsed, hosts checked."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from gateway.decide.argument_path import ArgumentPathError, Steps, parse_argument
from gateway.decide.glob import Glob, GlobError, covering, parse_name, parse_path
from gateway.decide.parse import Place
from gateway.decide.schema import Constraint

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
_HOST: Final = re.compile(rf"\*|(?:\*\.)?{_LABEL}(?:\.{_LABEL})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves what rules name; every fault is a PolicyError at its place."""

    groups: Mapping[str, tuple[tuple[str, ...], Place]]
    variables: Mapping[str, str]

    def members(self, value: str, place: Place) -> tuple[str, ...]:
        """Return the value itself, or what the group lists when it is `@group`."""
        if not value.startswith("@"):
            return (value,)
        group = self.groups.get(value[1:])
        if group is None:
            known = ", ".join(f"@{name}" for name in self.groups) or "none"
            place.fail(f"unknown group {value[:80]} (known: {known})")
        members, defined = group
        for i, member in enumerate(members):
            if member.startswith("@"):
                defined.at(i).fail("a group lists values, not other groups")
        return members

    def expand(self, values: Sequence[str], place: Place) -> tuple[str, ...]:
        """Return a list with its groups listed."""
        many = (self.members(value, place.at(i)) for i, value in enumerate(values))
        return tuple(chain.from_iterable(many))

    def paths(self, value: str, place: Place) -> tuple[Glob, ...]:
        """Parse one glob over paths, or a group of them."""
        return self._parse(value, place, lambda text: parse_path(text, self.variables))

    def globs(self, values: Sequence[str], place: Place) -> tuple[Glob, ...]:
        """Parse a list of globs over paths."""
        many = (self.paths(value, place.at(i)) for i, value in enumerate(values))
        return tuple(chain.from_iterable(many))

    def names(self, values: Sequence[str], place: Place) -> tuple[Glob, ...]:
        """Parse a list of globs over names."""
        many = (self._parse(value, place.at(i), parse_name) for i, value in enumerate(values))
        return tuple(chain.from_iterable(many))

    def hosts(self, values: Sequence[str], place: Place) -> tuple[str, ...]:
        """Return host patterns in lower case."""
        hosts = tuple(host.lower() for host in self.expand(values, place))
        for host in hosts:
            if not _is_host(host):
                place.fail(
                    f"{host[:80]!r} is no host: write `name`, `*.name` (beneath it), `*` or an "
                    "address, in ASCII, without scheme, port, brackets or final dot"
                )
        return hosts

    def arguments(
        self, constraints: Mapping[str, Constraint], place: Place
    ) -> Mapping[Steps, Constraint]:
        """Return the constraints by parsed path."""
        found: dict[Steps, Constraint] = {}
        for text, constraint in constraints.items():
            try:
                steps = parse_argument(text)
            except ArgumentPathError as error:
                place.at(text).fail(str(error))
            if steps in found:
                place.at(text).fail("it is constrained twice")
            found[steps] = constraint
        return found

    def under(
        self, constraints: Mapping[str, Constraint], place: Place
    ) -> Mapping[Steps, tuple[Glob, ...]]:
        """Return the globs of each constraint's `under`, covering all beneath."""
        return {
            parse_argument(text): tuple(
                map(covering, self.globs(constraint.under, place.at(text, "under")))
            )
            for text, constraint in constraints.items()
            if constraint.under is not None
        }

    def _parse(self, value: str, place: Place, make: Callable[[str], Glob]) -> tuple[Glob, ...]:
        made = []
        for text in self.members(value, place):
            try:
                made.append(make(text))
            except GlobError as error:
                place.fail(f"bad glob {text[:80]!r}: {error}")
        return tuple(made)


def _is_host(host: str) -> bool:
    """Accept a name pattern, or an address in the one form that URLs are normalized to."""
    if ":" in host or host.rpartition(".")[2].isdecimal():
        try:
            return str(ipaddress.ip_address(host)) == host
        except ValueError:
            return False
    return _HOST.fullmatch(host) is not None
