"""Ids sort by time and are what RFC 9562 says."""

from __future__ import annotations

import os
import uuid

from gateway.record.ids import uuid7


def test_an_id_is_a_version_7_uuid_of_its_time() -> None:
    now = 1_700_000_000_123_456_789
    made = uuid.UUID(uuid7(now, os.urandom))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == now // 1_000_000


def test_ids_sort_by_time() -> None:
    made = [uuid7(number * 1_000_000, os.urandom) for number in range(50)]
    assert made == sorted(made)


def test_the_random_bits_are_all_used() -> None:
    assert uuid7(0, lambda count: b"\xff" * count) != uuid7(0, lambda count: b"\xfe" * count)
