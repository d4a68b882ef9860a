"""Run one pipeline of commands under limits and collect what they write.

Each command runs beneath a supervisor of its own (:mod:`gateway.execute.supervisor`) with standard
input `/dev/null` or the pipe, and no other descriptor. Its environment is exactly the planned one
with `HOME` a fresh empty directory, removed afterwards; its working directory is the planned
descriptor, whatever its name has become. Output of all commands together is capped; over the cap
or past the deadline everything is killed. Nothing is left running, whatever happens here.

Source: CWE-403 (descriptors given to a child), CWE-78 (no shell).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gateway.execute import supervisor
from gateway.execute.files import failure
from gateway.model.names import Status
from gateway.model.plan import RunCommand

_SUPERVISOR: Final = str(Path(supervisor.__file__).resolve())
_STEP_S: Final = 0.05  # how long to sleep at most before looking at the clock again
_GIVE_UP_S: Final = 5.0
_CHUNK: Final = 65_536
_CANNOT_START: Final = 126


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a pipeline may use: bytes of output in all, and time until `deadline`."""

    output_bytes: int
    deadline: float
    monotonic: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How one command ended: by itself, by a signal, or not started (`error` is an errno).

    All None when it was stopped, or when its supervisor died and nobody can say.
    """

    exit_code: int | None = None
    signal: int | None = None
    error: int | None = None

    @property
    def status(self) -> int:
        """The exit status as shells count it."""
        if self.exit_code is not None:
            return self.exit_code
        return _CANNOT_START if self.signal is None else 128 + self.signal


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What came of a pipeline; `stopped` is the reason code it was stopped for, or empty."""

    endings: tuple[Ending, ...]
    stdout: bytes
    stderr: tuple[bytes, ...]
    stopped: str = ""


def run_pipeline(plans: Sequence[RunCommand], limits: Limits) -> Ended:
    """Start the commands, each reading what the one before it writes, and wait for all.

    Raises:
        ExecutionError: a command's process could not be made.
    """
    with contextlib.ExitStack() as stack:
        homes = [
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="counterfoil-home-", ignore_cleanup_errors=True)
            )
            for _ in plans
        ]
        selector = stack.enter_context(selectors.DefaultSelector())
        run = _Run(limits=limits, selector=selector)
        stack.callback(run.stop)
        run.start(plans, homes)
        run.wait()
        run.stop()
        return run.ended()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """One supervisor, the channel to it, what it said, where its errors are read."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    errors: int
    said: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class _Run:
    """A pipeline while it runs."""

    limits: Limits
    selector: selectors.DefaultSelector
    commands: list[_Command] = field(default_factory=list)
    descriptors: set[int] = field(default_factory=set)
    output: dict[int, bytearray] = field(default_factory=dict)
    last: int = -1
    stopped: str = ""

    def start(self, plans: Sequence[RunCommand], homes: Sequence[str]) -> None:
        """Start every command; only the ends that are read here stay open here."""
        stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self.descriptors.add(stdin)
        for plan, home in zip(plans, homes, strict=True):
            out_read, out_write = self._pipe()
            err_read, err_write = self._pipe()
            self._start(plan, home, (stdin, out_write, err_write), err_read)
            for fd in (stdin, out_write, err_write):
                self._close(fd)
            stdin = out_read
        self.last = stdin
        for fd in (self.last, *(command.errors for command in self.commands)):
            self.output[fd] = bytearray()
            self.selector.register(fd, selectors.EVENT_READ)

    def _start(
        self, plan: RunCommand, home: str, streams: tuple[int, int, int], errors: int
    ) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", _SUPERVISOR, str(theirs.fileno())],
                    stdin=streams[0],
                    stdout=streams[1],
                    stderr=streams[2],
                    # Resolved in the child before descriptors are closed: the very directory.
                    cwd=f"/proc/self/fd/{plan.cwd_fd}",
                    env={},
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                status = Status.UNKNOWN if self.commands else Status.NOT_STARTED
                raise failure(error, plan.cwd, status=status) from None
        ours.settimeout(_GIVE_UP_S)
        command = _Command(process=process, channel=ours, errors=errors)
        self.commands.append(command)
        self.selector.register(ours, selectors.EVENT_READ, command)
        order = {
            "executable": plan.executable,
            "argv": list(plan.argv),
            "environment": {**plan.environment, "HOME": home},
        }
        with contextlib.suppress(OSError):  # a dead supervisor says nothing: nobody knows
            supervisor.send(ours, order)

    def wait(self) -> None:
        """Read what the commands write until all have ended, or a limit is reached."""
        while self.selector.get_map() and not self.stopped:
            if self.limits.monotonic() >= self.limits.deadline:
                self.stopped = "timeout"
                return
            for key, _ in self.selector.select(_STEP_S):
                if key.data is None:
                    self._read(key.fd)
                else:
                    self._hear(key.data)

    def _read(self, fd: int) -> None:
        chunk = os.read(fd, _CHUNK)
        room = self.limits.output_bytes - sum(map(len, self.output.values()))
        self.output[fd] += chunk[:room]
        if not chunk:
            self.selector.unregister(fd)
        elif len(chunk) > room:
            self.stopped = "output_limit"

    def _hear(self, command: _Command) -> None:
        try:
            message = supervisor.receive(command.channel)
        except (OSError, ValueError):
            message = None
        if message is None:
            self.selector.unregister(command.channel)
        else:
            command.said.update(message)

    def stop(self) -> None:
        """Have everything killed that still runs, and reap it; may be called again."""
        for command in self.commands:
            command.channel.close()
        for command in self.commands:
            try:
                command.process.wait(_GIVE_UP_S)
            except subprocess.TimeoutExpired:
                command.process.kill()
                command.process.wait()
        for fd in tuple(self.descriptors):
            self._close(fd)

    def ended(self) -> Ended:
        """Return what came of it."""
        return Ended(
            endings=tuple(
                Ending(
                    exit_code=command.said.get("exit"),
                    signal=command.said.get("signal"),
                    error=command.said.get("error"),
                )
                for command in self.commands
            ),
            stdout=bytes(self.output[self.last]),
            stderr=tuple(bytes(self.output[command.errors]) for command in self.commands),
            stopped=self.stopped,
        )

    def _pipe(self) -> tuple[int, int]:
        pair = os.pipe()
        self.descriptors.update(pair)
        return pair

    def _close(self, fd: int) -> None:
        self.descriptors.discard(fd)
        os.close(fd)
