"""The declared roots, opened once and held by descriptor.

A root is where paths may lie. Its path must be absolute and spelled without symlinks; the
descriptor, device and inode are what later openings start from and are compared with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from gateway.errors import ConfigError
from gateway.kit import posix
from gateway.kit.closing import Closing
from gateway.model.catalogue import RootPath
from gateway.normalize.spelling import components


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A declared root, held open. `parts` are the components of its path."""

    name: str
    path: str
    parts: tuple[str, ...]
    fd: int
    device: int
    inode: int

    def join(self, relative: str) -> str:
        """Return the absolute path of something beneath."""
        return self.path if relative == "." else f"{self.path.rstrip('/')}/{relative}"


@dataclass(frozen=True, slots=True)
class Roots(Closing):
    """The declared roots; the first is where relative paths start."""

    all: tuple[Root, ...]

    @classmethod
    def open(cls, paths: Iterable[RootPath]) -> Roots:
        """Open every declared root.

        Raises:
            ConfigError: none is declared, or one is no directory or not spelled without symlinks.
        """
        opened: list[Root] = []
        try:
            for path in paths:
                opened.append(_open_root(path))  # noqa: PERF401 - keep those opened before a fault
        except BaseException:
            cls(tuple(opened)).close()
            raise
        if not opened:
            raise ConfigError("roots: declare at least one, such as workspace")
        return cls(tuple(opened))

    @property
    def first(self) -> Root:
        """The root that relative paths start from."""
        return self.all[0]

    def above(self, parts: list[str]) -> Root | None:
        """Return the deepest root above (or at) an absolute path given by components."""
        above = [root for root in self.all if tuple(parts[: len(root.parts)]) == root.parts]
        return max(above, key=lambda root: len(root.parts), default=None)

    def close(self) -> None:
        """Close the descriptors; use each value once."""
        for root in self.all:
            posix.close_quietly(root.fd)


def _open_root(declared: RootPath) -> Root:
    where = f"roots.{declared.name}"
    if not declared.path.startswith("/"):
        raise ConfigError(f"{where}: {declared.path!r} is not an absolute path")
    try:
        fd = os.open(declared.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"{where}: {declared.path!r}: {error.strerror}") from None
    if posix.real_path(fd) != declared.path:
        os.close(fd)
        raise ConfigError(f"{where}: {declared.path!r} is not spelled without symlinks")
    found = os.fstat(fd)
    return Root(
        name=declared.name,
        path=declared.path,
        parts=tuple(components(declared.path)),
        fd=fd,
        device=found.st_dev,
        inode=found.st_ino,
    )
