"""Faults of the kernel and the disk, injected into a real writer process.

After each: nothing was permitted without its record, the writer is dead, the next process denies
until `recover`, whole records are all kept and the log is clean again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.record.verify import Code
from tests.gateway.record.processes import REPOSITORY, command, kinds, records, run
from tests.gateway.record.samples import opened, verified

SOAK = bool(os.environ.get("COUNTERFOIL_SOAK"))
ACTS = {"before", "first", "second"}


def watched(root: Path) -> list[str]:
    """The files of a log; strace looks at system calls on these only."""
    names = [
        "log",
        "log/.lock",
        "log/" + "0" * 20 + ".jsonl",
        "head/checkpoint",
        "head/.checkpoint.new",
        "state/snapshot.json",
        "state/.snapshot.json.new",
        "state/halted.json",
    ]
    return [part for name in names for part in ("-P", str(root / name))]


def strace(root: Path, inject: str, *paths: str) -> list[str]:
    name = inject.partition(":")[0]
    only = list(paths) or ["-P", str(root / "log" / ("0" * 20 + ".jsonl"))]
    return ["strace", "-f", "-qq", "-o", "/dev/null", *only, "-e", f"trace={name}",
            "-e", f"inject={inject}"]  # fmt: skip


def permitted(said: list[str]) -> set[str]:
    return {line.split()[1] for line in said if line.startswith("permitted")}


def kept(root: Path) -> set[str]:
    return {record["action_id"] for record in records(root) if record["kind"] == "intent"}


def check_clean(root: Path, said: list[str]) -> None:
    """After the log was opened again: all that was permitted is there, once, and closed once."""
    report = verified(root)
    assert report.code is Code.OK, report.message
    assert report.unresolved == ()
    assert permitted(said) <= kept(root) <= ACTS
    assert kinds(root).count("intent") == kinds(root).count("unresolved") == len(kept(root))


@pytest.mark.needs("strace")
@pytest.mark.parametrize(
    ("fault", "first_is_kept"),
    [
        ("write:error=ENOSPC:when=2", False),
        ("write:error=EIO:when=2", False),
        ("write:error=EDQUOT:when=2", False),
        ("write:error=EROFS:when=2", False),
        ("write:error=EFBIG:when=2", False),
        ("write:retval=100:when=2", False),
        ("fdatasync:error=EIO:when=2", True),
        ("fdatasync:error=ENOSPC:when=2", True),
    ],
)
def test_a_fault_kills_the_writer_and_halts_the_log(
    tmp_path: Path, fault: str, first_is_kept: bool
) -> None:
    opened(tmp_path).close()
    status, said = run(tmp_path, "one", *strace(tmp_path, fault))
    assert status == 0
    assert [line.split()[:3] for line in said[1:]] == [
        ["permitted", "before"],
        ["refused", "first", "record_unavailable"],
        ["refused", "second", "record_unavailable"],
    ]
    status, refused = run(tmp_path, "one")
    assert status == 2
    assert "halted" in refused[0]
    assert "counterfoil audit recover" in refused[0]
    assert kept(tmp_path) == ({"before", "first"} if first_is_kept else {"before"})
    status, mended = run(tmp_path, "recover")
    assert (status, mended[0][:9]) == (0, "recovered")
    check_clean(tmp_path, said)
    assert kinds(tmp_path).count("recovered") == 1


@pytest.mark.needs("strace")
@pytest.mark.parametrize("when", [1, 2, 3])
def test_a_kill_at_the_sync_loses_nothing(tmp_path: Path, when: int) -> None:
    opened(tmp_path).close()
    _, said = run(tmp_path, "one", *strace(tmp_path, f"fdatasync:signal=KILL:when={when}"))
    assert len(permitted(said)) == when - 1
    for _ in range(2):
        opened(tmp_path).close()
    check_clean(tmp_path, said)


def calls(root: Path) -> int:
    """How many system calls on its files a whole run makes."""
    trace = root.with_suffix(".trace")
    run(root, "one", "strace", "-f", "-qq", "-o", str(trace), *watched(root))
    return len([line for line in trace.read_text().splitlines() if re.search(r"\w+\(", line)])


@pytest.mark.needs("strace")
@pytest.mark.parametrize("fault", ["signal=KILL", "error=EIO", "error=ENOSPC"])
def test_a_fault_at_any_system_call_loses_nothing(tmp_path: Path, fault: str) -> None:
    count = calls(tmp_path / "counted")
    assert count > 60
    start = {"signal=KILL": 2, "error=EIO": 5, "error=ENOSPC": 8}[fault]
    for when in range(1, count + 1) if SOAK else range(start, count + 1, 11):
        root = tmp_path / f"at-{when}"
        inject = strace(root, f"all:{fault}:when={when}", *watched(root))
        _, said = run(root, "one", *inject)
        status, again = run(root, "recover")
        assert status == 0, (when, said, again)
        assert permitted(said) <= kept(root), when
        check_clean(root, said)
        shutil.rmtree(root)


@pytest.mark.needs("strace")
def test_one_intent_is_one_sync(tmp_path: Path) -> None:
    opened(tmp_path).close()
    trace = tmp_path / "trace"
    status, said = run(
        tmp_path, "pipeline", "strace", "-f", "-qq", "-o", str(trace), "-s", "40",
        "-e", "trace=write,fdatasync,fsync,sync,syncfs,msync,sync_file_range,rename",
    )  # fmt: skip
    assert (status, said[1:]) == (
        0,
        [f"{w}" for n in (0, 1, 2) for w in (f"executed id-{n}", "asked True")],
    )
    lines = trace.read_text()
    acts = lines.split('write(1, "open')[1].split('write(1, "asked')[:3]
    for act in acts:
        before, after = act.split('write(1, "executed')
        assert before.count("fdatasync(") == 1, "the intent's"
        assert len(re.findall(r"\b(fsync|sync|syncfs|msync|sync_file_range)\(", after)) == 0
        assert "fdatasync(" not in after, "nobody waits for the outcome's"
    assert all("fsync(" not in act for act in acts[1:]), "a directory is synced once a segment"


@pytest.mark.needs("strace")
def test_a_segment_is_durable_before_the_next_one_begins(tmp_path: Path) -> None:
    """Else a power loss could keep the new one and lose the end of the old."""
    trace, root = tmp_path / "trace", tmp_path / "state"
    before = ["strace", "-f", "-qq", "-y", "-o", str(trace), "-e", "trace=write,fdatasync"]
    assert run(root, "unsynced", *before)[0] == 0
    old, new = sorted((root / "log").glob("*.jsonl"))
    calls = [line for line in trace.read_text().splitlines() if ".jsonl>" in line]
    of_old = [call for call in calls if str(old) in call]
    turned = next(at for at, call in enumerate(calls) if str(new) in call)
    assert calls[:turned] == of_old
    assert "fdatasync(" in of_old[-1]
    assert [call for call in of_old if "fdatasync(" in call] == of_old[-1:]


@pytest.mark.needs("unshare")
def test_a_full_disk_halts_visibly_and_one_command_recovers(tmp_path: Path) -> None:
    check_full_disk(tmp_path)


def check_full_disk(tmp_path: Path) -> None:
    place, copy = tmp_path / "small", tmp_path / "copy"
    place.mkdir()
    root = place / "state"
    python = " ".join(command(root, "MODE"))
    script = f"""
        set -u
        mount -t tmpfs -o size=200k tmpfs {place} || exit 9
        head -c 60000 /dev/zero > {place}/ballast
        {python.replace("MODE", "fill")}; echo "status $?"
        {python.replace("MODE", "several")}; echo "status $?"
        rm {place}/ballast
        {python.replace("MODE", "several")}; echo "status $?"
        {python.replace("MODE", "recover")}; echo "status $?"
        {python.replace("MODE", "several")}; echo "status $?"
        cp -r {root} {copy}
    """
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    runs = [part.splitlines() for part in re.split(r"status \d\n", done.stdout)][:-1]
    fill, still, freed, mended, several = runs
    assert fill[-1].startswith("refused record_unavailable")
    assert "No space left" in fill[-1]
    for refused in (still, freed):
        assert refused[0].startswith("refused record_unavailable")
        assert "halted" in refused[0]
        assert "counterfoil audit recover" in refused[0]
    assert mended[0].startswith("recovered")
    assert [line.split()[0] for line in several] == ["open"] + ["done"] * 5
    report = verified(copy)
    assert report.code is Code.OK, report.message
    told = {line.split()[1] for line in (*fill, *several) if line.startswith("done")}
    outcomes = {r["action_id"] for r in records(copy) if r["kind"] == "outcome"}
    assert told <= outcomes
