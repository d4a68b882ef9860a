"""Places of the log, and telling live writers from dead ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import RecordError
from gateway.record.disk import RESERVE_BYTES, Disk, alive, boot_id, writer_id


def test_a_place_that_is_a_symlink_or_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RecordError, match="not a directory of this user"):
        Disk(root=tmp_path / "linked").prepare()
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="file"):
        Disk(root=tmp_path / "file").prepare()


def test_space_is_kept_in_reserve(tmp_path: Path) -> None:
    disk = Disk(root=tmp_path / "state")
    disk.prepare()
    assert disk.reserve.stat().st_size == RESERVE_BYTES


def test_only_segments_are_segments(tmp_path: Path) -> None:
    disk = Disk(root=tmp_path)
    disk.prepare()
    for name in ("00000000000000000005.jsonl", "5.jsonl", "x.jsonl", "00000000000000000005.jsonl~"):
        (disk.log / name).touch()
    assert disk.segments() == [5]
    assert Disk(root=tmp_path / "none").segments() == []


def test_a_small_file_is_never_read_through_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(RecordError, match="link"):
        Disk(root=tmp_path).small(tmp_path / "link")
    assert Disk(root=tmp_path).small(tmp_path / "nothing") is None


def test_a_writer_is_alive_while_its_process_is() -> None:
    boot = boot_id()
    assert alive(writer_id(boot), boot)
    assert not alive(writer_id("another boot"), boot)
    assert not alive(f"{boot}:{os.getpid()}:1", boot), "the same pid, another process"
    assert not alive("garbage", boot)
    assert not alive("", boot)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = f"{boot}:{child.pid}:"
    started = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
    assert alive(name + started, boot)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not alive(name + started, boot), "dead, though nobody has waited for it"
    child.communicate()
    assert not alive(name + started, boot)
