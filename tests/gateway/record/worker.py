"""A process that works with a log: `python -m tests.gateway.record.worker ROOT MODE [NUMBER]`.

It says on standard output, line by line, what was acknowledged.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from gateway.errors import CounterfoilError
from gateway.model.names import Status
from gateway.model.outcome import Result
from gateway.model.permit import Permit
from gateway.model.ports import Settle, Submit
from gateway.record.stage import recover
from gateway.record.writer import Log
from tests.gateway.fakes import Execute, Stages, request
from tests.gateway.record.samples import (
    KEYS,
    SCOPE,
    caller,
    denied,
    intent,
    new_id,
    opened,
    outcome,
    run_one,
    settings,
)


def say(word: str) -> None:
    os.write(1, word.encode() + b"\n")


def append_for_ever(log: Log) -> None:
    while True:
        action_id = new_id()
        log.append(intent(action_id), sync=True)
        say(f"intent {action_id}")
        log.append(outcome(action_id), sync=False)
        say(f"outcome {action_id}")
        log.state(SCOPE)
        log.append(denied(action_id + "-d"), sync=False)
        say(f"denied {action_id}-d")


def hold_the_lock(log: Log) -> None:
    with log._locked():
        say("held")
        sys.stdin.read()


def one_intent(log: Log) -> None:
    log.append(intent("before"), sync=True)
    say("permitted before")
    for name in ("first", "second"):
        try:
            log.append(intent(name), sync=True)
        except CounterfoilError as error:
            say(f"refused {name} {error.code} {error}")
        else:
            say(f"permitted {name}")


def several(log: Log) -> None:
    for _ in range(5):
        say(f"done {run_one(log)}")


def unsynced(log: Log) -> None:
    for number in range(8):
        log.append(denied(f"d{number}"), sync=False)


def fill(log: Log) -> None:
    while True:
        try:
            say(f"done {run_one(log)}")
        except CounterfoilError as error:
            say(f"refused {error.code} {error}")
            return


def hang_while_executing(log: Log) -> None:
    def work(permit: Permit, submit: Submit, settle: Settle) -> Result:
        say(f"executed {permit.action_id}")
        sys.stdin.read()
        return Result(status=Status.DONE)

    Stages(executor=Execute(work=work)).pipeline(log).run(request(), caller())


def through_a_pipeline(log: Log) -> None:
    """Three acts; the executor says the moment it is given a permit."""

    def work(permit: Permit, submit: Submit, settle: Settle) -> Result:
        say(f"executed {permit.action_id}")
        return Result(status=Status.DONE)

    pipeline = Stages(executor=Execute(work=work)).pipeline(log)
    for _ in range(3):
        say(f"asked {pipeline.run(request(), caller()).allowed}")


MODES: dict[str, Callable[[Log], None]] = {
    "forever": append_for_ever,
    "hold": hold_the_lock,
    "one": one_intent,
    "several": several,
    "fill": fill,
    "unsynced": unsynced,
    "hang": hang_while_executing,
    "pipeline": through_a_pipeline,
}


def main(root: Path, mode: str) -> int:
    try:
        if mode == "recover":
            log, mended = recover(root, KEYS, settings())
            with log:
                say(f"recovered {mended}")
        else:
            # Small segments where many writers run, so that they are turned often.
            size = 4000 if mode in {"forever", "unsynced"} else 1 << 26
            with opened(root, segment_bytes=size) as log:
                say("open")
                MODES[mode](log)
    except CounterfoilError as error:
        say(f"refused {error.code} {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
