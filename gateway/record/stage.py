"""Opening the log, and the one command that opens a halted one again."""

from __future__ import annotations

from pathlib import Path

from gateway.model.names import Json
from gateway.model.session import SessionState
from gateway.record.disk import Disk
from gateway.record.keys import LogKeys
from gateway.record.writer import Log, Settings


def open_log(root: Path, keys: LogKeys, settings: Settings) -> Log:
    """Open the log beneath a state directory.

    Raises:
        RecordError: it cannot be made, is halted, cut or broken; the message names the remedy.
    """
    log = Log(disk=Disk(root=root), keys=keys, settings=settings)
    try:
        log.start()
    except BaseException:
        log.close()
        raise
    return log


def recover(root: Path, keys: LogKeys, settings: Settings) -> tuple[Log, dict[str, Json]]:
    """Open a halted log again: cut a torn line, sign the head anew; whole records are all kept.

    Raises:
        RecordError: the cause of the halt is still there, or the log was cut or changed.
    """
    log = Log(disk=Disk(root=root), keys=keys, settings=settings)
    try:
        mended = log.start(recovering=True)
    except BaseException:
        log.close()
        raise
    return log, mended


def peek(root: Path, keys: LogKeys, settings: Settings, scope: str) -> SessionState:
    """Return a scope's state and leave no trace.

    Raises:
        RecordError: the log cannot be read.
    """
    return Log(disk=Disk(root=root), keys=keys, settings=settings).look(scope)
