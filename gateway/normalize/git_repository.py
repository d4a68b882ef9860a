"""Which repository a git command would use, and whether reading it is safe.

The work tree is the nearest directory at or above the working directory, and beneath its root, that
has a `.git`. A `.git` file (linked work tree, submodule) is followed once, and only to a directory
beneath a root. Git is then told both places, so that it looks for none by itself, and never takes
a directory of the work tree for a bare repository.

Refused by name (`git_repository`): configuration that is not known to run nothing, symlinks among
the repository's own files, object stores elsewhere (`alternates`), a `core.worktree` elsewhere.
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
from gateway.normalize import git_config, git_index
from gateway.normalize.hardlinks import Guard
from gateway.normalize.path import Refused, locate
from gateway.normalize.roots import Root, Roots

_STRICT: Final = posix.RESOLVE_NO_SYMLINKS | posix.RESOLVE_NO_XDEV
_POINTER: Final = re.compile(r"gitdir: ([^\0\n]{1,3000})\n?\Z")
_MAX_POINTER: Final = 4096
_ELSEWHERE: Final = ("objects/info/alternates", "objects/info/http-alternates")
_LOOKED_AT: Final = (".", "objects", "objects/info", "objects/pack")
_MAY_LINK: Final = frozenset({"hooks"})  # no command that reads runs one


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Absolute paths of the work tree, its git directory, and the one with the configuration.

    `root` is the root above the work tree, `relative` the work tree's path from it.
    """

    root: Root
    relative: str
    worktree: str
    git_dir: str
    common_dir: str


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


def tracked(roots: Roots, guard: Guard, repository: Repository) -> tuple[str, ...] | Refusal:
    """Return the paths the repository tracks, from the top of its work tree."""
    try:
        fd = _directory(roots, guard, repository.git_dir)
        try:
            raw = _read(fd, "index", git_index.MAX_BYTES)
        finally:
            os.close(fd)
    except (_Refuse, OSError) as error:
        message = f"the repository's index cannot be read: {error}"
        return Refusal(reason="git_repository", message=message)
    return () if raw is None else git_index.tracked(raw)


def _find(roots: Roots, guard: Guard, root: Root, relative: str) -> Repository:
    parts = [] if relative == "." else relative.split("/")
    for depth in range(len(parts), -1, -1):
        top = "/".join(parts[:depth]) or "."
        kind = _kind(root.fd, f"{top}/.git")
        if kind is None:
            continue
        worktree = root.join(top)
        if kind == "directory":
            git_dir = root.join(".git" if top == "." else f"{top}/.git")
        else:
            git_dir = _pointed(roots, guard, root, top)
        common_dir = _judge(roots, guard, git_dir, worktree)
        return Repository(
            root=root, relative=top, worktree=worktree, git_dir=git_dir, common_dir=common_dir
        )
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


def _pointed(roots: Roots, guard: Guard, root: Root, top: str) -> str:
    """Follow a `.git` file to the directory it names."""
    fd = posix.open_beneath(root.fd, top, os.O_RDONLY | os.O_DIRECTORY, resolve=_STRICT)
    try:
        raw = _read(fd, ".git", _MAX_POINTER)
    finally:
        os.close(fd)
    found = _POINTER.match((raw or b"").decode("utf-8", "replace"))
    if found is None:
        raise _Refuse(f"{root.join(top)}/.git is not a plain `gitdir: PATH`")
    return _real(roots, guard, found.group(1), root.join(top), f"{root.join(top)}/.git")


def _real(roots: Roots, guard: Guard, spelled: str, base: str, shown: str) -> str:
    """Return the real path of a directory that a file of the repository names."""
    found = locate(
        roots, spelled, operation=Operation.FS_LIST, cwd=base, want="directory", guard=guard
    )
    if isinstance(found, Refused):
        raise _Refuse(f"{shown} leads to a directory that is refused: {found.refusal.message}")
    os.close(found.fd)
    return found.resource.path


def _directory(roots: Roots, guard: Guard, path: str) -> int:
    found = locate(roots, path, operation=Operation.FS_LIST, want="directory", guard=guard)
    if isinstance(found, Refused):
        raise _Refuse(found.refusal.message)
    return found.fd


def _judge(roots: Roots, guard: Guard, git_dir: str, worktree: str) -> str:
    """Judge a git directory and the one it shares with others; return the latter."""
    fd = _directory(roots, guard, git_dir)
    try:
        _no_links(fd, git_dir)
        shared = _read(fd, "commondir", _MAX_POINTER)
        configs = [_settings(fd, git_dir, "config.worktree")]
    finally:
        os.close(fd)
    common = git_dir
    if shared is not None:
        spelled = shared.decode("utf-8", "replace").removesuffix("\n")
        common = _real(roots, guard, spelled, git_dir, f"{git_dir}/commondir")
    fd = _directory(roots, guard, common)
    try:
        _no_links(fd, common)
        for name in _ELSEWHERE:
            if _kind(fd, name) is not None:
                raise _Refuse(f"{common}/{name} adds objects from elsewhere")
        configs.append(_settings(fd, common, "config"))
    finally:
        os.close(fd)
    _check_settings([one for config in configs for one in config], git_dir, common, worktree)
    return common


def _settings(fd: int, directory: str, name: str) -> tuple[git_config.Entry, ...]:
    raw = _read(fd, name, git_config.MAX_BYTES)
    if raw is None:
        return ()
    entries = git_config.parse(raw, f"{directory}/{name}")
    if isinstance(entries, Refusal):
        raise _Refuse(entries.message)
    refusal = git_config.judge(entries, f"{directory}/{name}")
    if refusal is not None:
        raise _Refuse(refusal.message)
    return entries


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


def _no_links(fd: int, shown: str) -> None:
    for relative in _LOOKED_AT:
        try:
            child = posix.open_beneath(fd, relative, os.O_RDONLY | os.O_DIRECTORY, resolve=_STRICT)
        except FileNotFoundError:
            continue
        try:
            with os.scandir(child) as entries:
                for entry in entries:
                    if entry.is_symlink() and entry.name not in _MAY_LINK:
                        raise _Refuse(f"{shown}/{relative}/{entry.name} is a symlink")
        finally:
            os.close(child)


def _read(directory_fd: int, name: str, limit: int) -> bytes | None:
    """Read a regular file of an open directory; None when absent."""
    try:
        fd = posix.open_beneath(directory_fd, name, os.O_RDONLY | os.O_NONBLOCK, resolve=_STRICT)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EXDEV, errno.ENXIO}:
            raise _Refuse(f"{name} is a symlink or no plain file") from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _Refuse(f"{name} is no plain file")
        return posix.read_all(fd, max_bytes=limit)
    finally:
        os.close(fd)
