"""A writer that was open all along never signs over what was cut or forged behind its back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.errors import RecordError
from gateway.record.verify import Code
from tests.gateway.record.samples import SCOPE, opened, run_one, verified


def _cut(lines: list[bytes]) -> list[bytes]:
    return lines[:2]


def _forge(lines: list[bytes]) -> list[bytes]:
    """Rewrite every later record with a `prev` that fits."""
    forged = lines[:2]
    for line in lines[2:]:
        record = json.loads(line)
        record["prev"] = hashlib.sha256(forged[-1]).hexdigest()
        record["level"] = "forged"
        forged.append(json.dumps(record, sort_keys=True, separators=(",", ":")).encode())
    return forged


def _forge_and_lengthen(lines: list[bytes]) -> list[bytes]:
    forged = _forge(lines)
    record = json.loads(forged[-1])
    record |= {"seq": len(forged), "prev": hashlib.sha256(forged[-1]).hexdigest()}
    return [*forged, json.dumps(record, sort_keys=True, separators=(",", ":")).encode()]


@pytest.mark.parametrize("change", [_cut, _forge, _forge_and_lengthen])
@pytest.mark.parametrize("look_first", [True, False])
def test_an_open_writer_never_signs_a_log_that_was_changed(
    tmp_path: Path, change: Callable[[list[bytes]], list[bytes]], *, look_first: bool
) -> None:
    with opened(tmp_path) as stays:
        run_one(stays)
        with opened(tmp_path) as other:
            for _ in range(3):
                run_one(other)
        (segment,) = (tmp_path / "log").glob("*.jsonl")
        lines = change(segment.read_bytes().splitlines())
        segment.write_bytes(b"\n".join(lines) + b"\n")
        assert verified(tmp_path).code is not Code.OK
        if look_first:
            with pytest.raises(RecordError):
                stays.state(SCOPE)
        with pytest.raises(RecordError):
            run_one(stays)
    assert verified(tmp_path).code is not Code.OK


def test_an_older_head_put_back_stops_an_open_writer(tmp_path: Path) -> None:
    head = tmp_path / "head" / "checkpoint"
    with opened(tmp_path) as log:
        run_one(log)
        old = head.read_bytes()
        run_one(log)
        head.write_bytes(old)
        with pytest.raises(RecordError, match="went back"):
            run_one(log)


def test_writers_that_take_turns_go_on(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as two:
        for _ in range(5):
            run_one(one)
            run_one(two)
            assert one.state(SCOPE) == two.state(SCOPE)
    assert verified(tmp_path).code is Code.OK
