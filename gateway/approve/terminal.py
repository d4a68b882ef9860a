"""The terminal approver: a person at the controlling terminal of this process, nobody else.

- It opens /dev/tty; standard input belongs to the agent and is never read. No controlling
  terminal, a terminal that hung up, or one whose foreground belongs to another job: `UNAVAILABLE`.
- Only `yes` followed by Enter approves; where much rides on the answer, only the four digits that
  this question shows. Anything else denies; so does end of input. Ctrl-C withdraws the question
  (`CANCELLED`).
- What was typed before the prompt, and in the first half second after the text was shown, is
  thrown away. An Enter that arrives in one burst with other input was pasted or programmed, and
  does not approve.
- Text longer than the screen is shown page by page; the question comes after the last page.
- The deadline is on the monotonic clock and covers everything: waiting for the terminal, paging,
  a terminal that takes no output. Past it the answer is `TIMEOUT`, and what is typed afterwards is
  thrown away, so that it answers no later question.
- One question at a time per terminal, across processes (flock on the terminal's device).

The terminal's modes are put back in every case this process survives; a kill leaves it silent.
A program with the same terminal could type the answer: that is the limit of level `embedded`.

Source: termios(3); tty_ioctl(4) (TIOCGDEV); CWE-451 (misrepresented critical information).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import secrets
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.approve.render import render, wrap
from gateway.kit import posix
from gateway.model.approval import ApprovalAnswer, Question, Verdict

GRACE_S: Final = 0.5
BURST_S: Final = 0.02
_STEP_S: Final = 0.02  # how long to sleep at most before looking at the clock again
_TIOCGDEV: Final = 0x80045432
_MAX_TYPED: Final = 64
_ENTER: Final = b"\r\n"
_ERASE: Final = b"\x7f\x08"
_CTRL_C: Final = 3
_CTRL_D: Final = 4
YES: Final = "yes"
_PROMPT: Final = "Type {word} and press Enter to approve; Enter alone denies: "
_MORE: Final = "-- page {page} of {pages}: Enter shows the next, anything else denies --"
_ENDINGS: Final = {
    Verdict.APPROVED: "approved",
    Verdict.DENIED: "denied",
    Verdict.TIMEOUT: "no answer in time: denied",
    Verdict.CANCELLED: "withdrawn: denied",
}


class _Ended(Exception):  # noqa: N818 - not an error: how a question ended
    """The question ended with this verdict."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self.verdict = verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Implements the approver port on the controlling terminal."""

    monotonic: Callable[[], float] = time.monotonic
    device: str = "/dev/tty"
    randbelow: Callable[[int], int] = secrets.randbelow

    def ask(self, question: Question) -> ApprovalAnswer:
        """Show the question and wait for the person, until the deadline at most."""
        high = question.decision.obligations.approval == "high"
        word = f"{self.randbelow(10_000):04}" if high else YES
        shown = render(question)
        return _answer(question, self.confirm(shown, timeout_s=question.timeout_s, word=word))

    def confirm(self, text: str, *, timeout_s: float, word: str = YES) -> Verdict:
        """Show a text whose values are escaped already, and wait for the person to type `word`."""
        deadline = self.monotonic() + timeout_s
        try:
            fd = os.open(self.device, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return Verdict.UNAVAILABLE
        try:
            return self._alone(fd, text, deadline, word)
        except (OSError, termios.error):
            return Verdict.UNAVAILABLE
        finally:
            os.close(fd)

    def _alone(self, fd: int, text: str, deadline: float, word: str) -> Verdict:
        """Have the terminal to itself, raw, in the foreground; put everything back afterwards."""
        if os.tcgetpgrp(fd) != os.getpgrp():
            return Verdict.UNAVAILABLE
        wait_s = max(deadline - self.monotonic(), 0.0)
        with contextlib.ExitStack() as stack:
            lock = stack.enter_context(_device(fd))
            try:
                stack.enter_context(posix.locked(lock, timeout_s=wait_s, monotonic=self.monotonic))
            except TimeoutError:
                return Verdict.TIMEOUT
            stack.enter_context(_signals_blocked())
            stack.enter_context(_raw(fd))
            screen = _Screen(fd=fd, monotonic=self.monotonic, deadline=deadline)
            try:
                verdict = _converse(screen, text, word)
            except _Ended as ended:
                verdict = ended.verdict
            except KeyboardInterrupt:
                verdict = Verdict.CANCELLED
            screen.last_words(f"\n{_ENDINGS.get(verdict, 'denied')}\n")
            return verdict


def _converse(screen: _Screen, text: str, word: str) -> Verdict:
    columns, rows = screen.size()
    lines = [piece for line in text.splitlines() for piece in wrap(line, columns)]
    room = max(rows - 2, 1)
    pages = [lines[start : start + room] for start in range(0, len(lines), room)]
    for number, page in enumerate(pages, 1):
        screen.write("\n".join(page) + "\n")
        screen.settle()
        if number < len(pages):
            screen.write(_MORE.format(page=number, pages=len(pages)))
            if screen.line().text:
                return Verdict.DENIED
            screen.write("\n")
    while True:
        screen.write(_PROMPT.format(word=word))
        typed = screen.line()
        if typed.text != word:
            return Verdict.DENIED
        if not typed.pasted:
            return Verdict.APPROVED
        screen.write("\npasted text does not approve; type it\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Typed:
    text: str
    pasted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Screen:
    """Reading and writing with a deadline; raises _Ended when the question ends by itself."""

    fd: int
    monotonic: Callable[[], float]
    deadline: float

    def size(self) -> tuple[int, int]:
        size = os.get_terminal_size(self.fd)
        return size.columns or 80, size.lines or 24

    def write(self, text: str) -> None:
        """Write all of a text; a terminal that takes no output runs into the deadline."""
        view = memoryview(text.encode())
        while view:
            self._wait(select.POLLOUT, self.deadline)
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(self.fd, view) :]

    def last_words(self, text: str) -> None:
        """Write what fits without waiting; the terminal may be gone."""
        with contextlib.suppress(OSError):
            os.write(self.fd, text.encode())

    def settle(self) -> None:
        """Let the person see what was shown, then forget what was typed meanwhile."""
        until = self.monotonic() + GRACE_S
        while self.monotonic() < until:
            with contextlib.suppress(TimeoutError):
                self._wait(0, min(until, self.deadline))
        self._check()
        termios.tcflush(self.fd, termios.TCIFLUSH)

    def line(self) -> _Typed:
        """Read up to Enter, echoing printable ASCII; other input is kept too, so it denies."""
        typed = bytearray()
        last = float("-inf")
        while True:
            burst = self._read()
            now = self.monotonic()
            pasted = len(burst) > 1 or now - last < BURST_S
            last = now
            for byte in burst:
                if byte == _CTRL_C:
                    raise _Ended(Verdict.CANCELLED)
                if byte == _CTRL_D:
                    raise _Ended(Verdict.DENIED)
                if byte in _ENTER:
                    termios.tcflush(self.fd, termios.TCIFLUSH)
                    return _Typed(text=typed.decode("latin-1"), pasted=pasted)
                self._edit(typed, byte)

    def _edit(self, typed: bytearray, byte: int) -> None:
        if byte in _ERASE:
            if typed:
                typed.pop()
                self.write("\b \b")
        elif len(typed) < _MAX_TYPED:
            typed.append(byte)
            self.write(chr(byte) if " " <= chr(byte) <= "~" else "?")

    def _read(self) -> bytes:
        while True:
            self._wait(select.POLLIN, self.deadline)
            try:
                burst = os.read(self.fd, 4096)
            except BlockingIOError:
                continue
            if not burst:
                raise _Ended(Verdict.UNAVAILABLE)
            return burst

    def _wait(self, event: int, until: float) -> None:
        """Wait until the terminal is ready; in steps, since the clock may be another one."""
        poll = select.poll()
        poll.register(self.fd, event)
        while True:
            self._check()
            ready = poll.poll(_STEP_S * 1000)
            if any(flags & (select.POLLHUP | select.POLLERR) for _, flags in ready):
                raise _Ended(Verdict.UNAVAILABLE)
            if ready:
                return
            if self.monotonic() >= until:
                self._check()
                raise TimeoutError

    def _check(self) -> None:
        if self.monotonic() >= self.deadline:
            raise _Ended(Verdict.TIMEOUT)


@contextlib.contextmanager
def _raw(fd: int) -> Iterator[None]:
    """Take keys one by one, without echo, signals or flow control; drop what waits, both times."""
    before = termios.tcgetattr(fd)
    mode = termios.tcgetattr(fd)
    mode[0] &= ~(termios.IXON | termios.IXOFF | termios.ISTRIP | termios.INLCR | termios.IGNCR)
    mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ECHONL | termios.ISIG | termios.IEXTEN)
    mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
    termios.tcsetattr(fd, termios.TCSANOW, mode)  # the other ways wait for output, without end
    termios.tcflush(fd, termios.TCIFLUSH)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcflush(fd, termios.TCIFLUSH)
            termios.tcsetattr(fd, termios.TCSANOW, before)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Get an error instead of being stopped when another job takes the foreground meanwhile."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN, signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _device(fd: int) -> Iterator[int]:
    """Open the device behind /dev/tty: a lock on /dev/tty itself would be one for all terminals."""
    number = struct.unpack("I", fcntl.ioctl(fd, _TIOCGDEV, b"\0" * 4))[0]
    minor = os.minor(number)
    candidates = (Path(f"/dev/pts/{minor}"), Path(f"/dev/tty{minor}"))
    found = [one for one in candidates if one.exists() and one.stat().st_rdev == number]
    name = found[0] if found else Path("/dev/tty")
    device = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield device
    finally:
        os.close(device)


def _answer(question: Question, verdict: Verdict) -> ApprovalAnswer:
    person = verdict in {Verdict.APPROVED, Verdict.DENIED}
    approver = _user() if person else ""
    return ApprovalAnswer(approval_id=question.approval_id, verdict=verdict, approver=approver)


def _user() -> str:
    """Name whose terminal it is; a user without an entry is named by number."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
