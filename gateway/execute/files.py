"""Files: read, list, write and delete the very objects that were decided.

A read comes from the decided descriptor and is good only if the file is the same before and after
it (device, inode, size, modification and change time). A write replaces atomically, and only what
was judged; a delete unlinks only what was judged. Anything else is `changed_since_decision`, and
nothing was done. Between the last look and the unlink another process may still put a file in its
place; that instant is the limit of names (unlink takes no descriptor).

Source: CWE-367 (time of check, time of use), CWE-59 (link following), renameat2(2).
"""

from __future__ import annotations

import errno
import os
from typing import Final

from gateway.errors import ExecutionError
from gateway.kit import posix, text
from gateway.model.decision import Obligations
from gateway.model.names import Status
from gateway.model.outcome import Result
from gateway.model.plan import DeleteFile, Identity, ListDirectory, ReadFile, WriteFile

_ERRNO: Final = {
    errno.ENOENT: "fs_not_found",
    errno.EACCES: "fs_permission",
    errno.EPERM: "fs_permission",
    errno.EROFS: "fs_permission",
    errno.ENOTDIR: "fs_not_directory",
    errno.ELOOP: "fs_symlink",
    errno.EISDIR: "fs_not_regular",
}


def read_file(plan: ReadFile, obligations: Obligations) -> Result:
    """Return the file's bytes, at most `read_bytes` of them.

    Raises:
        ExecutionError: `changed_since_decision`, or what the operating system says.
    """
    limit = obligations.read_bytes
    try:
        _require_same(posix.identity(os.fstat(plan.fd)), plan.identity, plan.path)
        content = posix.read_all(plan.fd, max_bytes=limit)
        _require_same(posix.identity(os.fstat(plan.fd)), plan.identity, plan.path)
    except OSError as error:
        raise failure(error, plan.path, status=Status.FAILED) from None
    return Result(
        status=Status.DONE,
        content=content[:limit],
        data={"bytes": min(len(content), limit), "size": plan.identity.size},
        truncated=len(content) > limit,
    )


def list_directory(plan: ListDirectory, obligations: Obligations) -> Result:
    """Return the names in the directory, sorted, escaped, one a line.

    Raises:
        ExecutionError: what the operating system says.
    """
    try:
        names = sorted(os.listdir(plan.fd))  # noqa: PTH208 - a descriptor, not a path
    except OSError as error:
        raise failure(error, plan.path, status=Status.FAILED) from None
    content = "".join(text.escape(name) + "\n" for name in names).encode()
    truncated = len(content) > obligations.read_bytes
    if truncated:  # whole names only
        content = content[: content.rfind(b"\n", 0, obligations.read_bytes) + 1]
    return Result(
        status=Status.DONE, content=content, data={"entries": len(names)}, truncated=truncated
    )


def write_file(plan: WriteFile, obligations: Obligations) -> Result:
    """Replace or create the file, whole or not at all.

    Raises:
        ExecutionError: `changed_since_decision`, or what the operating system says.
    """
    del obligations
    try:
        posix.atomic_replace(plan.parent_fd, plan.name, plan.content, existing=plan.existing)
    except OSError as error:
        untouched = _at(plan.parent_fd, plan.name) == plan.existing
        status = Status.FAILED if untouched else Status.UNKNOWN
        raise failure(error, plan.path, status=status) from None
    return Result(
        status=Status.DONE,
        data={"bytes": len(plan.content), "created": plan.existing is None},
    )


def delete_file(plan: DeleteFile, obligations: Obligations) -> Result:
    """Unlink the file if it is still the one that was decided.

    Raises:
        ExecutionError: `changed_since_decision`, or what the operating system says.
    """
    del obligations
    try:
        _require_same(posix.identity_at(plan.parent_fd, plan.name), plan.existing, plan.path)
        os.unlink(plan.name, dir_fd=plan.parent_fd)
    except OSError as error:
        raise failure(error, plan.path, status=Status.FAILED) from None
    try:
        _sync(plan.parent_fd)
    except OSError as error:
        raise failure(error, plan.path, status=Status.UNKNOWN) from None
    return Result(status=Status.DONE, data={"bytes": plan.existing.size})


def changed(path: str) -> ExecutionError:
    """Return the error for an object that is not the decided one any more."""
    message = f"{path}: no longer what was decided; nothing was done; ask again"
    return ExecutionError("changed_since_decision", message, status=Status.NOT_STARTED)


def failure(error: OSError, path: str, *, status: Status) -> ExecutionError:
    """Return the error for what the operating system said."""
    code = _ERRNO.get(error.errno or 0, "fs_io_error")
    reason = os.strerror(error.errno) if error.errno else "input/output error"
    return ExecutionError(code, f"{path}: {reason}", status=status)


def _require_same(found: Identity | None, wanted: Identity, path: str) -> None:
    if found != wanted:
        raise changed(path)


def _at(parent_fd: int, name: str) -> Identity | None:
    try:
        return posix.identity_at(parent_fd, name)
    except OSError:
        return None


def _sync(directory_fd: int) -> None:
    """Make an unlink durable; the descriptor may be a bare handle, so it is opened anew."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory_fd)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
