"""The terminal approver on a real pseudo-terminal, in a session of its own."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROMPT = "Enter alone denies: "
LIMIT_S = 20


class Desk:
    """The person's side: what the screen shows, and a keyboard."""

    def __init__(self, spec: dict, stdin: bytes = b"") -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(
            self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", spec.get("rows", 60), 100, 0, 0)
        )
        self.slave_name = os.ttyname(self.slave)
        control, self.control = os.pipe()
        argv = [sys.executable, "-m", "tests.gateway.approve.asker", str(self.slave), str(control)]
        self.process = subprocess.Popen(
            [*argv, json.dumps(spec)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(self.slave, control),
            start_new_session=True,
        )
        self.process.stdin.write(stdin)
        self.process.stdin.close()
        os.close(control)
        self.shown = ""

    def next_question(self) -> None:
        self.shown = ""
        os.write(self.control, b".")

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def until(self, text: str, times: int = 1) -> None:
        """Read the screen until it shows a text."""
        while self.shown.count(text) < times:
            self._read(LIMIT_S)

    def quiet(self) -> None:
        """Read the screen until it stands still for a moment."""
        with contextlib.suppress(TimeoutError):
            while True:
                self._read(0.1)

    def _read(self, seconds: float) -> None:
        if not select.select([self.master], [], [], seconds)[0]:
            raise TimeoutError(self.shown)
        self.shown += os.read(self.master, 4096).decode()

    def answer(self, keys: str) -> None:
        """Type as a person does: the words, then, a moment later, Enter."""
        self.until(PROMPT)
        self.type(keys)
        self.quiet()
        self.type("\r")

    def verdict(self) -> str:
        return self.process.stdout.readline().decode().split()[1]

    def line(self) -> str:
        return self.process.stdout.readline().decode().strip()

    def close(self) -> None:
        if self.master >= 0:
            os.close(self.master)
        os.close(self.slave)
        os.close(self.control)
        self.process.kill()
        self.process.wait(LIMIT_S)
        self.process.stdout.close()


@contextlib.contextmanager
def desk(stdin: bytes = b"", **spec) -> Iterator[Desk]:
    spec.setdefault("timeouts", [30])
    one = Desk(spec, stdin)
    try:
        yield one
    finally:
        one.close()


def test_yes_and_enter_approve_and_the_terminal_is_as_before():
    with desk() as d:
        d.next_question()
        d.answer("yes")
        assert d.line().startswith("approval-0 APPROVED ")
        assert d.line() == "modes True"
        assert '"/ws/0"' in d.shown
        d.until("approved")


@pytest.mark.parametrize(
    "keys", ["no", "", "y", "YES", "yes please", " yes", "yes\x04", "\u202eyes"]
)
def test_anything_else_denies(keys: str):
    with desk() as d:
        d.next_question()
        d.answer(keys)
        assert d.verdict() == "DENIED"
        assert d.line() == "modes True"


def test_a_corrected_yes_approves():
    with desk() as d:
        d.next_question()
        d.answer("yess\x7f")
        assert d.verdict() == "APPROVED"


def test_control_c_withdraws_and_the_terminal_is_as_before():
    with desk() as d:
        d.next_question()
        d.until(PROMPT)
        d.type("\x03")
        assert d.verdict() == "CANCELLED"
        assert d.line() == "modes True"


def test_no_answer_is_a_timeout_and_a_late_answer_does_not_reach_the_next_question():
    with desk(timeouts=[10, 20], speed=10) as d:
        d.next_question()
        d.until(PROMPT)
        assert d.verdict() == "TIMEOUT"
        d.type("yes")
        d.quiet()
        d.type("\r")
        d.quiet()
        d.next_question()
        d.until(PROMPT)
        assert d.verdict() == "TIMEOUT"
        assert d.line() == "modes True"


def test_what_is_typed_ahead_of_the_prompt_is_ignored():
    with desk(timeouts=[30]) as d:
        d.type("yes\r")
        d.next_question()
        d.until("deadline:")
        d.type("yes\ryes\r")
        d.answer("no")
        assert d.verdict() == "DENIED"
        assert "pasted" not in d.shown


def test_a_pasted_yes_with_its_newline_does_not_approve():
    with desk() as d:
        d.next_question()
        d.until(PROMPT)
        d.type("yes\r")
        d.until("pasted text does not approve")
        d.until(PROMPT, times=2)
        d.type("yes")
        d.quiet()
        d.type("\r")
        assert d.verdict() == "APPROVED"


def test_standard_input_is_not_read():
    with desk(stdin=b"yes\nyes\n" * 100, timeouts=[10], speed=10) as d:
        d.next_question()
        d.until(PROMPT)
        assert d.verdict() == "TIMEOUT"


def test_without_a_controlling_terminal_nobody_is_there():
    with desk(stdin=b"yes\n", terminal=False) as d:
        d.next_question()
        assert d.verdict() == "UNAVAILABLE"


def test_a_job_in_the_background_asks_nobody():
    with desk(background=True) as d:
        d.next_question()
        assert d.verdict() == "UNAVAILABLE"


def test_a_terminal_that_hangs_up_is_nobody():
    with desk(ignore_hangup=True) as d:
        d.next_question()
        d.until(PROMPT)
        os.close(d.master)
        d.master = -1
        assert d.verdict() == "UNAVAILABLE"


def test_a_long_text_is_paged_and_the_question_comes_after_its_end():
    with desk(lines=60, rows=22) as d:
        d.next_question()
        page = 1
        d.until(f"-- page {page} of")
        pages = int(d.shown.split(f"-- page {page} of ")[1].split(":")[0])
        assert pages >= 4
        while page < pages:
            assert PROMPT not in d.shown
            d.type("\r")
            page += 1
            if page < pages:
                d.until(f"-- page {page} of")
        d.answer("yes")
        assert d.verdict() == "APPROVED"
        assert d.shown.count("    | x") == 60


def test_yes_before_the_last_page_denies():
    with desk(lines=60, rows=22) as d:
        d.next_question()
        d.until("-- page 1 of")
        d.type("yes")
        d.quiet()
        d.type("\r")
        assert d.verdict() == "DENIED"


def test_a_terminal_that_takes_no_output_runs_into_the_deadline():
    with desk(lines=50_000, rows=60_000, timeouts=[10], speed=10) as d:
        d.next_question()
        assert d.verdict() == "TIMEOUT"


def test_one_question_at_a_time_per_terminal():
    with desk(timeouts=[5], speed=10) as d:
        other = os.open(d.slave_name, os.O_RDWR | os.O_NOCTTY)
        fcntl.flock(other, fcntl.LOCK_EX)
        d.next_question()
        assert d.verdict() == "TIMEOUT"
        os.close(other)
        d.quiet()
        assert PROMPT not in d.shown


def test_the_deadline_counts_from_the_question():
    started = time.monotonic()
    with desk(timeouts=[20], speed=20) as d:
        d.next_question()
        assert d.verdict() == "TIMEOUT"
    assert time.monotonic() - started < LIMIT_S
