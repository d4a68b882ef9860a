"""The log's promises, each under its own words, each by real means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.errors import InvariantError
from gateway.model.names import Status, Taint
from gateway.record.verify import Code
from tests.gateway.fakes import Execute, Stages, request
from tests.gateway.record.processes import kill, kinds, records, run, start
from tests.gateway.record.samples import caller, denied, intent, opened, outcome, run_one, verified
from tests.gateway.record.test_faults import check_full_disk


def test_a_killed_process_loses_no_acknowledged_record(tmp_path: Path) -> None:
    workers = [start(tmp_path, "forever") for _ in range(2)]
    heard: list[str] = []
    for worker in workers:
        assert worker.stdout is not None
        heard += [worker.stdout.readline() for _ in range(20)] + kill(worker)
    opened(tmp_path).close()
    kept = {(record["kind"], record.get("action_id")) for record in records(tmp_path)}
    told = {tuple(line.split()) for line in heard if line != "open\n"}
    assert len(told) >= 38
    assert told <= kept
    assert verified(tmp_path).code is Code.OK


def test_a_tampered_truncated_or_reordered_log_is_never_reported_clean(tmp_path: Path) -> None:
    with opened(tmp_path, segment_bytes=2500) as log:
        for _ in range(3):
            run_one(log)
        log.append(denied("d", taint=frozenset({Taint.EXPOSED})), sync=True)
    paths = sorted((tmp_path / "log").glob("*.jsonl"))
    whole = {path: path.read_bytes() for path in paths}
    first, last = paths[0], paths[-1]
    assert first != last
    lines = whole[first].splitlines(keepends=True)
    flipped = [
        (path, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        for path, data in whole.items()
        for at in range(0, len(data), 97)
    ]
    cut = [(last, whole[last][:at]) for at in range(0, len(whole[last]), 83)]
    moved = [
        (first, b"".join([lines[1], lines[0], *lines[2:]])),
        (first, b"".join(lines[1:])),
        (first, b"".join([*lines, lines[-1]])),
        (first, b""),
    ]
    for path, data in (*flipped, *cut, *moved):
        path.write_bytes(data)
        assert verified(tmp_path).code is not Code.OK, (path.name, len(data))
        path.write_bytes(whole[path])
    for path in paths:
        path.rename(tmp_path / "away")
        assert verified(tmp_path).code is not Code.OK, path.name
        (tmp_path / "away").rename(path)
    assert verified(tmp_path).code is Code.OK


@pytest.mark.needs("unshare")
def test_a_full_disk_halts_visibly_and_recovers_by_one_documented_command(tmp_path: Path) -> None:
    assert "counterfoil audit recover" in (Path(__file__).parents[3] / "docs/audit.md").read_text()
    check_full_disk(tmp_path)


def test_an_outcome_without_an_intent_cannot_exist(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.append(denied("d"), sync=True)
        for action_id in ("d", "never"):
            with pytest.raises(InvariantError):
                log.append(outcome(action_id), sync=True)
        done = run_one(log)
        with pytest.raises(InvariantError):
            log.append(outcome(done), sync=True)
        log.append(intent("left open"), sync=True)
    assert kinds(tmp_path) == ["denied", "intent", "outcome", "intent"]
    assert verified(tmp_path).unresolved == ("left open",)


@pytest.mark.needs("strace")
def test_nothing_is_executed_before_its_intent_is_durable(tmp_path: Path) -> None:
    """The order of the system calls of a real pipeline over a real log."""
    trace = tmp_path / "trace"
    root = tmp_path / "state"
    before = [
        "strace",
        "-f",
        "-qq",
        "-y",
        "-o",
        str(trace),
        "-s",
        "4096",
        "-e",
        "trace=write,fdatasync",
    ]
    status, said = run(root, "pipeline", *before)
    assert status == 0
    calls = trace.read_text().splitlines()
    segment = re.escape(str(root / "log" / ("0" * 20 + ".jsonl")))
    for act in range(3):
        executed = next(at for at, call in enumerate(calls) if f'"executed id-{act}' in call)
        written = next(
            at
            for at, call in enumerate(calls)
            if re.search(rf"write\(\d+<{segment}>.*id-{act}\\", call) and "intent" in call
        )
        synced = [
            at
            for at, call in enumerate(calls)
            if re.search(rf"fdatasync\(\d+<{segment}>\)\s+= 0", call) and written < at < executed
        ]
        assert written < executed
        assert len(synced) == 1, calls[written : executed + 1]
    assert said[1:] == [word for act in range(3) for word in (f"executed id-{act}", "asked True")]


def test_an_ambiguous_outcome_is_never_retried_automatically(tmp_path: Path) -> None:
    """Neither after a fault nor after a kill in the middle; both stay visible."""
    stages = Stages(executor=Execute(fault=ValueError("cut off in the middle")))
    with opened(tmp_path) as log:
        answer = stages.pipeline(log).run(request(), caller())
        assert answer.result is not None
        assert answer.result.status is Status.UNKNOWN
    assert len(stages.executor.permits) == 1
    worker = start(tmp_path, "hang")
    assert worker.stdout is not None
    assert [worker.stdout.readline().split()[0] for _ in range(2)] == ["open", "executed"]
    kill(worker)
    for _ in range(2):
        with opened(tmp_path) as log:
            assert log.replayed.open_intents == {}
    assert kinds(tmp_path) == ["intent", "outcome", "intent", "unresolved"]
