"""Reading for people: the last records, counts, search by value."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.record import read
from tests.gateway.record.samples import KEYS, OTHER_KEYS, action, denied, opened, run_one


@pytest.fixture
def log(tmp_path: Path) -> Path:
    with opened(tmp_path, segment_bytes=1500) as log:
        run_one(log)
        log.append(denied("d", act=action("/home/alice/.env")), sync=True)
        run_one(log)
    return tmp_path / "log"


def test_the_last_records_in_order_across_segments(log: Path) -> None:
    assert [record["seq"] for record in read.tail(log, 3)] == [2, 3, 4]
    assert [record["seq"] for record in read.tail(log, 99)] == [0, 1, 2, 3, 4]
    assert read.tail(log, 0) == []


def test_the_last_of_a_kind(log: Path) -> None:
    assert read.last(log, "outcome") == read.tail(log, 1)[0]
    assert read.last(log, "denied") == read.tail(log, 3)[0]
    assert read.last(log, "policy.load") is None


def test_counts(log: Path) -> None:
    counted = read.summary(log)
    assert counted["records"] == 5
    assert counted["kinds"] == {"intent": 2, "outcome": 2, "denied": 1}
    assert counted["effects"] == {"allow": 2, "deny": 1}
    assert counted["outcomes"] == {"done": 2}


def test_a_value_is_found_by_its_keyed_digest_only_with_the_key(log: Path) -> None:
    found = read.search(log, KEYS, "/home/alice/.env")
    assert [record["action_id"] for record in found] == ["d"]
    assert read.search(log, OTHER_KEYS, "/home/alice/.env") == []
    assert read.search(log, KEYS, "/home/alice/.env2") == []


def test_a_public_value_is_found_in_clear(log: Path) -> None:
    assert len(read.search(log, KEYS, "read-workspace")) == 5


def test_what_is_no_record_is_passed_over(log: Path) -> None:
    with max(log.glob("*.jsonl")).open("ab") as file:
        file.write(b'[1]\nnot json\n\xff\n{"torn":')
    assert len(read.tail(log, 99)) == 5


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read.tail(tmp_path / "none", 5) == []
    assert read.summary(tmp_path / "none")["records"] == 0
