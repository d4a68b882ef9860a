"""A small process between the gateway and one command: nothing the command starts outlives it.

Run by path as a script (`python -I -S supervisor.py CHANNEL`), standard library only. It makes
itself the reaper of orphans, reads one order from the channel (a socket to the gateway), starts
the command with exactly the environment of the order, and says how it ended. Then, or as soon as
the gateway closes its end (it wants the command gone, or it died), it kills whatever is left:
background jobs, children that forked twice, children with a session of their own. Standard input,
output and error, and the working directory, are those it was started with.

Messages are JSON after a four-byte length: `{"started": true}` or `{"error": errno}`, then
`{"exit": code}` or `{"signal": number}`. No new privileges, so that all can be killed. A command
of the same user may kill this process; the gateway then says `unknown`. A command that forks
faster than it is killed holds it up until the gateway gives up on it.

Source: prctl(2) (PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS), pidfd_open(2).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import struct
import sys
from typing import Any, Final

_NO_NEW_PRIVS: Final = 38
_CHILD_SUBREAPER: Final = 36
_LENGTH: Final = struct.Struct("!I")
_RESET: Final = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT)  # Python changes these


def send(channel: socket.socket, message: dict[str, Any]) -> None:
    """Send one message."""
    raw = json.dumps(message).encode("ascii")
    channel.sendall(_LENGTH.pack(len(raw)) + raw)


def receive(channel: socket.socket) -> dict[str, Any] | None:
    """Receive one message; None when the other end is gone."""
    head = _exactly(channel, _LENGTH.size)
    raw = None if head is None else _exactly(channel, _LENGTH.unpack(head)[0])
    if raw is None:
        return None
    message: dict[str, Any] = json.loads(raw)
    return message


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        try:
            chunk = channel.recv(size - len(data))
        except ConnectionError:
            return None
        if not chunk:
            return None
        data += chunk
    return bytes(data)


def _main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    _prctl(_NO_NEW_PRIVS)
    _prctl(_CHILD_SUBREAPER)
    order = receive(channel)
    if order is None:
        return
    try:
        child = os.posix_spawn(
            order["executable"],
            order["argv"],
            order["environment"],
            setsid=True,
            setsigmask=(),
            setsigdef=_RESET,
        )
    except OSError as error:
        send(channel, {"error": error.errno})
        return
    # A broken pipe must be seen by whoever writes to the command, not kept open here.
    for fd in (0, 1, 2):
        os.close(fd)
    with contextlib.suppress(ConnectionError):
        send(channel, {"started": True})
    pidfd = os.pidfd_open(child)
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(pidfd, select.POLLIN)
    ended = any(fd == pidfd for fd, _ in poll.poll())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if ended else 0
    kill_rest()
    if ended:
        with contextlib.suppress(ConnectionError):
            send(channel, {"exit": code} if code >= 0 else {"signal": -code})


def kill_rest() -> None:
    """Kill and reap everything below this process until nothing is left."""
    while True:
        for pid in _descendants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _descendants() -> list[int]:
    """Return every process below this one, by parent numbers."""
    below: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{entry.name}/stat", "rb") as stream:  # noqa: PTH123 - no pathlib here
                    fields = stream.read().rpartition(b")")[2].split()
                below.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        children = below.get(queue.pop(), [])
        found += children
        queue += children
    return found


def _prctl(option: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


if __name__ == "__main__":
    _main()
