"""Paths: from a spelling to an open object beneath a declared root, or a refusal.

1. The spelling is judged alone (:mod:`gateway.normalize.spelling`).
2. It is made absolute by spelling: relative ones are taken from `cwd` (itself from the first root).
   `.` components and one trailing slash are dropped. An absolute one must begin with a declared
   root spelled exactly, component by component; the longest such root counts.
3. It is opened beneath that root with openat2, as a bare handle (O_PATH), so that a FIFO or device
   is looked at without being touched. Symlinks are followed while they stay beneath; magic links
   never. Then it is judged by what the handle really is: with a symlink on the way, its kernel
   name must be beneath the root, pass the same spelling rules, and lead, without any symlink or
   mount, to the same device and inode. Only then the very same object is opened for reading.
4. `..` is accepted only if the spelling with `..` and the spelling with `..` resolved lead the
   kernel to the same object without ever leaving the root; with a symlink before the `..` they
   differ and the path is refused.

A write or delete opens the parent that way; the last component is never followed.

A path outside every root is never looked at; it is matched by its spelling, `~/` by the home of
the password database. Refused spellings still give a resource, so that naming a protected file in
disguise counts as naming it.

Source: openat2(2); CWE-22, CWE-59, CWE-367.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import stat
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gateway.kit import posix
from gateway.model.names import Operation
from gateway.model.plan import Identity
from gateway.model.resource import PathResource
from gateway.normalize import git_files
from gateway.normalize.hardlinks import Guard, other_names
from gateway.normalize.place import Refused, Target, place
from gateway.normalize.roots import Root, Roots
from gateway.normalize.spelling import encodable, lexical

__all__ = [
    "Guard",
    "Located",
    "LocatedParent",
    "Refused",
    "Root",
    "Roots",
    "lexical",
    "locate",
    "locate_parent",
]

Want: TypeAlias = Literal["file", "directory", "any"]

_STRICT: Final = posix.RESOLVE_NO_SYMLINKS | posix.RESOLVE_NO_XDEV
_TRIES: Final = 4  # how often a path that moves while it is looked at is looked at again
_ERRNO: Final[dict[int, tuple[str, str]]] = {
    errno.ENOENT: ("fs_not_found", "no such file or directory"),
    errno.ENOTDIR: ("fs_not_directory", "a component of the path is not a directory"),
    errno.EXDEV: ("fs_escape", "the path leads out of its root through a symlink"),
    errno.ELOOP: ("fs_escape", "the path goes through a link that may not be followed"),
    errno.EACCES: ("fs_permission", "the operating system refuses access"),
    errno.EPERM: ("fs_permission", "the operating system refuses access"),
    errno.ENXIO: ("fs_not_regular", "not a regular file"),
    errno.ENAMETOOLONG: ("path_too_long", "the path is too long for the file system"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """An open object beneath a root. `relative` is its real path from `root_fd`.

    The caller owns `fd` and closes it; `root_fd` belongs to the roots.
    """

    resource: PathResource
    fd: int
    root_fd: int
    relative: str
    identity: Identity
    is_directory: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedParent:
    """The open parent of something to be written or deleted, and what stands there now.

    The caller owns `fd` (the parent) and closes it. `existing` is None when nothing is there.
    """

    resource: PathResource
    fd: int
    name: str
    root_fd: int
    relative: str
    existing: Identity | None


class _Refuse(Exception):  # noqa: N818 - it carries a verdict to the edge of this module
    def __init__(self, reason: str, message: str, also: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.also = also

    @classmethod
    def of(cls, error: OSError | _Refuse, *also: str) -> _Refuse:
        """Return the refusal an error means, with more names of what was refused."""
        if isinstance(error, _Refuse):
            return cls(error.reason, error.message, (*also, *error.also))
        reason, message = _ERRNO.get(
            error.errno or 0, ("fs_io_error", f"the operating system reported: {error.strerror}")
        )
        return cls(reason, message, also)


def locate(
    roots: Roots,
    spelled: str,
    *,
    operation: Operation,
    cwd: str | None = None,
    want: Want = "file",
    guard: Guard,
) -> Located | Refused:
    """Open what a spelling names, for reading, and judge it by what it really is."""
    target = place(roots, spelled, operation, cwd)
    if isinstance(target, Refused):
        return target
    try:
        return _locate(target, want, guard)
    except (_Refuse, OSError) as error:
        return _refused(target, error)


def locate_parent(
    roots: Roots,
    spelled: str,
    *,
    operation: Operation,
    cwd: str | None = None,
    guard: Guard,
) -> LocatedParent | Refused:
    """Open the parent of what a spelling names and look at what stands there, following nothing."""
    target = place(roots, spelled, operation, cwd)
    if isinstance(target, Refused):
        return target
    try:
        return _locate_parent(target, guard)
    except (_Refuse, OSError) as error:
        return _refused(target, error)


def _locate(target: Target, want: Want, guard: Guard) -> Located:
    handle, relative, found = _resolve(target.root, target.relative)
    try:
        if target.spelled != target.relative:
            _same_by_kernel(target, found)
        is_directory = stat.S_ISDIR(found.st_mode)
        _check_kind(found, want, slash=target.slash)
        resource = _really(target, relative, found, guard)
        _refuse_object(resource)
        fd = posix.reopen(handle, os.O_RDONLY | os.O_NONBLOCK)
    except (_Refuse, OSError) as error:
        raise _Refuse.of(error, target.root.join(relative)) from None
    finally:
        os.close(handle)
    return Located(
        resource=resource,
        fd=fd,
        root_fd=target.root.fd,
        relative=relative,
        identity=posix.identity(found),
        is_directory=is_directory,
    )


def _locate_parent(target: Target, guard: Guard) -> LocatedParent:
    spelled_parent, _, last = target.spelled.rpartition("/")
    parent, _, name = target.relative.rpartition("/")
    if target.relative == ".":
        raise _Refuse("fs_not_regular", "this is a declared root, not a file")
    if target.slash or last == "..":
        raise _Refuse("path_component", "a file to write or delete ends with its own name")
    fd, real_parent, found = _resolve(target.root, parent or ".")
    relative = name if real_parent == "." else f"{real_parent}/{name}"
    try:
        _check_kind(found, "directory", slash=False)
        if (spelled_parent or ".") != (parent or "."):
            _same_by_kernel(dataclasses.replace(target, spelled=spelled_parent or "."), found)
        there = _last_component(fd, name)
        resource = _really(target, relative, there, guard)
    except (_Refuse, OSError) as error:
        os.close(fd)
        raise _Refuse.of(error, target.root.join(relative)) from None
    return LocatedParent(
        resource=resource,
        fd=fd,
        name=name,
        root_fd=target.root.fd,
        relative=relative,
        existing=None if there is None else posix.identity(there),
    )


def _resolve(root: Root, relative: str) -> tuple[int, str, os.stat_result]:
    """Open a handle beneath a root and learn its real relative path; again while it moves.

    Without a symlink or mount on the way the spelling is the real path, and the kernel says so.
    """
    try:
        handle = posix.open_beneath(root.fd, relative, os.O_PATH, resolve=_STRICT)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.EXDEV}:
            raise
    else:
        return handle, relative, os.fstat(handle)
    for _ in range(_TRIES):
        handle = posix.open_beneath(root.fd, relative, os.O_PATH)
        try:
            found = os.fstat(handle)
            real = _real_relative(root, handle, found)
        except BaseException:
            os.close(handle)
            raise
        if real is not None:
            return handle, real, found
        os.close(handle)
    raise _Refuse("fs_io_error", "the path kept changing while it was looked at; ask again")


def _real_relative(root: Root, handle: int, found: os.stat_result) -> str | None:
    """Return where below its root an open object really is; None when it moved meanwhile."""
    path = posix.real_path(handle)
    if path == root.path:
        return "."
    prefix = root.path.rstrip("/") + "/"
    if not path.startswith(prefix):
        raise _Refuse("fs_escape", "the object is not beneath its root")
    relative = path[len(prefix) :]
    try:
        again = posix.open_beneath(root.fd, relative, os.O_PATH | os.O_NOFOLLOW, resolve=_STRICT)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise _Refuse("fs_mount", "the path crosses into another mount") from None
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            return None
        raise
    try:
        same = os.path.samestat(os.fstat(again), found)
    finally:
        os.close(again)
    if not same:
        return None
    refusal = lexical(relative)
    if refusal is not None:
        raise _Refuse(refusal.reason, f"the real name is refused: {refusal.message}")
    return relative


def _refuse_object(resource: PathResource) -> None:
    if resource.operation is Operation.FS_READ and git_files.is_object(resource.path):
        raise _Refuse("git_repository", "git's stored objects are not read as files; use git")


def _same_by_kernel(target: Target, found: os.stat_result) -> None:
    """Refuse a `..` after which the kernel and the spelling do not mean the same object."""
    refuse = _Refuse(
        "path_component", "the path has a `..` that cannot be resolved by spelling alone"
    )
    try:
        fd = posix.open_beneath(target.root.fd, target.spelled, os.O_PATH)
    except OSError:
        raise refuse from None
    try:
        same = os.path.samestat(os.fstat(fd), found)
    finally:
        os.close(fd)
    if not same:
        raise refuse


def _check_kind(found: os.stat_result, want: Want, *, slash: bool) -> None:
    if stat.S_ISDIR(found.st_mode):
        if want == "file":
            raise _Refuse("fs_not_regular", "this is a directory; name a file, or use fs.list")
        return
    if not stat.S_ISREG(found.st_mode):
        raise _Refuse("fs_not_regular", "this is a FIFO, device or socket, not a regular file")
    if want == "directory" or slash:
        raise _Refuse("fs_not_directory", "this is a file, not a directory")


def _last_component(parent_fd: int, name: str) -> os.stat_result | None:
    """Look at what would be replaced or deleted; only a regular file may stand there."""
    try:
        fd = posix.open_beneath(parent_fd, name, os.O_PATH | os.O_NOFOLLOW, resolve=_STRICT)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _Refuse("fs_symlink", "a symlink stands there; it is never followed") from None
        if error.errno == errno.EXDEV:
            raise _Refuse("fs_mount", "another file system is mounted there") from None
        raise
    try:
        found = os.fstat(fd)
    finally:
        os.close(fd)
    if stat.S_ISLNK(found.st_mode):
        raise _Refuse("fs_symlink", "a symlink stands there; it is never followed")
    if not stat.S_ISREG(found.st_mode):
        raise _Refuse("fs_not_regular", "what stands there is not a regular file")
    return found


def _really(
    target: Target, relative: str, found: os.stat_result | None, guard: Guard
) -> PathResource:
    """Return the resource as it really is, with its other names."""
    path = target.root.join(relative)
    also = [target.resource.path] if path != target.resource.path else []
    links = 1
    if found is not None and stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        links = found.st_nlink
        others = other_names(guard, target.root.path, posix.identity(found), links)
        if not others.complete:
            message = "the file has more names than could be looked at"
            raise _Refuse("fs_hardlink", message, others.protected)
        also.extend(name for name in others.protected if name not in {path, *also})
    return PathResource(
        operation=target.resource.operation,
        path=path,
        also=tuple(also),
        root=target.root.name,
        links=links,
    )


def _refused(target: Target, error: OSError | _Refuse) -> Refused:
    """Refuse, naming also where a symlink leads, by name only, so that a protected one taints."""
    refuse = _Refuse.of(error)
    also = refuse.also
    if refuse.reason in {"fs_escape", "fs_symlink"}:
        with contextlib.suppress(OSError):  # a link that is swapped right now leads nowhere
            also = (*also, os.path.realpath(target.resource.path))
    return target.refuse(refuse.reason, refuse.message, also=map(encodable, also))
