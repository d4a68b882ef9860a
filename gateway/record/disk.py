"""The files of a log: segments, head, halt marker, snapshot. No meaning, only bytes and care.

Directories are 0700, files 0600, never reached through a symlink. Segments are named by the
sequence number of their first record. The head and the snapshot are replaced whole.

Source: fsync(2), rename(2); a file whose directory was not synced can vanish in a power loss.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from gateway.errors import RecordError

HEAD: Final = "checkpoint"
LOCK: Final = ".lock"
HALTED: Final = "halted.json"
RESERVE: Final = ".reserve"
SNAPSHOT: Final = "snapshot.json"
RESERVE_BYTES: Final = 65_536
MEND: Final = "mend the cause, then run `counterfoil audit recover`"
_SEGMENT: Final = re.compile(r"[0-9]{20}\.jsonl")
_MAX_SMALL: Final = 16 * 1024 * 1024
_DEAD: Final = frozenset({"Z", "X"})  # a process nobody has waited for yet
_OPEN: Final = os.O_NOFOLLOW | os.O_CLOEXEC


def failure(path: Path, error: OSError) -> RecordError:
    """Return the error that names path, errno and remedy."""
    name = error.filename if isinstance(error.filename, str) else str(path)
    return RecordError(f"{name}: {error.strerror} (errno {error.errno}); {MEND}")


Mark: TypeAlias = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The places of one log. `root` holds `log/`, `head/` and `state/`."""

    root: Path

    @property
    def log(self) -> Path:
        """Directory of the segments."""
        return self.root / "log"

    @property
    def lock(self) -> Path:
        """The file whose lock every writer takes."""
        return self.log / LOCK

    @property
    def head(self) -> Path:
        """The signed head, kept apart from the log."""
        return self.root / "head" / HEAD

    @property
    def halted(self) -> Path:
        """Marks a log whose writer could not go on."""
        return self.root / "state" / HALTED

    @property
    def snapshot(self) -> Path:
        """State after some record, sealed."""
        return self.root / "state" / SNAPSHOT

    @property
    def reserve(self) -> Path:
        """Space kept back, so that a full disk can still be written down."""
        return self.root / "state" / RESERVE

    def prepare(self) -> None:
        """Make the directories, tighten their modes, keep the reserve.

        Raises:
            RecordError: one cannot be made or belongs to somebody else.
        """
        try:
            for directory in (self.root, self.log, self.head.parent, self.halted.parent):
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                found = directory.lstat()
                if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                    raise RecordError(f"{directory}: not a directory of this user")
                if stat.S_IMODE(found.st_mode) != 0o700:  # noqa: PLR2004
                    directory.chmod(0o700)
        except OSError as error:
            raise failure(self.root, error) from None
        if not self.reserve.exists():
            with contextlib.suppress(OSError):
                self.replace(self.reserve, b"\0" * RESERVE_BYTES)

    def open_lock(self) -> int:
        """Open the file whose lock the writers take in turn.

        Raises:
            RecordError: it cannot be opened.
        """
        try:
            return os.open(self.lock, os.O_RDWR | os.O_CREAT | _OPEN, 0o600)
        except OSError as error:
            raise failure(self.lock, error) from None

    def segment(self, first: int) -> Path:
        """Return the path of a segment."""
        return self.log / f"{first:020}.jsonl"

    def segments(self) -> list[int]:
        """Return the first sequence numbers of the segments there are."""
        try:
            names = os.listdir(self.log)  # noqa: PTH208 - names only
        except FileNotFoundError:
            return []
        except OSError as error:
            raise failure(self.log, error) from None
        return sorted(int(name[:20]) for name in names if _SEGMENT.fullmatch(name))

    def replace(self, path: Path, data: bytes) -> None:
        """Replace a small file whole, under the log's lock (one temporary name is enough).

        Not synced: what depends on the file is checked when it is read.
        """
        temporary = path.with_name(f".{path.name}.new")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OPEN, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        finally:
            os.close(fd)
        temporary.rename(path)

    def mark(self, path: Path) -> Mark | None:
        """Tell the content of a small file from any other, without reading it; None: no file.

        A file replaced or written has another inode or change time, and no user sets the latter.
        """
        try:
            found = path.lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failure(path, error) from None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def small(self, path: Path) -> bytes | None:
        """Read a small file; None when there is none."""
        try:
            fd = os.open(path, os.O_RDONLY | _OPEN)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failure(path, error) from None
        with os.fdopen(fd, "rb") as file:
            return file.read(_MAX_SMALL)


def sync_directory(path: Path) -> None:
    """Make a directory's entries durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def writer_id(boot: str) -> str:
    """Return a name for this process that no later process has: boot, pid, start time."""
    return f"{boot}:{os.getpid()}:{_started(os.getpid())}"


def boot_id() -> str:
    """Return the kernel's boot id, so that monotonic times can be told apart."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def alive(writer: str, boot: str) -> bool:
    """Whether the process a writer id names still runs."""
    then, _, rest = writer.partition(":")
    pid, _, started = rest.partition(":")
    return then == boot and pid.isdigit() and _started(int(pid)) == started


def _started(pid: int) -> str:
    """Return a process's start time in clock ticks since boot, empty when it is gone or dead."""
    try:
        stat_line = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    words = stat_line.rpartition(")")[2].split()
    return "" if words[0] in _DEAD else words[19]
