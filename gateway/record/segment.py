"""One segment in hand: whole lines are appended at the size that was read, to the same file.

Source: open(2) O_APPEND, O_NOFOLLOW; fsync(2): a file whose directory was not synced can vanish.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from gateway.errors import RecordError
from gateway.kit import posix
from gateway.record.disk import failure, sync_directory
from gateway.record.state import BrokenLogError

_CHUNK: Final = 1 << 20
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """An open segment; `first` is the sequence number of its first record."""

    path: Path
    first: int
    fd: int

    @classmethod
    def open(cls, path: Path, first: int, *, create: bool = False) -> Self:
        """Open for appending; a new one is made durable in its directory.

        Raises:
            BrokenLogError: it is missing.
            RecordError: it cannot be opened, or is not a regular file.
        """
        try:
            fd = os.open(path, _FLAGS | (os.O_CREAT | os.O_EXCL if create else 0), 0o600)
        except FileNotFoundError:
            raise BrokenLogError(f"{path}: this segment of the log is missing") from None
        except OSError as error:
            raise failure(path, error) from None
        try:
            if create:
                sync_directory(path.parent)
            mode = os.fstat(fd).st_mode
            if stat.S_IMODE(mode) != 0o600:  # noqa: PLR2004
                os.fchmod(fd, 0o600)
        except OSError as error:
            os.close(fd)
            raise failure(path, error) from None
        if not stat.S_ISREG(mode):
            os.close(fd)
            raise RecordError(f"{path}: not a regular file")
        return cls(path=path, first=first, fd=fd)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.fd)

    def size(self) -> int:
        """Return its size now."""
        return os.fstat(self.fd).st_size

    def lines(self, offset: int) -> Iterator[bytes]:
        """Yield the whole lines from `offset` on, without their newlines; a torn end is left.

        Raises:
            BrokenLogError: it is shorter than `offset`.
        """
        size = self.size()
        if size < offset:
            raise BrokenLogError(f"{self.path}: shorter than it was; records were cut")
        rest = b""
        while offset < size:
            chunk = os.pread(self.fd, _CHUNK, offset)
            if not chunk:
                return
            offset += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines

    def append(self, line: bytes, at: int) -> None:
        """Append one line where the segment ends, at `at`.

        Raises:
            RecordError: the file was replaced, unlinked or grew behind our back, or the kernel
                said it wrote what it did not.
            OSError: the file system refuses; a part of the line may stand there.
        """
        there = self.path.lstat()
        found = os.fstat(self.fd)
        if not os.path.samestat(found, there) or found.st_nlink != 1:
            raise RecordError(f"{self.path}: replaced, unlinked or linked while in use")
        posix.write_all(self.fd, line + b"\n")
        if self.size() != at + len(line) + 1:
            self.cut(at)
            raise RecordError(f"{self.path}: its size is not what was written")

    def torn(self, offset: int) -> bytes:
        """Return what stands after `offset`, the end of the last whole line."""
        return os.pread(self.fd, max(self.size() - offset, 0), offset)

    def cut(self, offset: int) -> None:
        """Cut everything after `offset` off."""
        os.ftruncate(self.fd, offset)

    def sync(self) -> None:
        """Make every line durable."""
        os.fdatasync(self.fd)
