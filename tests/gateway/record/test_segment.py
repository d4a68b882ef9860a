"""A segment gives whole lines back, appends whole lines only, and knows its own file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.errors import RecordError
from gateway.record.segment import Segment
from gateway.record.state import BrokenLogError


@pytest.fixture
def segment(tmp_path: Path) -> Iterator[Segment]:
    made = Segment.open(tmp_path / "0.jsonl", 0, create=True)
    yield made
    made.close()


def test_lines_are_read_back_from_any_offset_and_a_torn_end_is_left(segment: Segment) -> None:
    segment.append(b"one", 0)
    segment.append(b"two", 4)
    with segment.path.open("ab") as file:
        file.write(b"tor")
    assert list(segment.lines(0)) == [b"one", b"two"]
    assert list(segment.lines(4)) == [b"two"]
    assert segment.torn(8) == b"tor"
    segment.cut(8)
    assert (segment.size(), segment.torn(8)) == (8, b"")


def test_lines_longer_than_a_read_are_whole(segment: Segment) -> None:
    lines = [bytes([65 + number]) * 700_001 for number in range(4)]
    at = 0
    for line in lines:
        segment.append(line, at)
        at += len(line) + 1
    assert list(segment.lines(0)) == lines


def test_a_segment_shorter_than_what_was_read_is_broken(segment: Segment) -> None:
    with pytest.raises(BrokenLogError, match="records were cut"):
        list(segment.lines(1))


def test_an_append_elsewhere_than_at_the_end_leaves_nothing(segment: Segment) -> None:
    segment.append(b"one", 0)
    with segment.path.open("ab") as file:
        file.write(b"foreign\n")
    with pytest.raises(RecordError, match="size"):
        segment.append(b"two", 4)
    assert segment.path.read_bytes() == b"one\n"


def test_a_swapped_file_takes_no_line(segment: Segment) -> None:
    segment.path.unlink()
    segment.path.touch()
    with pytest.raises(RecordError, match="replaced"):
        segment.append(b"one", 0)
    assert segment.path.read_bytes() == b""


def test_a_segment_is_never_opened_through_a_symlink_or_as_a_fifo(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    (tmp_path / "link").symlink_to("there")
    os.mkfifo(tmp_path / "fifo", 0o600)
    for name, said in (("link", "symbolic"), ("fifo", "not a regular file"), ("none", "missing")):
        with pytest.raises(RecordError, match=said):
            Segment.open(tmp_path / name, 0)


def test_a_segment_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"one\n")
    with pytest.raises(RecordError, match="exists"):
        Segment.open(tmp_path / "there", 0, create=True)
    assert (tmp_path / "there").read_bytes() == b"one\n"
