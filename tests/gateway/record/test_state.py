"""Replaying refuses what does not continue the log."""

from __future__ import annotations

import json

import pytest

from gateway.record.chain import GENESIS, line_hash
from gateway.record.state import BrokenLogError, Replayed


def line(seq: int, prev: str, **more: object) -> bytes:
    return json.dumps({"seq": seq, "prev": prev, **more}).encode()


def test_lines_are_folded_in_order() -> None:
    replayed = Replayed()
    first = line(0, GENESIS, kind="intent", action_id="i", writer="w")
    replayed.apply(first)
    assert (replayed.size, replayed.offset) == (1, len(first) + 1)
    assert replayed.open_intents == {"i": "w"}
    replayed.apply(line(1, line_hash(first), kind="outcome", action_id="i"))
    assert replayed.open_intents == {}


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"not json",
        b"[]",
        b"1",
        b"[" * 100_000,
        b"{}",
        line(1, GENESIS),
        line(0, "f" * 64),
        line(0, GENESIS, kind="denied", scope="s", taint=["no such word"]),
        line(0, GENESIS, kind="denied", scope="s", taint=7),
        line(0, GENESIS, kind="denied", scope=["s"]),
        line(0, GENESIS, kind="session.clear", scope="s", detail=[]),
        line(0, GENESIS, kind="intent", action_id={}),
    ],
)
def test_a_line_that_does_not_continue_the_log_is_refused_whole(bad: bytes) -> None:
    replayed = Replayed()
    with pytest.raises(BrokenLogError, match="audit verify"):
        replayed.apply(bad)
    assert replayed == Replayed()
