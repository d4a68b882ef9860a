"""Which repository a git command would use, and whether reading it is safe.

The work tree is the nearest directory at or above the working directory, and beneath its root, that
has a `.git`. A `.git` file (linked work tree, submodule) is followed once, and only to a directory
beneath a root. Git is then told both places, so that it looks for none by itself, and never takes
a directory of the work tree for a bare repository.

Refused by name (`git_repository`): configuration that is not known to run nothing, links among the
repository's own files and those of its submodules (:mod:`gateway.normalize.git_files`), object
stores elsewhere (`alternates`), a `core.worktree` elsewhere. A git directory that is not the work
tree's own `.git` holds the content of another place: it is a resource of its own, read.
Attributes need no look: a driver they name runs only if the configuration defines it.

Source: gitrepository-layout(5), CVE-2022-24765, CVE-2021-21300.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
from dataclasses import dataclass
from typing import Final

from gateway.kit import posix
from gateway.model.action import Refusal
from gateway.model.names import Operation
from gateway.model.plan import Operand
from gateway.model.resource import PathResource
from gateway.normalize import git_config, git_files, git_index
from gateway.normalize.hardlinks import Guard
from gateway.normalize.path import Located, Refused, locate
from gateway.normalize.roots import Root, Roots
from gateway.normalize.understood import Opened

_STRICT: Final = posix.RESOLVE_NO_SYMLINKS | posix.RESOLVE_NO_XDEV
_POINTER: Final = re.compile(r"gitdir: ([^\0\n]{1,3000})\n?\Z")
_MAX_POINTER: Final = 4096
_ELSEWHERE: Final = ("objects/info/alternates", "objects/info/http-alternates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Absolute paths of the work tree, its git directory, and the one with the configuration.

    `root` is the root above the work tree, `relative` the work tree's path from it. `judged` are
    the configuration files as they were judged; they must still be the same when git starts.
    `elsewhere` are the git directories that are not the work tree's own `.git`.
    """

    root: Root
    relative: str
    worktree: str
    git_dir: str
    common_dir: str
    judged: tuple[Opened, ...]
    elsewhere: tuple[PathResource, ...]


class _Refuse(Exception):  # noqa: N818 - it carries a verdict to the edge of this module
    pass


def find(roots: Roots, guard: Guard, root: Root, relative: str) -> Repository | Refusal:
    """Find and judge the repository of a working directory, given by its real path from a root."""
    try:
        return _find(roots, guard, root, relative)
    except _Refuse as refuse:
        return Refusal(reason="git_repository", message=str(refuse))
    except OSError as error:
        message = f"the repository cannot be looked at: {error.strerror}"
        return Refusal(reason="git_repository", message=message)


def tracked(
    roots: Roots, guard: Guard, repository: Repository, *, submodules: bool = False
) -> tuple[str, ...] | Refusal:
    """Return the paths of the files, or of the submodules, it tracks, from the work tree's top."""
    try:
        directory = _directory(roots, guard, repository.git_dir)
        try:
            raw = _read(directory.fd, "index", git_index.MAX_BYTES)
        finally:
            os.close(directory.fd)
    except (_Refuse, OSError) as error:
        message = f"the repository's index cannot be read: {error}"
        return Refusal(reason="git_repository", message=message)
    return () if raw is None else git_index.tracked(raw, submodules=submodules)


def _find(roots: Roots, guard: Guard, root: Root, relative: str) -> Repository:
    parts = [] if relative == "." else relative.split("/")
    for depth in range(len(parts), -1, -1):
        top = "/".join(parts[:depth]) or "."
        git_dir = _own_git_dir(roots, guard, root, top)
        if git_dir is None:
            continue
        worktree = root.join(top)
        common_dir, judged = _judge(roots, guard, git_dir, worktree)
        own = f"{worktree.rstrip('/')}/{git_files.GIT}"
        found = Repository(
            root=root,
            relative=top,
            worktree=worktree,
            git_dir=git_dir.path,
            common_dir=common_dir.path,
            judged=judged,
            elsewhere=tuple(one for one in dict.fromkeys((git_dir, common_dir)) if one.path != own),
        )
        _check_submodules(roots, guard, found)
        return found
    raise _Refuse(f"no .git at or above {root.join(relative)} beneath its root")


def _kind(root_fd: int, relative: str) -> str | None:
    try:
        fd = posix.open_beneath(root_fd, relative, os.O_PATH, resolve=_STRICT)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        if error.errno in {errno.ELOOP, errno.EXDEV}:
            raise _Refuse(f"{relative} is a symlink or another mount") from None
        raise
    try:
        mode = os.fstat(fd).st_mode
    finally:
        os.close(fd)
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISREG(mode):
        return "file"
    raise _Refuse(f"{relative} is neither a directory nor a file")


def _own_git_dir(roots: Roots, guard: Guard, root: Root, top: str) -> PathResource | None:
    """Return the git directory of a work tree; None when it has none."""
    kind = _kind(root.fd, f"{top}/{git_files.GIT}")
    if kind == "file":
        return _pointed(roots, guard, root, top)
    own = git_files.GIT if top == "." else f"{top}/{git_files.GIT}"
    return None if kind is None else _read_of(root.join(own), root.name)


def _read_of(path: str, root: str | None) -> PathResource:
    return PathResource(operation=Operation.FS_READ, path=path, root=root, named=False)


def _pointed(roots: Roots, guard: Guard, root: Root, top: str) -> PathResource:
    """Follow a `.git` file to the directory it names."""
    fd = posix.open_beneath(root.fd, top, os.O_RDONLY | os.O_DIRECTORY, resolve=_STRICT)
    try:
        raw = _read(fd, git_files.GIT, _MAX_POINTER)
    finally:
        os.close(fd)
    found = _POINTER.match((raw or b"").decode("utf-8", "replace"))
    if found is None:
        raise _Refuse(f"{root.join(top)}/.git is not a plain `gitdir: PATH`")
    return _real(roots, guard, found.group(1), root.join(top), f"{root.join(top)}/.git")


def _real(roots: Roots, guard: Guard, spelled: str, base: str, shown: str) -> PathResource:
    """Return the real directory that a file of the repository names."""
    found = locate(
        roots, spelled, operation=Operation.FS_LIST, cwd=base, want="directory", guard=guard
    )
    if isinstance(found, Refused):
        raise _Refuse(f"{shown} leads to a directory that is refused: {found.refusal.message}")
    os.close(found.fd)
    return _read_of(found.resource.path, found.resource.root)


def _directory(roots: Roots, guard: Guard, path: str) -> Located:
    found = locate(roots, path, operation=Operation.FS_LIST, want="directory", guard=guard)
    if isinstance(found, Refused):
        raise _Refuse(found.refusal.message)
    return found


def _judge(
    roots: Roots, guard: Guard, git_dir: PathResource, worktree: str
) -> tuple[PathResource, tuple[Opened, ...]]:
    """Judge a git directory and the one it shares with others; return the latter."""
    entries: list[git_config.Entry] = []
    judged: list[Opened] = []
    common = _shared(roots, guard, git_dir)
    for place, name in ((git_dir, "config.worktree"), (common, "config")):
        directory = _directory(roots, guard, place.path)
        try:
            _settings(directory, place.path, name, entries, judged)
        finally:
            os.close(directory.fd)
    _check_settings(entries, git_dir.path, common.path, worktree)
    return common, tuple(judged)


def _shared(roots: Roots, guard: Guard, git_dir: PathResource) -> PathResource:
    """Judge the files of a git directory, and of the one it shares with others; return that."""
    directory = _directory(roots, guard, git_dir.path)
    try:
        _check_files(directory.fd, git_dir.path)
        shared = _read(directory.fd, "commondir", _MAX_POINTER)
    finally:
        os.close(directory.fd)
    common = git_dir
    if shared is not None:
        spelled = shared.decode("utf-8", "replace").removesuffix("\n")
        common = _real(roots, guard, spelled, git_dir.path, f"{git_dir.path}/commondir")
    directory = _directory(roots, guard, common.path)
    try:
        if common != git_dir:
            _check_files(directory.fd, common.path)
        for name in _ELSEWHERE:
            if _kind(directory.fd, name) is not None:
                raise _Refuse(f"{common.path}/{name} adds objects from elsewhere")
    finally:
        os.close(directory.fd)
    return common


def _settings(
    directory: Located,
    shown: str,
    name: str,
    entries: list[git_config.Entry],
    judged: list[Opened],
) -> None:
    """Read and judge one configuration file; add its settings and which file it was."""
    fd = _open(directory.fd, name)
    if fd is None:
        return
    try:
        raw = posix.read_all(fd, max_bytes=git_config.MAX_BYTES)
        identity = posix.identity(os.fstat(fd))
    finally:
        os.close(fd)
    found = git_config.parse(raw, f"{shown}/{name}")
    if isinstance(found, Refusal):
        raise _Refuse(found.message)
    refusal = git_config.judge(found, f"{shown}/{name}")
    if refusal is not None:
        raise _Refuse(refusal.message)
    entries.extend(found)
    operand = Operand(
        root_fd=directory.root_fd,
        relative=f"{directory.relative}/{name}",
        path=f"{shown}/{name}",
        identity=identity,
    )
    judged.append(Opened(operand=operand, is_directory=False))


def _check_settings(
    entries: list[git_config.Entry], git_dir: str, common: str, worktree: str
) -> None:
    for entry in entries:
        if entry.key == "core.worktree":
            places = {
                posixpath.normpath(posixpath.join(one, entry.value)) for one in (git_dir, common)
            }
            if worktree not in places:
                raise _Refuse(f"{common}/config sets core.worktree to another directory")
        if entry.key == "extensions.objectformat" and entry.value.lower() != "sha1":
            raise _Refuse(f"{common}/config: extensions.objectformat other than sha1")


def _check_files(fd: int, shown: str) -> None:
    refusal = git_files.plain(fd, shown)
    if refusal is not None:
        raise _Refuse(refusal.message)
    if not git_files.is_git_directory(fd):
        raise _Refuse(f"{shown} is no git directory")


def _check_submodules(roots: Roots, guard: Guard, found: Repository) -> None:
    """Judge the files git reads of a submodule to learn which commit it is at."""
    names = tracked(roots, guard, found, submodules=True)
    if isinstance(names, Refusal):
        raise _Refuse(names.message)
    for name in names:
        top = name if found.relative == "." else f"{found.relative}/{name}"
        git_dir = _own_git_dir(roots, guard, found.root, top)
        if git_dir is not None:
            _shared(roots, guard, git_dir)


def _read(directory_fd: int, name: str, limit: int) -> bytes | None:
    """Read a regular file of an open directory; None when absent."""
    fd = _open(directory_fd, name)
    if fd is None:
        return None
    try:
        return posix.read_all(fd, max_bytes=limit)
    finally:
        os.close(fd)


def _open(directory_fd: int, name: str) -> int | None:
    """Open a regular file of an open directory; None when absent."""
    try:
        fd = posix.open_beneath(directory_fd, name, os.O_RDONLY | os.O_NONBLOCK, resolve=_STRICT)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EXDEV, errno.ENXIO}:
            raise _Refuse(f"{name} is a symlink or no plain file") from None
        raise
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        return fd
    os.close(fd)
    raise _Refuse(f"{name} is no plain file, or has another name (hard link)")
