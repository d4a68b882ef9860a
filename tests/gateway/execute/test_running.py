"""Real processes: environment, directory, descriptors, limits, and what is left afterwards."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import ExecutionError
from gateway.execute import running
from gateway.execute.running import Ended, Limits, run_pipeline
from gateway.model.plan import RunCommand
from tests.gateway.execute.permits import command

PYTHON = sys.executable


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., RunCommand]]:
    plans: list[RunCommand] = []

    def make_one(*argv: str, cwd: Path | None = None) -> RunCommand:
        plans.append(command(cwd or tmp_path, *argv))
        return plans[-1]

    yield make_one
    for plan in plans:
        os.close(plan.cwd_fd)


def limits(seconds: float = 20, output_bytes: int = 100_000, speed: float = 1) -> Limits:
    def monotonic() -> float:
        return time.monotonic() * speed

    return Limits(output_bytes=output_bytes, deadline=monotonic() + seconds, monotonic=monotonic)


def run(*plans: RunCommand, **more: float) -> Ended:
    return run_pipeline(plans, limits(**more))


def python(make, code: str) -> RunCommand:
    return make(PYTHON, "-I", "-S", "-c", code)


def test_the_environment_is_exactly_the_planned_one_with_an_empty_home(make):
    ended = run(make("env"))
    found = dict(line.split("=", 1) for line in ended.stdout.decode().splitlines())
    home = Path(found.pop("HOME"))
    assert found == {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}
    assert not home.exists()


def test_home_is_empty_private_and_removed_with_what_was_put_there(make):
    code = (
        "import os; h = os.environ['HOME']; print(h, os.listdir(h), oct(os.stat(h).st_mode));"
        "os.mkdir(h + '/d'); open(h + '/d/f', 'w').close(); os.chmod(h + '/d', 0)"
    )
    ended = run(python(make, code))
    home, listed, mode = ended.stdout.decode().split()
    assert (listed, mode) == ("[]", "0o40700")
    assert not Path(home).exists()


def test_no_descriptor_but_the_three_is_inherited(make):
    kept = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(kept, True)
    try:
        ended = run(python(make, "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"))
    finally:
        os.close(kept)
    assert ended.stdout == b"[0, 1, 2, 3]\n"  # 3 is the listing itself


def test_standard_input_is_empty(make):
    ended = run(make("cat"))
    assert ended.endings[0].exit_code == 0
    assert ended.stdout == b""


def test_the_directory_is_the_descriptor_whatever_its_name_has_become(make, tmp_path):
    decided = tmp_path / "decided"
    decided.mkdir()
    (decided / "right").touch()
    plan = make("ls", cwd=decided)
    decided.rename(tmp_path / "moved")
    decided.mkdir()
    (decided / "wrong").touch()
    assert run(plan).stdout == b"right\n"


def test_a_directory_that_is_not_one_starts_nothing(make, tmp_path):
    plan = make("ls")
    file = os.open(__file__, os.O_RDONLY)
    try:
        with pytest.raises(ExecutionError) as caught:
            run(replace(plan, cwd_fd=file))
    finally:
        os.close(file)
    assert (caught.value.code, caught.value.status) == ("fs_not_directory", "not_started")


def test_output_and_errors_are_kept_apart(make):
    code = "import sys; print('out'); print('err', file=sys.stderr); raise SystemExit(3)"
    ended = run(python(make, code))
    assert (ended.stdout, ended.stderr) == (b"out\n", (b"err\n",))
    assert ended.endings[0].exit_code == 3
    assert ended.stopped == ""


def test_a_signal_is_told_from_a_status(make):
    ended = run(python(make, "import os; os.kill(os.getpid(), 9)"))
    assert (ended.endings[0].exit_code, ended.endings[0].signal) == (None, 9)
    assert ended.endings[0].status == 137


def test_endless_output_is_cut_and_stopped(make):
    ended = run(make("yes"), output_bytes=1000)
    assert ended.stdout == b"y\n" * 500
    assert ended.stopped == "output_limit"


def test_the_cap_counts_errors_too(make):
    code = "import os\nwhile True: os.write(2, b'e' * 100)"
    ended = run(python(make, code), output_bytes=1000)
    assert ended.stderr == (b"e" * 1000,)
    assert ended.stopped == "output_limit"


def test_a_command_past_its_time_is_stopped(make):
    ended = run(make("sleep", "600"), seconds=20, speed=40)
    assert ended.stopped == "timeout"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


DAEMON = """
import os, sys, time
ready, told = os.pipe()
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.environ.clear()
            print(os.getpid(), flush=True)
            os.write(told, b".")
            time.sleep(600)
        os._exit(0)
    os.wait()
    os.read(ready, 1)
daemon(); daemon()
{end}
"""


@pytest.mark.parametrize(
    ("end", "more"),
    [
        ("", {}),
        ("time.sleep(600)", {"seconds": 40, "speed": 20}),
        ("os.write(1, b'x' * 5000); time.sleep(600)", {"output_bytes": 3000}),
    ],
)
def test_children_that_forked_twice_into_their_own_session_do_not_outlive_it(make, end, more):
    ended = run(python(make, DAEMON.format(end=end)), **more)
    pids = [int(line) for line in ended.stdout.decode().splitlines() if line.isdigit()]
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


def test_no_zombie_is_left(make):
    run(make("true"), make("true"))
    run(make("sleep", "600"), seconds=20, speed=40)
    states = [
        fields[0]
        for path in Path("/proc").glob("[0-9]*/stat")
        if (fields := stat_fields(path)) and int(fields[1]) == os.getpid()
    ]
    assert b"Z" not in states


def stat_fields(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def test_a_pipeline_passes_output_on(make):
    ended = run(python(make, "print('b\\na\\nc')"), make("sort"), make("head", "-n", "2"))
    assert ended.stdout == b"a\nb\n"
    assert [ending.exit_code for ending in ended.endings] == [0, 0, 0]


def test_a_reader_that_leaves_ends_its_writer(make):
    ended = run(make("yes"), make("head", "-n", "1"))
    assert ended.stdout == b"y\n"
    assert ended.endings[0].signal == 13
    assert ended.stopped == ""


def test_every_command_of_a_pipeline_is_stopped(make):
    ended = run(make("sleep", "600"), make("cat"), make("sleep", "600"), seconds=20, speed=40)
    assert ended.stopped == "timeout"


def test_a_program_that_cannot_run_is_said(make, tmp_path):
    script = tmp_path / "script"
    script.write_text("no interpreter line")
    script.chmod(0o755)
    ended = run(make(str(script)))
    assert ended.endings[0].error == 8
    assert ended.endings[0].status == 126


def test_a_supervisor_that_is_killed_leaves_nobody_to_say(make):
    ended = run(python(make, "import os; os.kill(os.getppid(), 9)"))
    assert ended.endings[0] == running.Ending()


def test_arguments_are_passed_as_they_are(make):
    words = ["", "a b", "$HOME", "*", "; echo", "\n", "ü", "'\"", "x" * 100_000]
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    ended = run(make(PYTHON, "-I", "-S", "-c", code, *words), output_bytes=200_000)
    assert __import__("json").loads(ended.stdout) == words


def test_an_interrupt_leaves_nothing_running(make, monkeypatch):
    plan = python(make, "import time; time.sleep(600)")
    seen: list[int] = []

    def interrupt(self: object) -> None:
        seen.extend(command.process.pid for command in self.commands)
        raise KeyboardInterrupt

    monkeypatch.setattr(running._Run, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(plan)
    assert seen
    assert not any(alive(pid) for pid in seen)
