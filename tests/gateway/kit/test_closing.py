"""Closing: at the end of the block, whatever happened in it."""

from __future__ import annotations

import pytest

from gateway.kit.closing import Closing


class Thing(Closing):
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_block_closes_and_hides_no_error():
    with Thing() as good:
        assert not good.closed
    bad = Thing()
    with pytest.raises(ValueError, match="inside"), bad:
        raise ValueError("inside")
    assert (good.closed, bad.closed) == (1, 1)
