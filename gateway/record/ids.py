"""Ids that sort by time. Source: RFC 9562 section 5.7 (UUIDv7)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Final

_VERSION: Final = 0x7
_VARIANT: Final = 0b10


def uuid7(now_ns: int, random: Callable[[int], bytes]) -> str:
    """Return a UUIDv7 for a wall time in ns."""
    bits = int.from_bytes(random(10), "big")
    value = (now_ns // 1_000_000 & (1 << 48) - 1) << 80
    value |= _VERSION << 76 | (bits >> 68 & 0xFFF) << 64
    value |= _VARIANT << 62 | bits & (1 << 62) - 1
    return str(uuid.UUID(int=value))
