"""The log's writer: one chain, several processes, one lock, nothing acknowledged that can be lost.

Each append happens under the log's lock: read what other processes appended, refuse if the session
changed since the decision, write one line, sync it when it must be durable, sign the new head. A
write or sync that fails, a log that was swapped, cut or unlinked while in use: the writer is dead
from then on and everything is denied, here and (by the halt marker) in every later process, until
`counterfoil audit recover`. After an fsync error a later success would prove nothing.

At the start a torn last line (a crash) is cut off and recorded as `recovered`; intents of dead
writers without outcome are recorded as `unresolved`, never executed again. A log shorter than its
signed head is never appended to.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from gateway.errors import InvariantError, RecordError, StaleStateError
from gateway.kit import canon, posix
from gateway.model.event import Event, Kind
from gateway.model.names import Json
from gateway.model.session import SessionState
from gateway.record import ids
from gateway.record.chain import checkpoint
from gateway.record.disk import Disk, alive, boot_id, failure, writer_id
from gateway.record.event import SCHEMA, Fields, fields
from gateway.record.head import Head, parse_head
from gateway.record.keys import LogKeys
from gateway.record.state import BrokenLogError, Replayed

REMEDY: Final = "then run `counterfoil audit recover`"
SNAPSHOT_EVERY: Final = 256
_CHUNK: Final = 1 << 20


class BusyError(RecordError):
    """The lock could not be had in time; nothing is wrong with the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`clock_ns` wall time, `mono_ns` monotonic time, both in ns; `random` gives random bytes."""

    clock_ns: Callable[[], int]
    mono_ns: Callable[[], int]
    random: Callable[[int], bytes]
    level: str = "embedded"
    lock_timeout_s: float = 5.0
    segment_bytes: int = 64 * 1024 * 1024


@dataclass(slots=True)
class _Open:
    """The segment in hand."""

    first: int = -1
    fd: int = -1


@dataclass(slots=True)
class Log:
    """Implements the recorder port. Made by :mod:`gateway.record.stage`."""

    disk: Disk
    keys: LogKeys
    settings: Settings
    replayed: Replayed = field(default_factory=Replayed)
    _lock_fd: int = -1
    _segment: _Open = field(default_factory=_Open)
    _fault: str = ""
    _dirty: bool = False
    _signed: Head | None = None
    _boot: str = field(default_factory=boot_id)
    _since_snapshot: int = 0

    def state(self, scope: str) -> SessionState:
        """Return the scope's state after every record in the log, other processes' included."""
        self._check()
        with self._guarded():
            self._catch_up()
        return self.replayed.scope(scope)

    def look(self, scope: str) -> SessionState:
        """Return a scope's state without opening the log for writing: no lock, nothing changed.

        Raises:
            RecordError: what can be read does not continue itself.
        """
        if not self.disk.segments():
            return SessionState()
        try:
            self._load_snapshot()
            self._catch_up()
        except OSError as error:
            raise failure(self.disk.log, error) from None
        finally:
            self._forget_segment()
        return self.replayed.scope(scope)

    def append(self, event: Event, *, sync: bool, expect: int | None = None) -> None:
        """Append one record. See the recorder port."""
        self._check()
        made = fields(event, self.keys)
        with self._guarded(), self._locked():
            self._refuse_halted(recovering=False)
            self._catch_up()
            self._mend_torn()
            if expect is not None and self.replayed.scope(event.caller.scope).version != expect:
                raise StaleStateError("the session changed while this was decided; ask again")
            if event.kind is Kind.OUTCOME and event.action_id not in self.replayed.open_intents:
                raise InvariantError("an outcome needs its intent, and only one")
            self._write(made, sync=sync)

    def close(self) -> None:
        """Sync what is not yet, keep a snapshot, give the files back. Safe to call twice."""
        if self._lock_fd < 0:
            return
        try:
            if not self._fault:
                with self._guarded():
                    self._sync()
                    self._snapshot()
        finally:
            self._forget_segment()
            os.close(self._lock_fd)
            self._lock_fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self, *, recovering: bool = False) -> dict[str, Json]:
        """Open, catch up, mend what a crash left; return what was mended.

        Raises:
            RecordError: the log is halted, shorter than its head, or broken.
        """
        self.disk.prepare()
        self._lock_fd = _open_lock(self.disk.log / ".lock")
        self._signed = parse_head(self.disk.small(self.disk.head), self.keys.public)
        with self._guarded(), self._locked():
            self._refuse_halted(recovering=recovering)
            self._load_snapshot()
            self._catch_up()
            self._check_head()
            mended = self._mend_torn()
            for action_id, writer in list(self.replayed.open_intents.items()):
                if not alive(writer, self._boot):
                    self._write({"kind": "unresolved", "action_id": action_id}, sync=False)
            if recovering:
                self._write(
                    {"kind": "recovered", **({"detail": mended} if mended else {})}, sync=True
                )
                self.disk.halted.unlink(missing_ok=True)
        return mended

    # -- one append ---------------------------------------------------------------------------

    def _write(self, made: Fields, *, sync: bool) -> None:
        """Write one record; the lock is held and the log is caught up."""
        new = self._ready_segment()
        now = self.settings.clock_ns()
        record: Fields = {
            "v": SCHEMA,
            "seq": self.replayed.size,
            "id": ids.uuid7(now, self.settings.random),
            "ts": now // 1000,
            "mono": self.settings.mono_ns() // 1000,
            "writer": writer_id(self._boot),
            "level": self.settings.level,
            "prev": self.replayed.prev,
            **made,
        }
        if new:
            record["segment"] = {
                "size": self.replayed.size,
                "root": self.replayed.frontier.root().hex(),
            }
        line = canon.dumps(record)
        before = self.replayed.offset
        posix.write_all(self._segment.fd, line + b"\n")
        if os.fstat(self._segment.fd).st_size != before + len(line) + 1:
            os.ftruncate(self._segment.fd, before)
            raise RecordError("a write was reported whole and was not")
        self._dirty = True
        if sync:
            self._sync()
        self.replayed.apply(line)
        self._sign()
        self._since_snapshot += 1
        if self._since_snapshot >= SNAPSHOT_EVERY:
            self._snapshot()

    def _ready_segment(self) -> bool:
        """Have the right segment open; whether it is a new one."""
        new = self.replayed.size == 0 or self.replayed.offset >= self.settings.segment_bytes
        if new:
            if self._segment.fd >= 0:
                self._sync()
            self._forget_segment()
            self.replayed.segment, self.replayed.offset = self.replayed.size, 0
            fd = self.disk.open_segment(self.replayed.segment, create=True)
            self._segment = _Open(first=self.replayed.segment, fd=fd)
        self._same_file()
        return new

    def _same_file(self) -> None:
        """Refuse a segment that was swapped, unlinked or changed size behind our back."""
        self._use_segment()
        found = os.fstat(self._segment.fd)
        there = self.disk.segment(self._segment.first).lstat()
        if not os.path.samestat(found, there) or found.st_nlink != 1:
            raise RecordError("the segment was replaced or unlinked while in use")
        if found.st_size != self.replayed.offset:
            raise RecordError("the segment's size is not what was read from it")

    def _sync(self) -> None:
        if self._dirty and self._segment.fd >= 0:
            os.fdatasync(self._segment.fd)
            self._dirty = False

    def _sign(self) -> None:
        note = checkpoint(self.replayed.frontier, self.keys.public, self.keys.head.sign)
        self.disk.replace(self.disk.head, note)

    # -- reading on ---------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Fold in every whole line other processes appended; cheap when there is none."""
        while True:
            if self.replayed.size == 0 and not self.disk.segments():
                return
            self._use_segment()
            self._read_on()
            following = self.disk.segment(self.replayed.size)
            if self.replayed.offset == 0 or not following.exists():
                return
            self._forget_segment()
            self.replayed.segment, self.replayed.offset = self.replayed.size, 0

    def _read_on(self) -> None:
        size = os.fstat(self._segment.fd).st_size
        if size < self.replayed.offset:
            raise BrokenLogError("the log became shorter while in use")
        rest = b""
        at = self.replayed.offset
        while at < size:
            chunk = os.pread(self._segment.fd, _CHUNK, at)
            if not chunk:
                return
            at += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.replayed.apply(line)
                self._compare_head()

    def _compare_head(self) -> None:
        """At the size the head was signed for, the tree must have the root it says."""
        head = self._signed
        if head and head.size == self.replayed.size and head.root != self.replayed.frontier.root():
            raise BrokenLogError(f"the signed head does not fit the first {head.size} records")

    def _check_head(self) -> None:
        head = self._signed
        if head is None and self.replayed.size > 1:
            raise BrokenLogError("the log has no signed head; look with `counterfoil audit verify`")
        if head is not None and head.size > self.replayed.size:
            raise BrokenLogError(
                f"the log has {self.replayed.size} records, its signed head says {head.size}: "
                "records were cut; restore them, or keep the log and start a new one"
            )

    def _mend_torn(self) -> dict[str, Json]:
        """Cut off a torn last line; record its length and hash."""
        if self._segment.fd < 0:
            return {}
        size = os.fstat(self._segment.fd).st_size
        if size == self.replayed.offset:
            return {}
        cut = os.pread(self._segment.fd, size - self.replayed.offset, self.replayed.offset)
        os.ftruncate(self._segment.fd, self.replayed.offset)
        os.fdatasync(self._segment.fd)
        mended: dict[str, Json] = {
            "cut_bytes": len(cut),
            "cut_sha256": hashlib.sha256(cut).hexdigest(),
        }
        if self.replayed.offset == 0 and self.replayed.segment == self.replayed.size:
            self._forget_segment()
            self.disk.segment(self.replayed.segment).unlink()
        self._write({"kind": "recovered", "detail": mended}, sync=True)
        return mended

    def _use_segment(self) -> None:
        if self._segment.first != self.replayed.segment:
            self._forget_segment()
            fd = self.disk.open_segment(self.replayed.segment, create=False)
            self._segment = _Open(first=self.replayed.segment, fd=fd)

    def _forget_segment(self) -> None:
        if self._segment.fd >= 0:
            os.close(self._segment.fd)
        self._segment = _Open()

    # -- snapshot, lock, faults ---------------------------------------------------------------

    def _snapshot(self) -> None:
        body = self.replayed.to_json()
        sealed: dict[str, Json] = {"body": body, "seal": self.keys.seal(canon.dumps(body))}
        self.disk.replace(self.disk.snapshot, canon.dumps(sealed))
        self._since_snapshot = 0

    def _load_snapshot(self) -> None:
        """Start from the snapshot if it is sealed by our key and its segment is still there."""
        data = self.disk.small(self.disk.snapshot)
        if data is None:
            return
        with contextlib.suppress(ValueError, KeyError, TypeError):
            whole = json.loads(data)
            seal = self.keys.seal(canon.dumps(whole["body"]))
            replayed = Replayed.from_json(whole["body"])
            there = self.disk.segment(replayed.segment)
            if hmac.compare_digest(seal, whole["seal"]) and (replayed.size == 0 or there.exists()):
                self.replayed = replayed
                self._compare_head()

    def _refuse_halted(self, *, recovering: bool) -> None:
        marker = self.disk.small(self.disk.halted)
        if marker is not None and not recovering:
            said = marker.decode("utf-8", "replace").strip()
            raise RecordError(f"the log was halted: {said}; mend the cause, {REMEDY}")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(
                    posix.locked(self._lock_fd, timeout_s=self.settings.lock_timeout_s)
                )
            except TimeoutError:
                raise BusyError(
                    f"{self.disk.log}: another process keeps the log's lock; is one stopped?"
                ) from None
            yield

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Let only what changes nothing pass; anything else kills this writer."""
        try:
            yield
        except (StaleStateError, InvariantError, BusyError, canon.JsonError):
            raise
        except OSError as error:
            raise self._die(failure(self.disk.log, error, f"mend the cause, {REMEDY}")) from None
        except RecordError as error:
            raise self._die(error) from None

    def _die(self, error: RecordError) -> RecordError:
        first = not self._fault
        self._fault = self._fault or str(error)
        if first and not isinstance(error, BrokenLogError):
            self.disk.reserve.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self.disk.replace(self.disk.halted, self._fault.encode())
        return error

    def _check(self) -> None:
        if self._fault:
            raise RecordError(self._fault)
        if self._lock_fd < 0:
            raise InvariantError("the log is not open")


def _open_lock(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise failure(path, error) from None
