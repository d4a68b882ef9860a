"""The gate and its doors, for every room above the stages."""

from __future__ import annotations

from tests.support.gate import door, gate

__all__ = ["door", "gate"]
