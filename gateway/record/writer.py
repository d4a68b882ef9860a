"""The log's writer: one chain, several processes, one lock, nothing acknowledged that can be lost.

Each append happens under the log's lock: read what other processes appended, refuse if the session
changed since the decision, write one line, make it durable if it must be. The head is signed over
durable records only, so a power loss never leaves it ahead of the log; records after the last sync
stand beyond it until the next sync, close or start. A write or sync that fails, a log that was
swapped, cut or unlinked while in use: the writer is dead from then on and everything is denied,
here and (by the halt marker) in every later process, until `counterfoil audit recover`. After an
fsync error a later success would prove nothing.

At the start a torn last line (a crash) is cut off and recorded as `recovered`; intents of dead
writers without outcome are recorded as `unresolved`, never executed again. A log shorter than its
signed head, or than its snapshot, is never appended to.

One `Log` is for one thread of one process; a forked child must open its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.errors import InvariantError, RecordError, StaleStateError
from gateway.kit import canon, posix
from gateway.kit.closing import Closing
from gateway.model.event import Event, Kind
from gateway.model.names import Json
from gateway.model.session import SessionState
from gateway.record import ids, snapshot
from gateway.record.chain import checkpoint
from gateway.record.disk import MEND, Disk, Mark, alive, boot_id, failure, writer_id
from gateway.record.event import SCHEMA, Fields, fields
from gateway.record.head import Head, parse_head
from gateway.record.keys import LogKeys
from gateway.record.segment import Segment
from gateway.record.state import BrokenLogError, BusyError, HaltedError, Replayed

LOOK: Final = "look with `counterfoil audit verify`, then run `counterfoil audit recover`"
SNAPSHOT_EVERY: Final = 256
MAX_LINE: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`clock_ns` wall time, `mono_ns` monotonic time, both in ns; `random` gives random bytes."""

    clock_ns: Callable[[], int]
    mono_ns: Callable[[], int]
    random: Callable[[int], bytes]
    level: str = "embedded"
    mode: str = "enforce"
    lock_timeout_s: float = 5.0
    segment_bytes: int = 64 * 1024 * 1024


@dataclass(slots=True)
class Log(Closing):
    """Implements the recorder port. Made by :mod:`gateway.record.stage`.

    `replayed` is what was read or written so far. `_mark` tells the head last read or signed
    here, `_covered` is its size; `_roots` are the roots at each size read since.
    """

    disk: Disk
    keys: LogKeys
    settings: Settings
    replayed: Replayed = field(default_factory=Replayed)
    _lock_fd: int = -1
    _segment: Segment | None = None
    _fault: str = ""
    _covered: int = -1
    _mark: Mark | None = None
    _roots: dict[int, bytes] = field(default_factory=dict)
    _signed: Head | None = None
    _boot: str = field(default_factory=boot_id)
    _pid: int = field(default_factory=os.getpid)
    _writer: str = ""
    _snapshot_size: int = 0

    def state(self, scope: str) -> SessionState:
        """Return the scope's state after every record in the log, other processes' included."""
        self._check()
        with self._guarded():
            self._follow(signing=False)
        return self._now(scope)

    def _now(self, scope: str) -> SessionState:
        return replace(self.replayed.scope(scope), now_us=self.settings.clock_ns() // 1000)

    def look(self, scope: str) -> SessionState:
        """Return a scope's state without opening the log for writing: no lock, nothing changed.

        Raises:
            RecordError: what can be read does not continue itself.
        """
        try:
            self._load_snapshot()
            self._catch_up()
        except OSError as error:
            raise failure(self.disk.log, error) from None
        finally:
            self._forget_segment()
        return self._now(scope)

    def append(self, event: Event, *, sync: bool, expect: int | None = None) -> None:
        """Append one record. See the recorder port."""
        self._check()
        made = fields(event, self.keys)
        with self._guarded(), self._locked():
            self._refuse_halted()
            self._follow(signing=True)
            self._mend_torn()
            if expect is not None and self.replayed.scope(event.caller.scope).version != expect:
                raise StaleStateError("the session changed while this was decided; ask again")
            is_open = event.action_id in self.replayed.open_intents
            if event.kind is Kind.INTENT and is_open:
                raise InvariantError("an act has one intent")
            if event.kind is Kind.OUTCOME and not is_open:
                raise InvariantError("an outcome needs its intent, and only one")
            self._write(made)
            if sync:
                self._cover()

    def close(self) -> None:
        """Make durable what is not yet, give the files back. Safe to call twice.

        When another process keeps the lock or has halted the log, signing is left to the next
        start.
        """
        if self._lock_fd < 0:
            return
        try:
            if not self._fault and self._pid == os.getpid():
                with self._guarded():
                    self._close_covered()
        finally:
            self._forget_segment()
            os.close(self._lock_fd)
            self._lock_fd = -1

    def start(self, *, recovering: bool = False) -> dict[str, Json]:
        """Open, catch up, mend what a crash left; return what was mended.

        Raises:
            RecordError: the log is halted, shorter than its head, or broken.
        """
        self.disk.prepare()
        self._lock_fd = self.disk.open_lock()
        self._writer = writer_id(self._boot)
        with self._guarded(), self._locked():
            if not recovering:
                self._refuse_halted()
            mended = self._read_head(recovering=recovering)
            self._load_snapshot()
            self._catch_up()
            if self._signed is not None and self._signed.size > self.replayed.size:
                raise self._cut(self._signed)
            mended |= self._cut_torn()
            if mended or recovering:
                self._write_recovered(mended)
            for action_id, writer in list(self.replayed.open_intents.items()):
                if not alive(writer, self._boot):
                    self._write({"kind": "unresolved", "action_id": action_id})
            if self._covered != self.replayed.size:
                self._cover()
            if recovering:
                self.disk.halted.unlink(missing_ok=True)
        return mended

    # -- one append ---------------------------------------------------------------------------

    def _write(self, made: Fields) -> None:
        """Write one record; the lock is held and the log is caught up."""
        now = self.settings.clock_ns()
        record: Fields = {
            "v": SCHEMA,
            "seq": self.replayed.size,
            "id": ids.uuid7(now, self.settings.random),
            "ts": now // 1000,
            "mono": self.settings.mono_ns() // 1000,
            "writer": self._writer,
            "level": self.settings.level,
            "mode": self.settings.mode,
            "prev": self.replayed.prev,
            **made,
        }
        full = self._segment is None or self.replayed.offset >= self.settings.segment_bytes
        if full or self.replayed.offset == 0:
            root = self.replayed.frontier.root().hex()
            record["segment"] = {"size": self.replayed.size, "root": root}
        line = canon.dumps(record)
        if len(line) > MAX_LINE:
            raise InvariantError(f"a record of {len(line)} bytes; at most {MAX_LINE} are written")
        segment = self._next_segment() if full else self._in_hand()
        segment.append(line, self.replayed.offset)
        self._apply(line)

    def _apply(self, line: bytes) -> None:
        self.replayed.apply(line)
        if self.replayed.size > self._covered:
            self._roots[self.replayed.size] = self.replayed.frontier.root()

    def _next_segment(self) -> Segment:
        """Go on in a new segment; the one before is durable before it."""
        if self._segment is not None:
            self._segment.sync()
        self._turn_page()
        path = self.disk.segment(self.replayed.segment)
        self._segment = Segment.open(path, self.replayed.segment, create=True)
        return self._segment

    def _cover(self) -> None:
        """Make every record durable, sign the head over them; now and then keep a snapshot."""
        if self._segment is not None:
            self._segment.sync()
        note = checkpoint(self.replayed.frontier, self.keys.public, self.keys.head.sign)
        self.disk.replace(self.disk.head, note)
        self._mark = self.disk.mark(self.disk.head)
        self._signed = Head(size=self.replayed.size, root=self.replayed.frontier.root())
        self._covered = self.replayed.size
        self._roots.clear()
        if self._covered - self._snapshot_size >= SNAPSHOT_EVERY:
            self._keep_snapshot()

    def _close_covered(self) -> None:
        if self._segment is not None:
            self._segment.sync()
        with contextlib.suppress(BusyError, HaltedError), self._locked():
            self._refuse_halted()
            self._follow(signing=True)
            if self._covered != self.replayed.size:
                self._cover()
            if self._snapshot_size != self.replayed.size:
                self._keep_snapshot()

    # -- reading on ---------------------------------------------------------------------------

    def _read_head(self, *, recovering: bool) -> dict[str, Json]:
        """Read the signed head. A log that has records has one, from before its first record."""
        note = self.disk.small(self.disk.head) or b""
        if not note.strip(b"\0"):  # none, or what a power loss left of it
            if self.disk.segments() and not recovering:
                raise BrokenLogError(f"{self.disk.head}: the log has no signed head; {LOOK}")
            return {"note": "head_missing"} if self.disk.segments() else {}
        self._signed = parse_head(note, self.keys.public)
        self._covered = self._signed.size
        return {}

    def _follow(self, *, signing: bool) -> None:
        """Catch up with other processes: the head they signed must fit what is read here.

        The head is read first, so that the log can only be longer than it says. Without this a
        writer would sign over a log that was cut or forged behind the back of all others. Before
        signing the head is read itself, not only looked at.
        """
        mark = self.disk.mark(self.disk.head)
        if mark is None:
            raise BrokenLogError(f"{self.disk.head}: the signed head is gone while in use; {LOOK}")
        if signing or mark != self._mark:
            note = self.disk.small(self.disk.head) or b""
            self._mark, self._signed = mark, parse_head(note, self.keys.public)
        self._catch_up()
        head = self._signed
        if head is None or head.size <= self._covered:
            if head is not None and head.size < self._covered:
                raise BrokenLogError(f"the signed head went back to {head.size} records")
            return
        if head.size > self.replayed.size:
            raise self._cut(head)
        if self._roots.get(head.size) != head.root:
            raise BrokenLogError(f"the signed head does not fit the first {head.size} records")
        self._covered = head.size
        self._roots = {size: root for size, root in self._roots.items() if size > head.size}

    def _cut(self, head: Head) -> BrokenLogError:
        return BrokenLogError(
            f"the log has {self.replayed.size} records, its signed head says {head.size}: "
            "records were cut; restore them, or keep the log and start a new one"
        )

    def _catch_up(self) -> None:
        """Fold in every whole line other processes appended; cheap when there is none."""
        if self._segment is None and self.replayed.size == 0 and not self.disk.segments():
            return
        while True:
            segment = self._in_hand()
            for line in segment.lines(self.replayed.offset):
                self._apply(line)
                self._compare_head()
            if self.replayed.offset == 0 or not self.disk.segment(self.replayed.size).exists():
                return
            self._turn_page()

    def _compare_head(self) -> None:
        """At the size the head was signed for, the tree must have the root it says."""
        head = self._signed
        if head and head.size == self.replayed.size and head.root != self.replayed.frontier.root():
            raise BrokenLogError(f"the signed head does not fit the first {head.size} records")

    def _mend_torn(self) -> None:
        """Cut off what a writer that died left; record it."""
        if mended := self._cut_torn():
            self._write_recovered(mended)
            self._cover()

    def _cut_torn(self) -> dict[str, Json]:
        """Cut off a torn last line; return its length and hash."""
        if self._segment is None or not (torn := self._segment.torn(self.replayed.offset)):
            return {}
        self._segment.cut(self.replayed.offset)
        return {"cut_bytes": len(torn), "cut_sha256": hashlib.sha256(torn).hexdigest()}

    def _write_recovered(self, mended: Fields) -> None:
        self._write({"kind": "recovered", **({"detail": mended} if mended else {})})

    def _in_hand(self) -> Segment:
        if self._segment is None or self._segment.first != self.replayed.segment:
            self._forget_segment()
            path = self.disk.segment(self.replayed.segment)
            self._segment = Segment.open(path, self.replayed.segment)
        return self._segment

    def _turn_page(self) -> None:
        self._forget_segment()
        self.replayed.segment, self.replayed.offset = self.replayed.size, 0

    def _forget_segment(self) -> None:
        if self._segment is not None:
            self._segment.close()
        self._segment = None

    # -- snapshot, lock, faults ---------------------------------------------------------------

    def _keep_snapshot(self) -> None:
        self.disk.replace(self.disk.snapshot, snapshot.pack(self.replayed, self.keys))
        self._snapshot_size = self.replayed.size

    def _load_snapshot(self) -> None:
        found = snapshot.unpack(self.disk.small(self.disk.snapshot), self.keys)
        if found is not None and found.size:
            self.replayed = found
            self._snapshot_size = found.size
            self._compare_head()

    def _refuse_halted(self) -> None:
        marker = self.disk.small(self.disk.halted)
        if marker is not None:
            said = marker.decode("utf-8", "replace").strip()
            raise HaltedError(f"the log was halted: {said}; {MEND}")

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
            if not os.path.samestat(os.fstat(self._lock_fd), self.disk.lock.lstat()):
                raise RecordError(f"{self.disk.lock}: replaced while in use")
            yield

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Let only what changes nothing pass; anything else kills this writer."""
        try:
            yield
        except (StaleStateError, InvariantError, BusyError, canon.JsonError):
            raise
        except OSError as error:
            raise self._die(failure(self.disk.log, error)) from None
        except RecordError as error:
            raise self._die(error) from None

    def _die(self, error: RecordError) -> RecordError:
        first = not self._fault
        self._fault = self._fault or str(error)
        if first and not isinstance(error, BrokenLogError | HaltedError):
            with contextlib.suppress(OSError):
                self.disk.reserve.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self.disk.replace(self.disk.halted, self._fault.encode())
        return error

    def _check(self) -> None:
        if self._fault:
            raise RecordError(self._fault)
        if self._lock_fd < 0 or self._pid != os.getpid():
            raise InvariantError("the log is not open in this process")
