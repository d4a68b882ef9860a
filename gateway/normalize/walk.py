"""What a recursive command would reach: a bounded walk beneath an open directory.

The walk goes as the programs go: it follows no symlink it meets, and it goes into every directory
that is not left out. It goes by descriptors, so that a directory swapped meanwhile cannot lead it
out of its root. It stops, and the command is refused, at more entries than the limit, at another
mount, and at a name that is not text; a directory that cannot be opened is passed over, as the
programs pass it over.

A reached file with more than one name is looked up among the protected names, all in one pass.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gateway.kit import posix
from gateway.model.action import Refusal
from gateway.model.names import Operation
from gateway.model.resource import PathResource
from gateway.normalize.hardlinks import Guard
from gateway.normalize.spelling import MAX_DEPTH

MAX_ENTRIES: Final = 20_000

_STEP: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_STAY: Final = posix.RESOLVE_NO_SYMLINKS | posix.RESOLVE_NO_XDEV
_LETTERS: Final = {
    stat.S_IFREG: "f",
    stat.S_IFDIR: "d",
    stat.S_IFLNK: "l",
    stat.S_IFIFO: "p",
    stat.S_IFSOCK: "s",
    stat.S_IFBLK: "b",
    stat.S_IFCHR: "c",
}


@dataclass(frozen=True, slots=True)
class Met:
    """One entry: `name`, path `relative` to where the walk began, type letter, how deep (from 1).

    `links`, `device` and `inode` tell the object.
    """

    name: str
    relative: str
    kind: str
    depth: int
    links: int
    device: int
    inode: int


Enter: TypeAlias = Callable[[Met], bool]


@dataclass(slots=True)
class Budget:
    """How many entries are left for one command; shared by its starting points."""

    left: int = MAX_ENTRIES


@dataclass(slots=True)
class _Walk:
    enter: Enter
    budget: Budget
    limit: str
    met: list[Met] = field(default_factory=list)


class _Refuse(Exception):  # noqa: N818 - it carries a verdict to the edge of this module
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def walk(
    directory_fd: int, shown: str, *, enter: Enter, budget: Budget, remedy: str
) -> list[Met] | Refusal:
    """Return every entry beneath an open directory; `enter` says which directories to go into.

    `shown` names the directory in a message; `remedy` says how to ask for less.
    """
    state = _Walk(
        enter=enter,
        budget=budget,
        limit=f"the walk of {shown} reaches more than {MAX_ENTRIES} entries; {remedy}",
    )
    try:
        _directory(state, directory_fd, "", 1)
    except _Refuse as refuse:
        return Refusal(reason=refuse.reason, message=refuse.message)
    return state.met


def glob_matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a base name matches any glob that knows `*` only."""
    patterns = [
        re.compile(".*".join(re.escape(part) for part in glob.split("*")), re.DOTALL)
        for glob in globs
    ]
    return lambda name: any(pattern.fullmatch(name) for pattern in patterns)


def read_resources(
    guard: Guard, root_path: str, root_name: str | None, files: Iterable[tuple[str, Met]]
) -> list[PathResource] | Refusal:
    """Return one fs.read resource per reached file, with its protected other names."""
    reached = list(files)
    several = {(one.device, one.inode) for _, one in reached if one.links > 1}
    try:
        names = _protected_names(guard, root_path, several) if several else {}
    except _Refuse as refuse:
        return Refusal(reason="fs_hardlink", message=refuse.message)
    return [
        PathResource(
            operation=Operation.FS_READ,
            path=path,
            also=tuple(other for other in names.get((one.device, one.inode), ()) if other != path),
            root=root_name,
            links=one.links,
            named=False,
        )
        for path, one in reached
    ]


def _directory(state: _Walk, fd: int, prefix: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _Refuse("sh_walk_limit", f"{prefix} is deeper than {MAX_DEPTH} directories")
    deeper: list[Met] = []
    with os.scandir(fd) as entries:
        for entry in entries:
            state.budget.left -= 1
            if state.budget.left < 0:
                raise _Refuse("sh_walk_limit", state.limit)
            one = _met(entry, prefix, depth)
            if one is None:
                continue
            state.met.append(one)
            if one.kind == "d" and state.enter(one):
                deeper.append(one)
    for one in deeper:
        child = _open(fd, one)
        if child is None:
            continue
        try:
            _directory(state, child, f"{one.relative}/", depth + 1)
        finally:
            os.close(child)


def _met(entry: os.DirEntry[str], prefix: str, depth: int) -> Met | None:
    try:
        entry.name.encode()
        found = entry.stat(follow_symlinks=False)
    except UnicodeEncodeError:
        shown = f"{prefix}{entry.name}".encode(errors="backslashreplace").decode()
        message = f"{shown[:256]} has a name that is not UTF-8; leave its directory out"
        raise _Refuse("path_encoding", message) from None
    except FileNotFoundError:
        return None  # gone meanwhile
    except OSError:
        return Met(entry.name, prefix + entry.name, "?", depth, 1, 0, 0)
    return Met(
        entry.name,
        prefix + entry.name,
        _LETTERS.get(stat.S_IFMT(found.st_mode), "?"),
        depth,
        found.st_nlink,
        found.st_dev,
        found.st_ino,
    )


def _open(fd: int, one: Met) -> int | None:
    try:
        return posix.open_beneath(fd, one.name, _STEP, resolve=_STAY)
    except OSError as error:
        if error.errno == errno.EXDEV:
            message = f"{one.relative} is another mount; leave it out"
            raise _Refuse("fs_mount", message) from None
        if error.errno in {errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            return None
        raise _Refuse("fs_io_error", f"{one.relative}: {error.strerror}") from None


def _protected_names(
    guard: Guard, root_path: str, wanted: set[tuple[int, int]]
) -> dict[tuple[int, int], list[str]]:
    """Find the protected names of several objects in one pass over all protected places."""
    names: dict[tuple[int, int], list[str]] = {}
    for top, always in (*((literal, True) for literal in guard.literal), (root_path, False)):
        for path, key in _identities(top):
            if key in wanted and (always or guard.is_protected(path)):
                names.setdefault(key, []).append(path)
    return names


def _identities(top: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield path and identity of `top` and of what is beneath it, following nothing."""
    try:
        found = os.lstat(top)
        yield top, (found.st_dev, found.st_ino)
        if not stat.S_ISDIR(found.st_mode):
            return
        fd = os.open(top, _STEP | os.O_CLOEXEC)
    except OSError:
        return
    try:
        beneath = walk(fd, top, enter=lambda _: True, budget=Budget(), remedy="ask for less")
    finally:
        os.close(fd)
    if isinstance(beneath, Refusal):
        message = f"a reached file has more names than could be looked at: {beneath.message}"
        raise _Refuse("fs_hardlink", message)
    for one in beneath:
        yield f"{top}/{one.relative}", (one.device, one.inode)
