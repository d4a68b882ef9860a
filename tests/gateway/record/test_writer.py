"""The writer while files, processes and the lock go wrong under its feet."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.errors import InvariantError, RecordError, StaleStateError
from gateway.model.event import Event, Kind
from gateway.model.names import Taint
from gateway.record.stage import recover
from gateway.record.state import BusyError, HaltedError
from gateway.record.verify import Code
from gateway.record.writer import Log
from tests.gateway.record.processes import kill, kinds, records, run, start
from tests.gateway.record.samples import (
    KEYS,
    SCOPE,
    caller,
    denied,
    event,
    intent,
    opened,
    outcome,
    run_one,
    settings,
    verified,
)

SOAK = bool(os.environ.get("COUNTERFOIL_SOAK"))
ATTEMPTED = frozenset({Taint.ATTEMPTED})
EXPOSED = frozenset({Taint.EXPOSED})


def segment(root: Path) -> Path:
    return max((root / "log").glob("*.jsonl"))


def clear(*words: str) -> Event:
    return Event(
        kind=Kind.SESSION_CLEAR, caller=caller(), action_id="c", detail={"cleared": list(words)}
    )


# -- state ----------------------------------------------------------------------------------------


def test_a_stale_decision_appends_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as log, opened(tmp_path) as door:
        version = log.state(SCOPE).version
        door.append(denied("d", taint=ATTEMPTED), sync=True)
        before = segment(tmp_path).read_bytes()
        with pytest.raises(StaleStateError):
            log.append(intent("i"), sync=True, expect=version)
        assert segment(tmp_path).read_bytes() == before
        log.append(intent("i"), sync=True, expect=log.state(SCOPE).version)


def test_another_scopes_taint_makes_nothing_stale(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.append(denied("d", taint=ATTEMPTED, scope="bob@other"), sync=True)
        assert log.state(SCOPE).version == 0
        assert log.state(SCOPE).taint == frozenset()
        log.append(intent("i"), sync=True, expect=0)


def test_clearing_takes_the_named_words_only(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.append(denied("d1", taint=ATTEMPTED), sync=True)
        log.append(denied("d2", taint=EXPOSED | ATTEMPTED), sync=True)
        tainted = log.state(SCOPE)
        assert tainted.sources == (("attempted", "d1"), ("exposed", "d2"))
        log.append(clear("attempted", "no such word"), sync=True)
        cleared = log.state(SCOPE)
        assert cleared.taint == EXPOSED
        assert cleared.sources == (("exposed", "d2"),)
        assert cleared.version != tainted.version
        log.append(clear(), sync=True)
        assert log.state(SCOPE) == cleared, "clearing nothing changes nothing"
    with opened(tmp_path) as log:
        assert log.state(SCOPE) == cleared


def test_taint_that_comes_back_has_a_new_version(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        versions = [log.state(SCOPE).version]
        for change in (denied("a", taint=ATTEMPTED), clear("attempted")) * 2:
            log.append(change, sync=True)
            versions.append(log.state(SCOPE).version)
    assert len(set(versions)) == len(versions)


def test_an_outcome_needs_its_open_intent(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        with pytest.raises(InvariantError, match="intent"):
            log.append(outcome("never"), sync=False)
        action_id = run_one(log)
        with pytest.raises(InvariantError, match="intent"):
            log.append(outcome(action_id), sync=False)
        log.append(intent("i"), sync=True)
        with pytest.raises(InvariantError, match="one intent"):
            log.append(intent("i"), sync=True)
        run_one(log)
    assert verified(tmp_path).code is Code.OK


def test_a_record_too_large_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        with pytest.raises(InvariantError, match="at most 4096"):
            log.append(denied("d" * 5000), sync=True)
        run_one(log)
    assert kinds(tmp_path) == ["intent", "outcome"]


# -- several processes ----------------------------------------------------------------------------


def test_two_logs_in_turn_make_one_chain_over_many_segments(tmp_path: Path) -> None:
    with opened(tmp_path, segment_bytes=1500) as one, opened(tmp_path, segment_bytes=1500) as two:
        for _ in range(6):
            run_one(one)
            run_one(two)
        assert one.state(SCOPE) == two.state(SCOPE)
    assert len(list((tmp_path / "log").glob("*.jsonl"))) > 4
    assert verified(tmp_path).records == 24
    assert verified(tmp_path).code is Code.OK


def test_writers_killed_at_random_lose_nothing_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(7)
    acknowledged: set[tuple[str, ...]] = set()
    for _ in range(60 if SOAK else 3):
        workers = [start(tmp_path, "forever") for _ in range(4)]
        wanted = [chance.randint(2, 25) for _ in workers]
        for worker, count in zip(workers, wanted, strict=True):
            assert worker.stdout is not None
            heard = [worker.stdout.readline() for _ in range(count)]
            heard += kill(worker)
            acknowledged |= {tuple(line.split()) for line in heard if " " in line}
    with opened(tmp_path) as log:
        open_now = dict(log.replayed.open_intents)
    assert open_now == {}, "every intent of a dead writer is closed"
    report = verified(tmp_path)
    assert report.code is Code.OK, report.message
    kept = {(record["kind"], record.get("action_id")) for record in records(tmp_path)}
    assert {pair for pair in acknowledged if pair not in kept} == set()
    unresolved = [r["action_id"] for r in records(tmp_path) if r["kind"] == "unresolved"]
    assert len(unresolved) == len(set(unresolved))


def test_a_live_writers_intent_is_not_unresolved(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.append(intent("i"), sync=True)
        opened(tmp_path).close()
        log.append(outcome("i"), sync=False)
    assert kinds(tmp_path) == ["intent", "outcome"]


def test_a_dead_writers_intent_is_unresolved_once(tmp_path: Path) -> None:
    run(tmp_path, "one")
    for _ in range(2):
        opened(tmp_path).close()
    closed = [r["action_id"] for r in records(tmp_path) if r["kind"] == "unresolved"]
    assert sorted(closed) == ["before", "first", "second"]
    assert verified(tmp_path).code is Code.OK
    assert verified(tmp_path).unresolved == ()


def test_a_stopped_lock_holder_is_waited_for_no_longer_than_the_deadline(tmp_path: Path) -> None:
    with opened(tmp_path, lock_timeout_s=0.2) as log:
        holder = start(tmp_path, "hold")
        assert holder.stdout is not None
        assert [holder.stdout.readline() for _ in range(2)] == ["open\n", "held\n"]
        holder.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(BusyError, match="another process"):
                log.append(intent("i"), sync=True)
            with pytest.raises(BusyError):
                opened(tmp_path, lock_timeout_s=0.1)
        finally:
            holder.send_signal(signal.SIGCONT)
            kill(holder)
        run_one(log)
    assert kinds(tmp_path) == ["intent", "outcome"]


def test_closing_while_the_lock_is_kept_leaves_the_head_to_the_next_start(tmp_path: Path) -> None:
    with opened(tmp_path) as other, opened(tmp_path, lock_timeout_s=0.1) as log:
        run_one(log)
        with other._locked():
            log.close()
        assert verified(tmp_path).code is Code.UNCOVERED
    assert verified(tmp_path).code is Code.OK, "whoever closes later signs for all"


def test_a_forked_child_cannot_write_with_its_parents_log(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            status = 1
            with contextlib.suppress(InvariantError):
                try:
                    log.append(intent("child"), sync=True)
                except InvariantError:
                    status = 0
                    raise
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        run_one(log)
    assert "child" not in {record["action_id"] for record in records(tmp_path)}


# -- torn lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [0, 1, 2])
@pytest.mark.parametrize("torn", [b"{", b'{"v":1,"seq":', b"\0" * 700])
def test_a_torn_line_is_cut_and_recorded_once(tmp_path: Path, left: int, torn: bytes) -> None:
    """Whatever stands after the last newline, in a first line too."""
    with opened(tmp_path) as log:
        for number in range(left):
            log.append(denied(f"d{number}"), sync=True)
    path = tmp_path / "log" / ("0" * 20 + ".jsonl")
    with path.open("ab") as file:
        file.write(torn)
    for _ in range(2):
        opened(tmp_path).close()
    assert kinds(tmp_path) == ["denied"] * left + ["recovered"]
    assert records(tmp_path)[-1]["detail"]["cut_bytes"] == len(torn)
    assert verified(tmp_path).code is Code.OK


def test_a_torn_line_of_another_process_is_mended_by_the_next_append(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        run_one(log)
        with segment(tmp_path).open("ab") as file:
            file.write(b'{"half":')
        assert log.state(SCOPE).version == 0
        run_one(log)
    assert kinds(tmp_path) == ["intent", "outcome", "recovered", "intent", "outcome"]
    assert verified(tmp_path).code is Code.OK


def test_an_empty_segment_that_a_crash_left_is_used(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        (tmp_path / "log" / ("0" * 20 + ".jsonl")).touch()
        run_one(log)
        (tmp_path / "log" / f"{2:020}.jsonl").touch()
    with opened(tmp_path) as log:
        run_one(log)
    assert verified(tmp_path).code is Code.OK
    assert (tmp_path / "log" / f"{2:020}.jsonl").stat().st_size > 0


# -- files that change while in use ---------------------------------------------------------------


def replace_segment(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


def symlink_segment(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def link_segment(path: Path) -> None:
    os.link(path, path.with_suffix(".other"))


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"{}\n")


CHANGES: dict[str, Callable[[Path], object]] = {
    "unlinked": lambda path: path.unlink(),
    "renamed": lambda path: path.rename(path.with_suffix(".moved")),
    "replaced": replace_segment,
    "a symlink": symlink_segment,
    "linked": link_segment,
    "truncated to nothing": lambda path: os.truncate(path, 0),
    "truncated in a line": lambda path: os.truncate(path, path.stat().st_size - 3),
    "appended to": grow,
    "directory renamed": lambda path: path.parent.rename(path.parent.with_name("moved")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_segment_changed_while_open_kills_the_writer(tmp_path: Path, change: str) -> None:
    with opened(tmp_path) as log:
        run_one(log)
        CHANGES[change](segment(tmp_path))
        with pytest.raises(RecordError):
            log.append(intent("i"), sync=True)
        with pytest.raises(RecordError):
            log.append(intent("j"), sync=True)
        with pytest.raises(RecordError):
            log.state(SCOPE)
    assert {"i", "j"}.isdisjoint(r.get("action_id") for r in records(tmp_path))


@pytest.mark.parametrize("change", ["unlinked", "truncated to nothing", "appended to", "renamed"])
def test_the_next_process_refuses_as_well(tmp_path: Path, change: str) -> None:
    with opened(tmp_path) as log:
        run_one(log)
    CHANGES[change](segment(tmp_path))
    with pytest.raises(RecordError):
        opened(tmp_path)
    with pytest.raises(RecordError):
        recover(tmp_path, KEYS, settings())


def test_a_replaced_lock_file_is_noticed(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        run_one(log)
        (tmp_path / "log" / ".lock").unlink()
        (tmp_path / "log" / ".lock").touch()
        with pytest.raises(RecordError, match="replaced"):
            log.append(intent("i"), sync=True)


@pytest.mark.parametrize("mode", [0o666, 0o640])
def test_a_loose_segment_is_tightened(tmp_path: Path, mode: int) -> None:
    with opened(tmp_path) as log:
        run_one(log)
        segment(tmp_path).chmod(mode)
        run_one(log)
    with opened(tmp_path) as log:
        run_one(log)
    assert segment(tmp_path).stat().st_mode & 0o777 == 0o600
    assert verified(tmp_path).records == 6


@pytest.mark.parametrize("name", ["log", "segment", "head", "state"])
def test_a_place_that_may_not_be_written_loses_nothing(tmp_path: Path, name: str) -> None:
    """For root the mode changes nothing; anybody else is refused until it is put right."""
    with opened(tmp_path) as log:
        run_one(log)
    place = segment(tmp_path) if name == "segment" else tmp_path / name
    place.chmod(0o444)
    try:
        with opened(tmp_path) as log:
            run_one(log)
    except RecordError as error:
        assert str(tmp_path) in str(error)  # noqa: PT017
        place.chmod(0o600 if name == "segment" else 0o700)
        recover(tmp_path, KEYS, settings())[0].close()
    assert verified(tmp_path).code is Code.OK
    assert kinds(tmp_path)[:2] == ["intent", "outcome"]


def test_a_loose_directory_is_tightened(tmp_path: Path) -> None:
    root = tmp_path / "state"
    opened(root).close()
    (root / "log").chmod(0o755)
    opened(root).close()
    assert (root / "log").stat().st_mode & 0o777 == 0o700


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    root = tmp_path / "state"
    with opened(root) as log:
        run_one(log)
    found = {path.relative_to(root): path.stat().st_mode & 0o777 for path in root.rglob("*")}
    assert {mode for path, mode in found.items() if (root / path).is_file()} == {0o600}
    assert {mode for path, mode in found.items() if (root / path).is_dir()} == {0o700}


# -- the head -------------------------------------------------------------------------------------


def head(root: Path) -> Path:
    return root / "head" / "checkpoint"


def test_a_log_shorter_than_its_head_is_never_appended_to(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        run_one(log)
    (tmp_path / "state" / "snapshot.json").unlink()
    path = segment(tmp_path)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    for attempt in (opened, lambda root: recover(root, KEYS, settings())):
        with pytest.raises(RecordError, match="records were cut"):
            attempt(tmp_path)
    assert kinds(tmp_path) == ["intent"]


def test_a_log_cut_below_its_snapshot_and_an_old_head_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        run_one(log)
    old, short = head(tmp_path).read_bytes(), segment(tmp_path).read_bytes()
    with opened(tmp_path) as log:
        run_one(log)
    head(tmp_path).write_bytes(old)
    segment(tmp_path).write_bytes(short)
    with pytest.raises(RecordError, match="records were cut"):
        opened(tmp_path)


def test_a_log_and_head_that_vanished_are_noticed_by_the_snapshot(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        run_one(log)
    segment(tmp_path).unlink()
    head(tmp_path).unlink()
    with pytest.raises(RecordError, match="missing"):
        opened(tmp_path)


def test_a_head_behind_the_log_is_signed_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        run_one(log)
        old = head(tmp_path).read_bytes()
        run_one(log)
    head(tmp_path).write_bytes(old)
    assert verified(tmp_path).code is Code.UNCOVERED
    opened(tmp_path).close()
    assert verified(tmp_path).code is Code.OK


def test_a_head_that_does_not_fit_the_log_is_refused(tmp_path: Path) -> None:
    for name in ("one", "other"):
        with opened(tmp_path / name) as log:
            run_one(log)
            run_one(log)
    head(tmp_path / "one").write_bytes(head(tmp_path / "other").read_bytes())
    (tmp_path / "one" / "state" / "snapshot.json").unlink()
    with pytest.raises(RecordError, match="does not fit"):
        opened(tmp_path / "one")


@pytest.mark.parametrize("left", [None, b"", b"\0" * 100])
def test_a_lost_head_needs_recover_and_stays_visible(tmp_path: Path, left: bytes | None) -> None:
    with opened(tmp_path) as log:
        run_one(log)
    head(tmp_path).unlink()
    if left is not None:
        head(tmp_path).write_bytes(left)
    with pytest.raises(RecordError, match="audit recover"):
        opened(tmp_path)
    log, mended = recover(tmp_path, KEYS, settings())
    log.close()
    assert mended == {"note": "head_missing"}
    assert records(tmp_path)[-1]["detail"] == {"note": "head_missing"}
    assert verified(tmp_path).code is Code.OK


def test_a_forged_head_is_refused_even_by_recover(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        run_one(log)
    head(tmp_path).write_bytes(head(tmp_path).read_bytes().replace(b"\n2\n", b"\n1\n"))
    for attempt in (opened, lambda root: recover(root, KEYS, settings())):
        with pytest.raises(RecordError, match="forged"):
            attempt(tmp_path)


# -- the snapshot ---------------------------------------------------------------------------------


def snapshot(root: Path) -> Path:
    return root / "state" / "snapshot.json"


def forged(data: bytes) -> bytes:
    return data.replace(b'"attempted"', b'"exposed"')


@pytest.mark.parametrize(
    "change",
    [
        forged,
        lambda data: b"",
        lambda data: b"garbage",
        lambda data: data[:-20],
        lambda data: b"\xff" * 50,
        lambda data: b"[" * 100_000,
        lambda data: data.partition(b"\n")[2],
    ],
)
def test_a_snapshot_that_is_not_ours_is_passed_over(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    with opened(tmp_path) as log:
        log.append(denied("d", taint=ATTEMPTED), sync=True)
        state = log.state(SCOPE)
    snapshot(tmp_path).write_bytes(change(snapshot(tmp_path).read_bytes()))
    with opened(tmp_path) as log:
        assert log.state(SCOPE) == state
        run_one(log)
    assert verified(tmp_path).code is Code.OK


def test_an_old_snapshot_is_read_on_from(tmp_path: Path) -> None:
    with opened(tmp_path, segment_bytes=1500) as log:
        run_one(log)
    old = snapshot(tmp_path).read_bytes()
    with opened(tmp_path, segment_bytes=1500) as log:
        for _ in range(4):
            run_one(log)
        log.append(denied("d", taint=EXPOSED), sync=True)
    snapshot(tmp_path).write_bytes(old)
    with opened(tmp_path) as log:
        assert log.state(SCOPE).taint == EXPOSED
        assert log.replayed.size == 11
        assert log.look(SCOPE).taint == EXPOSED


def test_a_long_run_keeps_a_snapshot_before_its_end(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        for number in range(300):
            log.append(denied(f"d{number}"), sync=number % 16 == 0)
        assert snapshot(tmp_path).exists()
    assert verified(tmp_path).code is Code.OK


# -- halting and recovering -----------------------------------------------------------------------


@contextlib.contextmanager
def halted(root: Path) -> Iterator[Log]:
    """A log whose writer died of a swapped segment that was then put back."""
    with opened(root) as log:
        run_one(log)
        path = segment(root)
        path.rename(path.with_suffix(".moved"))
        with pytest.raises(RecordError):
            log.append(intent("i"), sync=True)
        path.with_suffix(".moved").rename(path)
        yield log


def test_a_dead_writer_stays_dead_and_every_later_process_denies(tmp_path: Path) -> None:
    with halted(tmp_path) as log:
        with pytest.raises(RecordError):
            log.append(intent("i"), sync=True)
        for _ in range(2):
            with pytest.raises(HaltedError, match="audit recover") as caught:
                opened(tmp_path)
            assert str(caught.value).count("halted") == 1
    again, mended = recover(tmp_path, KEYS, settings())
    with again:
        run_one(again)
    assert mended == {}
    assert kinds(tmp_path) == ["intent", "outcome", "recovered", "intent", "outcome"]
    opened(tmp_path).close()
    assert verified(tmp_path).code is Code.OK


def test_a_writer_that_was_open_stops_when_another_halts_the_log(tmp_path: Path) -> None:
    with opened(tmp_path) as bystander:
        run_one(bystander)
        with halted(tmp_path), pytest.raises(HaltedError):
            bystander.append(intent("i"), sync=True)


def test_an_error_names_path_errno_and_remedy(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        run_one(log)
        (tmp_path / "log").rename(tmp_path / "gone")
        with pytest.raises(RecordError) as caught:
            log.append(intent("i"), sync=True)
    said = str(caught.value)
    assert str(tmp_path / "log") in said
    assert "errno 2" in said
    assert "counterfoil audit recover" in said


def test_recovering_a_log_that_was_not_halted_is_harmless(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        run_one(log)
    recover(tmp_path, KEYS, settings())[0].close()
    assert verified(tmp_path).code is Code.OK
    assert kinds(tmp_path) == ["intent", "outcome", "recovered"]


def test_a_closed_log_refuses(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.close()
    log.close()
    with pytest.raises(InvariantError):
        log.append(event(Kind.DENIED), sync=False)


def test_nothing_left_open_after_a_refused_start(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with halted(tmp_path):
        pass
    for _ in range(3):
        with pytest.raises(RecordError):
            opened(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_cut_log_can_be_kept_and_a_new_one_begun(tmp_path: Path) -> None:
    """The commands of docs/audit.md."""
    with opened(tmp_path) as log:
        run_one(log)
    segment(tmp_path).write_bytes(b"")
    with pytest.raises(RecordError, match="records were cut"):
        opened(tmp_path)
    text = (Path(__file__).parents[3] / "docs" / "audit.md").read_text()
    commands = next(line for line in text.splitlines() if line.startswith("mkdir kept"))
    subprocess.run(["sh", "-c", commands], cwd=tmp_path, check=True)
    with opened(tmp_path) as log:
        run_one(log)
    assert verified(tmp_path).code is Code.OK
    assert (tmp_path / "kept" / "head" / "checkpoint").exists()


@pytest.mark.needs("jq")
def test_the_chain_can_be_followed_by_hand(tmp_path: Path) -> None:
    """The loop of docs/audit.md."""
    with opened(tmp_path, segment_bytes=1500) as log:
        for _ in range(3):
            run_one(log)
    text = (Path(__file__).parents[3] / "docs" / "audit.md").read_text()
    loop = "prev=$(printf" + text.partition("prev=$(printf")[2].partition("```")[0]

    def said() -> str:
        done = subprocess.run(
            ["sh", "-c", loop], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout

    assert said() == ""
    path = min((tmp_path / "log").glob("*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b'"alice"', b'"malic"', 1))
    assert said().count("does not follow") == 1
