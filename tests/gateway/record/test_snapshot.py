"""A snapshot carries the whole state, and only one of ours is believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.model.names import Taint
from gateway.record import snapshot
from gateway.record.state import Replayed
from tests.gateway.record.samples import KEYS, OTHER_KEYS, denied, intent, opened


def test_a_snapshot_carries_the_whole_state(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.append(denied("d", taint=frozenset(Taint)), sync=True)
        log.append(intent("i"), sync=True)
        replayed = log.replayed
        packed = snapshot.pack(replayed, KEYS)
    assert snapshot.unpack(packed, KEYS) == replayed
    assert snapshot.unpack(packed, OTHER_KEYS) is None
    assert snapshot.unpack(None, KEYS) is None
    assert Replayed.from_json(json.loads(json.dumps(replayed.to_json()))) == replayed


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"not json", b'{"size":1}'])
def test_a_sealed_snapshot_of_another_shape_is_passed_over(body: bytes) -> None:
    assert snapshot.unpack(KEYS.seal(body).encode() + b"\n" + body, KEYS) is None
