"""A log that cannot be written: said with path, errno and remedy, denied from then on, mended."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.gate import ROOT, Gate

# Root may write anywhere; without these capabilities modes hold for it as for everybody.
ORDINARY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []


def ordinary(gate: Gate, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ORDINARY, *gate.argv(*words)],
        cwd=ROOT,
        capture_output=True,
        start_new_session=True,
        timeout=60,
        text=True,
        check=False,
    )


@pytest.mark.needs("setpriv")
def test_a_log_that_may_not_be_written_denies_and_says_what_to_do(gate):
    act = ["run", "fs.write", "path=out/x", "content=x", f"cwd={gate.workspace}"]
    gate.cli(*act)
    (gate.workspace / "out/x").unlink()
    before = gate.records()
    (segment,) = gate.log_files()
    segment.chmod(0o400)
    done = ordinary(gate, *act)
    assert (done.returncode, done.stdout) == (2, "")
    assert "record_unavailable" in done.stderr
    assert f"{segment}: Permission denied (errno 13)" in done.stderr
    assert "counterfoil audit recover" in done.stderr
    segment.chmod(0o600)
    assert ordinary(gate, *act).returncode == 2  # halted: a person looks first
    assert not (gate.workspace / "out/x").exists()
    assert ordinary(gate, "audit", "recover").returncode == 0
    assert ordinary(gate, *act).returncode == 0
    assert gate.records()[: len(before)] == before
    assert gate.cli("audit", "verify")[0] == 0


READ_ONLY = 'd=$1; shift; mount --bind "$d" "$d"; mount -o remount,ro,bind "$d"; exec "$@"'


def read_only(gate: Gate, folder: str, *words: str) -> subprocess.CompletedProcess[str]:
    there = str(gate.state_dir / folder)
    return subprocess.run(
        ["unshare", "-Urm", "sh", "-ec", READ_ONLY, "sh", there, *gate.argv(*words)],
        cwd=ROOT,
        capture_output=True,
        start_new_session=True,
        timeout=60,
        text=True,
        check=False,
    )


@pytest.mark.needs("unshare")
@pytest.mark.parametrize("folder", ["log", "head", "."])
def test_a_read_only_file_system_denies(gate, folder):
    gate.cli("check", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    act = ["run", "fs.write", "path=out/x", "content=x", f"cwd={gate.workspace}"]
    done = read_only(gate, folder, *act)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "record_unavailable" in done.stderr
    assert f"{gate.state_dir}" in done.stderr
    assert "Read-only file system (errno 30)" in done.stderr
    assert "counterfoil audit recover" in done.stderr
    assert not (gate.workspace / "out/x").exists()


@pytest.mark.needs("unshare")
def test_what_was_executed_and_cannot_be_closed_is_withheld(gate):
    """`state` is needed at the end only: the act ran, so it is no deny, and it is no success."""
    gate.cli("check", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    done = read_only(gate, "state", "run", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown: record_unavailable: " in done.stderr
    assert "Read-only file system (errno 30)" in done.stderr
    done = read_only(gate, "state", "check", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    assert (done.returncode, done.stdout) == (2, "")
    assert gate.kinds()[:3] == ["decision", "intent", "outcome"]


@pytest.mark.needs("unshare")
def test_a_full_disk_halts_visibly_and_recovers_by_one_documented_command(tmp_path):
    done = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-m", "tests.support.full_disk", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        start_new_session=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    assert seen["before"][0] == 0
    status, out, err = seen["denied"]
    assert (status, out) in {(2, ""), (1, "")}
    assert "(errno 28)" in err
    assert f"{tmp_path}/state/log" in err
    assert "counterfoil audit recover" in err
    for name in ("again", "check", "freed"):
        status, _, err = seen[name]
        assert status == 2
        assert "the log was halted" in err
        assert "counterfoil audit recover" in err
    assert seen["recover"][0] == 0
    assert seen["after"][0] == 0
    assert seen["verify"][0] == 0, seen["verify"]
    # Everything that was written has its intent, and everything acknowledged is still recorded.
    at, kinds = seen["at"], seen["kinds"]
    assert set(seen["written"]) >= {*range(at), 402}
    assert not {400, 401} & set(seen["written"])
    assert len(seen["written"]) <= kinds.count("intent")
    assert "recovered" in kinds
