"""A process with a controlling terminal of its own, and the person in front of it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 30
QUIET_S = 0.1


class Person:
    """What the screen shows and a keyboard; standard streams of the process are not the terminal."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 120, 0, 0))
        self.shown = ""

        def at_the_terminal() -> None:
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored where tests run in background

        self.process = subprocess.Popen(
            argv,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[slave],
            start_new_session=True,
            preexec_fn=at_the_terminal,  # noqa: PLW1509
        )
        os.close(slave)

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def until(self, text: str) -> None:
        """Read the screen until it shows a text."""
        while text not in self.shown:
            self._read(LIMIT_S)

    def answer(self, keys: str, prompt: str = "Enter alone denies: ") -> None:
        """Wait for the question, type the words, then, a moment later, Enter."""
        self.until(prompt)
        self.type(keys)
        with contextlib.suppress(TimeoutError):
            while True:
                self._read(QUIET_S)
        self.type("\r")

    def hang_up(self) -> None:
        """Close the person's side of the terminal."""
        os.close(self.master)
        self.master = -1

    def ended(self) -> tuple[int, str, str]:
        """Wait for the end: exit status, standard output, standard error."""
        out, err = self.process.communicate(timeout=LIMIT_S)
        with contextlib.suppress(TimeoutError, EOFError):
            while self.master >= 0:
                self._read(0)
        return self.process.returncode, out.decode(), err.decode()

    def _read(self, seconds: float) -> None:
        if not select.select([self.master], [], [], seconds)[0]:
            raise TimeoutError(self.shown)
        try:
            self.shown += os.read(self.master, 65_536).decode()
        except OSError as error:
            if error.errno == errno.EIO:
                raise EOFError(self.shown) from None
            raise

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        if self.master >= 0:
            os.close(self.master)


@contextlib.contextmanager
def person(argv: Sequence[str], **environment: str) -> Iterator[Person]:
    """Start a process on a terminal; it is gone when the block ends."""
    one = Person(argv, environment)
    try:
        yield one
    finally:
        one.close()
