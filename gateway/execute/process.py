"""One command: an argv list, never a shell, checked once more and run to its end.

Executable and file operands are looked at again just before the start; a changed one is
`changed_since_decision`, and nothing is started. `done` means that the program ran to its end:
`exit_code` says how it judged itself. Limits, environment and the killing of the tree are in
:mod:`gateway.execute.running`.

There is no sandbox here: between the last look and the program's own open a name can still change.

Source: CWE-78 (command injection), CWE-367 (time of check, time of use).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from typing import Final

from gateway.execute.files import changed, failure
from gateway.execute.running import Ending, Limits, run_pipeline
from gateway.kit import posix
from gateway.model.decision import Obligations
from gateway.model.names import Json, Status
from gateway.model.outcome import Result
from gateway.model.plan import Identity, Operand, RunCommand

_STOPPED: Final = {
    "timeout": "did not end in time and was stopped",
    "output_limit": "wrote more than the limit and was stopped",
}


def run_command(
    plan: RunCommand, obligations: Obligations, *, monotonic: Callable[[], float] = time.monotonic
) -> Result:
    """Run one command; its output is standard output, then standard error.

    Raises:
        ExecutionError: `changed_since_decision`, or it could not be started.
    """
    verify(plan)
    limits = Limits(
        output_bytes=obligations.read_bytes,
        deadline=monotonic() + obligations.call_timeout_s,
        monotonic=monotonic,
    )
    ended = run_pipeline((plan,), limits)
    return result_of(plan, ended.endings[0], ended.stdout + ended.stderr[0], ended.stopped)


def verify(plan: RunCommand) -> None:
    """Look again at the executable and at every file operand.

    Raises:
        ExecutionError: `changed_since_decision`.
    """
    try:
        found = posix.identity(os.stat(plan.executable))  # noqa: PTH116 - a name, as exec takes it
    except OSError:
        raise changed(plan.executable) from None
    if found != plan.executable_identity:
        raise changed(plan.executable)
    for operand in plan.operands:
        if not _same(_found(operand), operand.identity):
            raise changed(operand.path)


def result_of(plan: RunCommand, ending: Ending, content: bytes, stopped: str) -> Result:
    """Return the result of one command of a pipeline."""
    reason, message, status = _judge(plan, ending, stopped)
    facts: dict[str, Json] = {"exit_code": ending.exit_code, "signal": ending.signal}
    return Result(
        status=status,
        content=content,
        data={name: value for name, value in facts.items() if value is not None},
        reason=reason,
        message=message,
        truncated=bool(stopped),
    )


def _judge(plan: RunCommand, ending: Ending, stopped: str) -> tuple[str, str, Status]:
    if ending.error is not None:
        error = failure(OSError(ending.error, ""), plan.executable, status=Status.NOT_STARTED)
        return error.code, str(error), Status.NOT_STARTED
    if ending.exit_code is not None:
        return ("exit_status" if ending.exit_code else "done"), "", Status.DONE
    name = plan.argv[0]
    if ending.signal is not None:
        return "exit_status", f"{name} was ended by signal {ending.signal}", Status.FAILED
    if stopped:
        return stopped, f"{name} {_STOPPED[stopped]}", Status.FAILED
    return "internal_error", f"{name}: nobody can say how it ended", Status.UNKNOWN


def _found(operand: Operand) -> os.stat_result:
    try:
        fd = posix.open_beneath(operand.root_fd, operand.relative, os.O_PATH)
    except OSError:
        raise changed(operand.path) from None
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def _same(found: os.stat_result, judged: Identity) -> bool:
    """Whether it is still the object that was judged; a directory may have got other entries."""
    if (found.st_dev, found.st_ino) != (judged.device, judged.inode):
        return False
    if stat.S_ISDIR(found.st_mode):
        return True
    return (found.st_size, found.st_mtime_ns) == (judged.size, judged.mtime_ns)
