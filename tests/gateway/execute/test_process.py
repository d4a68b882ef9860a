"""One command: looked at once more, run to its end, judged."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import ExecutionError
from gateway.execute.process import result_of, run_command
from gateway.execute.running import Ending
from gateway.kit import posix
from gateway.model.decision import Obligations
from gateway.model.names import Status
from gateway.model.plan import Operand, RunCommand
from tests.gateway.execute.permits import command


@pytest.fixture
def plan(tmp_path: Path):
    (tmp_path / "data").write_text("hello\n")
    root_fd = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    operand = Operand(
        root_fd=root_fd,
        relative="data",
        path=str(tmp_path / "data"),
        identity=posix.identity((tmp_path / "data").stat()),
    )
    one = command(tmp_path, "cat", "data", operands=[operand])
    yield one
    os.close(one.cwd_fd)
    os.close(root_fd)


def test_output_then_errors_come_back(plan: RunCommand):
    result = run_command(replace(plan, argv=("cat", "data", "none")), Obligations())
    assert result.status is Status.DONE
    assert result.reason == "exit_status"
    assert result.data == {"exit_code": 1}
    assert result.content.startswith(b"hello\n")
    assert b"none" in result.content[6:]


def test_success(plan: RunCommand):
    result = run_command(plan, Obligations())
    assert (result.status, result.reason, result.content) == (Status.DONE, "done", b"hello\n")
    assert not result.truncated


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text("other\n more"),
        lambda path: path.unlink(),
        lambda path: (path.unlink(), path.symlink_to("/etc/passwd")),
        lambda path: (path.rename(path.with_name("x")), path.write_text("hello\n")),
        lambda path: os.utime(path, ns=(1, 1)),
    ],
)
def test_an_operand_that_changed_starts_nothing(plan: RunCommand, tmp_path: Path, change):
    change(tmp_path / "data")
    with pytest.raises(ExecutionError) as caught:
        run_command(plan, Obligations())
    assert caught.value.code == "changed_since_decision"
    assert caught.value.status == "not_started"


@pytest.mark.parametrize("field", ["device", "inode", "size", "mtime_ns", "ctime_ns"])
def test_an_executable_that_changed_is_not_started(plan: RunCommand, field: str):
    known = plan.executable_identity
    other = replace(known, **{field: getattr(known, field) + 1})
    with pytest.raises(ExecutionError) as caught:
        run_command(replace(plan, executable_identity=other), Obligations())
    assert (caught.value.code, caught.value.status) == ("changed_since_decision", "not_started")


def test_an_executable_that_is_gone_is_a_change(plan: RunCommand, tmp_path: Path):
    with pytest.raises(ExecutionError) as caught:
        run_command(replace(plan, executable=str(tmp_path / "gone")), Obligations())
    assert caught.value.code == "changed_since_decision"


def test_no_time_left_is_a_timeout(tmp_path: Path):
    one = command(tmp_path, sys.executable, "-c", "import time; time.sleep(600)")
    ticks = iter(range(10**6))
    result = run_command(one, Obligations(call_timeout_s=5), monotonic=lambda: next(ticks))
    os.close(one.cwd_fd)
    assert (result.status, result.reason) == (Status.FAILED, "timeout")
    assert result.truncated


@pytest.mark.parametrize(
    ("ending", "stopped", "expected"),
    [
        (Ending(exit_code=0), "", (Status.DONE, "done")),
        (Ending(exit_code=2), "", (Status.DONE, "exit_status")),
        (Ending(signal=11), "", (Status.FAILED, "exit_status")),
        (Ending(), "timeout", (Status.FAILED, "timeout")),
        (Ending(), "output_limit", (Status.FAILED, "output_limit")),
        (Ending(error=13), "", (Status.NOT_STARTED, "fs_permission")),
        (Ending(), "", (Status.UNKNOWN, "internal_error")),
    ],
)
def test_how_an_ending_is_judged(plan: RunCommand, ending, stopped, expected):
    result = result_of(plan, ending, b"", stopped)
    assert (result.status, result.reason) == expected
