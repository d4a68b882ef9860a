"""Asking the person at the controlling terminal; never standard input, which may be an agent's."""

from __future__ import annotations

import os
import termios

from gateway.errors import CounterfoilError
from gateway.kit import text


class NoPersonError(CounterfoilError):
    """What only a person may do was asked for without a controlling terminal, or refused."""

    code = "approval_unavailable"


def confirm(question: str) -> None:
    """Go on only if the person types `yes`.

    Raises:
        NoPersonError: there is no controlling terminal, or the answer is another.
    """
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        raise NoPersonError("this needs a person at a terminal") from None
    try:
        termios.tcflush(fd, termios.TCIFLUSH)
        os.write(fd, "\n".join(text.block(question)).encode() + b"\ntype yes to go on: ")
        answer = os.read(fd, 64)
    except (OSError, termios.error):
        raise NoPersonError("the terminal went away") from None
    finally:
        os.close(fd)
    if answer.strip() != b"yes":
        raise NoPersonError("not confirmed; nothing was changed")
