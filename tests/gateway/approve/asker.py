"""A process with its own controlling terminal that asks questions, for test_terminal.

`asker.py SLAVE_FD SPEC`: takes the terminal as its own, asks one question per entry of the spec,
prints one verdict per line on standard output. Before each question it waits for a line on the
control descriptor, so that the test decides what is typed before it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import termios
import time
from pathlib import Path

from gateway.approve.terminal import Terminal
from tests.gateway.approve.samples import question


def main() -> None:
    slave, control = int(sys.argv[1]), int(sys.argv[2])
    spec = json.loads(sys.argv[3])
    if spec.get("terminal", True):
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    if spec.get("background"):
        _in_background()
    if spec.get("ignore_hangup"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    speed = spec.get("speed", 1)
    terminal = Terminal(monotonic=lambda: time.monotonic() * speed)
    for number, seconds in enumerate(spec["timeouts"]):
        os.read(control, 1)
        normalized = {"path": f"/ws/{number}", "content": "x\n" * spec.get("lines", 1)}
        answer = terminal.ask(
            question(normalized, timeout_s=seconds, approval_id=f"approval-{number}")
        )
        sys.stdout.write(f"{answer.approval_id} {answer.verdict.name} {answer.approver}\n")
        sys.stdout.flush()
    modes = "-"
    if spec.get("terminal", True) and not spec.get("ignore_hangup"):
        with Path("/dev/tty").open("rb", buffering=0) as tty:
            flags = termios.tcgetattr(tty)[3]
            modes = str(bool(flags & termios.ECHO and flags & termios.ICANON))
    sys.stdout.write(f"modes {modes}\n")


def _in_background() -> None:
    """Leave the foreground: go on in a child that is a job of its own."""
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os.setpgid(0, 0)


if __name__ == "__main__":
    main()
