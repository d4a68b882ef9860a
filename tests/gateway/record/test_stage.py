"""The log from open to close, by one process and by the next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gateway.model.names import Taint
from gateway.record import read
from gateway.record.verify import Code
from tests.gateway.record.samples import (
    SCOPE,
    denied,
    intent,
    opened,
    outcome,
    run_one,
    verified,
)

REPOSITORY = Path(__file__).parents[3]


def test_a_log_is_written_verified_and_opened_again_from_its_snapshot(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.append(denied("d", taint=frozenset({Taint.ATTEMPTED})), sync=True)
        log.append(intent("i"), sync=True)
        log.append(outcome("i"), sync=False)
        state = log.state(SCOPE)
    assert state.taint == {Taint.ATTEMPTED}
    assert state.sources == (("attempted", "d"),)
    report = verified(tmp_path)
    assert (report.code, report.records, report.head_size) == (Code.OK, 3, 3)
    assert (tmp_path / "state" / "snapshot.json").exists()
    with opened(tmp_path) as again:
        assert again.state(SCOPE) == state
        assert again.replayed.size == 3
        run_one(again)
    assert verified(tmp_path).code is Code.OK
    kinds = [record["kind"] for record in read.records(tmp_path / "log")]
    assert kinds == ["denied", "intent", "outcome", "intent", "outcome"]


def test_another_process_appends_and_this_one_sees_its_taint(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys\n"
        "from gateway.model.names import Taint\n"
        "from tests.gateway.record.samples import denied, opened\n"
        "with opened(pathlib.Path(sys.argv[1])) as log:\n"
        "    log.append(denied('other', taint=frozenset({Taint.EXPOSED})), sync=True)\n"
    )
    with opened(tmp_path) as log:
        run_one(log)
        before = log.state(SCOPE)
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], check=True, cwd=REPOSITORY, timeout=60
        )
        state = log.state(SCOPE)
        assert state.taint == {Taint.EXPOSED}
        assert state.version != before.version
        run_one(log)
    assert verified(tmp_path).code is Code.OK
