"""POSIX descriptors: open beneath a directory, identity, atomic writes, locks, the real home.

Opening beneath a directory is the kernel's work (`openat2`), never a comparison of resolved names:
resolve-then-open loses the race against a swapped symlink. Where the kernel lacks the call or a
filter refuses it (ENOSYS, EPERM) a walk follows, component by component, that follows no symlink
at all; it is stricter, never looser. There is no third way.

`openat2` does not refuse a NUL (C cuts the name there), a hard link, a FIFO or a device: callers
look at the name before and at the descriptor after.

Source: openat2(2); CWE-367 (time of check, time of use); CWE-59 (link following).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import pwd
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from typing import Final

from gateway.errors import ExecutionError
from gateway.model.plan import Identity

RESOLVE_NO_XDEV: Final = 0x01
RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08

_SYS_OPENAT2: Final = 437  # the same number on every architecture
_RENAME_NOREPLACE: Final = 1
_RENAME_EXCHANGE: Final = 2
_AGAIN: Final = 16  # the kernel asks to try again when a rename raced with the resolution
_LOCK_POLL_S: Final = 0.005
_WRITE_MODE: Final = 0o644

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_beneath(dir_fd: int, relative: str, flags: int, *, resolve: int = 0) -> int:
    """Open `relative` beneath the directory `dir_fd`; RESOLVE_BENEATH is always on.

    Symlinks are followed as long as they stay beneath, magic links never. On a kernel without
    `openat2` no symlink is followed.

    Raises:
        OSError: EXDEV when it leads out, ELOOP at a link that may not be followed, and the usual.
        ValueError: the name holds a NUL.
    """
    if "\0" in relative:
        raise ValueError("a NUL in a path")
    # With O_PATH nothing is really opened, and the kernel refuses O_NOCTTY beside it.
    flags |= os.O_CLOEXEC | (0 if flags & os.O_PATH else os.O_NOCTTY)
    resolve |= RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
    try:
        return openat2(dir_fd, relative, flags, resolve)
    except OSError as error:
        if error.errno not in {errno.ENOSYS, errno.EPERM}:
            raise
    return walk_beneath(dir_fd, relative, flags)


def openat2(dir_fd: int, path: str, flags: int, resolve: int) -> int:
    """Ask the kernel for openat2, trying again while the kernel says that a rename raced with it.

    Raises:
        OSError: what the kernel says.
    """
    name = os.fsencode(path)
    how = _OpenHow(flags, 0, resolve)
    number = errno.EAGAIN
    for _ in range(_AGAIN):
        fd: int = _libc.syscall(
            ctypes.c_long(_SYS_OPENAT2),
            ctypes.c_int(dir_fd),
            ctypes.c_char_p(name),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in {errno.EAGAIN, errno.EINTR}:
            break
    raise OSError(number, os.strerror(number), path)


def walk_beneath(dir_fd: int, relative: str, flags: int) -> int:
    """Open `relative` one component at a time, following no symlink and no `..`, on one device.

    Raises:
        OSError: ELOOP at a symlink, EXDEV at `..`, an absolute name or another file system.
    """
    parts = [part for part in relative.split("/") if part != "."]
    if relative.startswith("/") or ".." in parts:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)
    device = os.fstat(dir_fd).st_dev
    step = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
    current = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            _refuse_link(current, part)
            child = os.open(part, (flags | os.O_NOFOLLOW) if last else step, dir_fd=current)
            os.close(current)
            current = child
            _check_step(os.fstat(current), device, relative)
        if not parts:
            child = os.open(".", flags, dir_fd=current)
            os.close(current)
            current = child
    except BaseException:
        os.close(current)
        raise
    return current


def _check_step(found: os.stat_result, device: int, relative: str) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), relative)
    if found.st_dev != device:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)


def _refuse_link(dir_fd: int, name: str) -> None:
    """Say ELOOP for a symlink, where open would say ENOTDIR; the open itself stays the guard."""
    if stat.S_ISLNK(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)


def reopen(fd: int, flags: int) -> int:
    """Open the very object that an O_PATH descriptor names.

    Raises:
        OSError: no permission, or /proc is not mounted.
    """
    return os.open(f"/proc/self/fd/{fd}", flags | os.O_CLOEXEC | os.O_NOCTTY)


def real_path(fd: int) -> str:
    """Return the kernel's name for an open object; it may since have been moved or unlinked.

    Raises:
        OSError: /proc is not mounted.
    """
    return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - a descriptor, not a path


def identity(found: os.stat_result) -> Identity:
    """Return which object a stat result describes."""
    return Identity(
        device=found.st_dev,
        inode=found.st_ino,
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        ctime_ns=found.st_ctime_ns,
    )


def identity_at(dir_fd: int, name: str) -> Identity | None:
    """Return the identity of `name` in a directory, never following a link; None when absent."""
    try:
        return identity(os.stat(name, dir_fd=dir_fd, follow_symlinks=False))
    except FileNotFoundError:
        return None


def close_quietly(fd: int) -> None:
    """Close a descriptor that may be closed already."""
    with contextlib.suppress(OSError):
        os.close(fd)


def home_directory() -> str:
    """Return the user's home from the password database; `HOME` belongs to whoever starts us."""
    return pwd.getpwuid(os.geteuid()).pw_dir


def read_all(fd: int, *, max_bytes: int) -> bytes:
    """Read a descriptor from its start to its end, at most `max_bytes` + 1 bytes."""
    chunks: list[bytes] = []
    offset = 0
    while offset <= max_bytes:
        chunk = os.pread(fd, min(1 << 20, max_bytes + 1 - offset), offset)
        if not chunk:
            break
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def atomic_write(dir_fd: int, name: str, data: bytes, *, mode: int = 0o600) -> None:
    """Make `name` in a directory hold `data`, whole or not at all, durably."""
    temporary = _temporary(dir_fd, data, mode)
    try:
        os.rename(temporary, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        _unlink_quietly(dir_fd, temporary)
        raise
    _sync_directory(dir_fd)


def atomic_replace(dir_fd: int, name: str, data: bytes, *, existing: Identity | None) -> None:
    """Put `data` under `name` only if what stands there is still `existing` (None: nothing).

    The new file changes places with the old one, and the old one is looked at afterwards: if it is
    another object the places are changed back. The old one's permission bits are kept.

    Raises:
        ExecutionError: `changed_since_decision`; nothing was changed.
        OSError: the file system refuses.
    """
    changed = ExecutionError(
        "changed_since_decision",
        "the file is no longer the one that was decided; nothing was written",
        status="not_started",
    )
    if identity_at(dir_fd, name) != existing:
        raise changed
    mode = _WRITE_MODE
    if existing is not None:
        mode = stat.S_IMODE(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode) & 0o777
    temporary = _temporary(dir_fd, data, mode)
    try:
        if existing is None:
            _rename_new(dir_fd, temporary, name, changed)
            temporary = ""
        else:
            exchange(dir_fd, temporary, name)
            if not _same_content_object(identity_at(dir_fd, temporary), existing):
                exchange(dir_fd, temporary, name)
                raise changed
    except FileNotFoundError:
        raise changed from None
    finally:
        if temporary:
            _unlink_quietly(dir_fd, temporary)
    _sync_directory(dir_fd)


@contextlib.contextmanager
def locked(
    fd: int,
    *,
    timeout_s: float,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold the exclusive flock of an open file; wait at most `timeout_s`.

    Raises:
        TimeoutError: another process kept it.
    """
    deadline = monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if monotonic() >= deadline:
                raise TimeoutError(f"the lock was held by others for {timeout_s} s") from None
            sleep(_LOCK_POLL_S)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)


def _temporary(dir_fd: int, data: bytes, mode: int) -> str:
    """Write `data` durably under a fresh name nobody can guess; return the name."""
    name = f".cf-{secrets.token_hex(12)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=dir_fd)
    try:
        write_all(fd, data)
        os.fchmod(fd, mode)
        os.fsync(fd)
    except BaseException:
        _unlink_quietly(dir_fd, name)
        raise
    finally:
        os.close(fd)
    return name


def _rename_new(dir_fd: int, source: str, target: str, changed: ExecutionError) -> None:
    try:
        _renameat2(dir_fd, source, target, _RENAME_NOREPLACE)
    except FileExistsError:
        raise changed from None


def exchange(dir_fd: int, one: str, other: str) -> None:
    """Let two names of a directory change places, in one step.

    Raises:
        OSError: what the kernel says.
    """
    _renameat2(dir_fd, one, other, _RENAME_EXCHANGE)


def _renameat2(dir_fd: int, source: str, target: str, flags: int) -> None:
    status: int = _libc.renameat2(
        ctypes.c_int(dir_fd),
        ctypes.c_char_p(os.fsencode(source)),
        ctypes.c_int(dir_fd),
        ctypes.c_char_p(os.fsencode(target)),
        ctypes.c_uint(flags),
    )
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def _same_content_object(found: Identity | None, wanted: Identity) -> bool:
    """Compare without the change time, which a rename moves."""
    return found is not None and (found.device, found.inode, found.size, found.mtime_ns) == (
        wanted.device,
        wanted.inode,
        wanted.size,
        wanted.mtime_ns,
    )


def _unlink_quietly(dir_fd: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=dir_fd)


def _sync_directory(dir_fd: int) -> None:
    """Make a rename durable; an O_PATH descriptor is opened anew for it."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
