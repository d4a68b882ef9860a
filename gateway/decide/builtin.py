"""Denies that no rule can change: counterfoil's own things, guarded files, and protected paths.

Own things are the files assembly names (policy, configuration, keys, log, state; the whole
subtree, in any case, whether or not they exist), the command `counterfoil` by whatever path,
`-m gateway` and `-m broker`, and the origins of its services. For a loopback service every
spelling of loopback counts.
Guarded files (:mod:`gateway.decide.guarded`, and those assembly names) may be read, but neither
written nor deleted.
Protected paths are the policy's; any name of an object counts (see PathResource.also), and of a
path that normalization refused any way to read its spelling.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final

from gateway.decide.conditions import basename, names_of
from gateway.decide.glob import Caseless, Glob, Wild, covering, fold, nfc, parse_path
from gateway.decide.guarded import GUARDED
from gateway.model.names import Operation
from gateway.model.resource import CommandResource, PathResource, Resource, UrlResource

COMMAND: Final = "counterfoil"
MODULES: Final = frozenset({"gateway", "broker"})

_CHANGES: Final = frozenset({Operation.FS_WRITE, Operation.FS_DELETE})
_GUARDED: Final = tuple(covering(parse_path(text, {})) for text in GUARDED)


class BuiltinDenies:
    """Says what is counterfoil's own and what is protected."""

    def __init__(
        self,
        protected: Caseless,
        *,
        self_paths: Iterable[str],
        guarded: Iterable[str] = (),
        forbidden_origins: Iterable[tuple[str, int]],
    ) -> None:
        self._protected = protected
        self._own = Caseless(list(map(_beneath, self_paths)))
        self._guarded = Caseless([*_GUARDED, *map(_beneath, guarded)])
        origins = frozenset(forbidden_origins)
        self._origins = frozenset((_plain(host), port) for host, port in origins)
        self._loopback_ports = frozenset(port for host, port in origins if is_loopback(host))

    def protects(self, resource: Resource) -> bool:
        """Return whether the resource is a protected path, by any of its names."""
        return isinstance(resource, PathResource) and _names(self._protected, resource)

    def is_own(self, resource: Resource) -> bool:
        """Return whether the resource is counterfoil itself, its files or its services."""
        if isinstance(resource, PathResource):
            return _names(self._own, resource)
        if isinstance(resource, CommandResource):
            return self._runs_counterfoil(resource)
        if isinstance(resource, UrlResource):
            return (_plain(resource.host), resource.port) in self._origins or (
                resource.port in self._loopback_ports and is_loopback(resource.host)
            )
        return False

    def guards(self, resource: Resource) -> bool:
        """Return whether the resource is a change of a guarded file, by any of its names."""
        return (
            isinstance(resource, PathResource)
            and resource.operation in _CHANGES
            and _names(self._guarded, resource)
        )

    def _runs_counterfoil(self, resource: CommandResource) -> bool:
        if COMMAND in names_of(resource) or self._own.matches(resource.executable):
            return True
        if resource.grammar:  # a grammar names every operand; none of them is started
            return False
        arguments = resource.argv[1:]
        return (
            any(fold(basename(word)) == COMMAND for word in arguments)
            or any(self._own.matches(word) for word in arguments)
            or any(_is_module(word) for word in _modules(arguments))
        )


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's own."""
    name = _plain(host)
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def _plain(host: str) -> str:
    return host.lower().strip("[]").rstrip(".")


def resolved(path: str, base: str = "") -> str:
    """Resolve a path by spelling; `..` takes a component away, as it does without symlinks."""
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{base}/{path}").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)


def _beneath(path: str) -> Glob:
    return Glob(text=path, tokens=(nfc(path).rstrip("/"), Wild.SUBTREE))


def _names(globs: Caseless, resource: PathResource) -> bool:
    return _matches(globs, resource.path) or any(_matches(globs, name) for name in resource.also)


def _matches(globs: Caseless, path: str) -> bool:
    """Judge a refused path, too: relative, with `..` or backslashes, it still names a file."""
    if globs.matches(path):
        return True
    if path.startswith("/") and "/." not in path and "//" not in path and "\\" not in path:
        return False
    plain = path.replace("\\", "/")
    return globs.matches("/" + plain.lstrip("/")) or globs.matches(resolved(plain))


def _modules(arguments: tuple[str, ...]) -> Iterable[str]:
    """Return what follows `-m`, joined or apart, also behind other short options."""
    for i, word in enumerate(arguments):
        if not word.startswith("-") or word.startswith("--") or "m" not in word:
            continue
        joined = word[word.index("m") + 1 :]
        if joined:
            yield joined
        elif i + 1 < len(arguments):
            yield arguments[i + 1]


def _is_module(name: str) -> bool:
    return name.split(".", 1)[0] in MODULES
