"""counterfoil's gateway: one fail-closed road for every act of an agent.

`import gateway` is cheap: :class:`Guard`, the Python door, is loaded when it is first named.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.doors.python import Guard

__all__ = ["Guard"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "Guard":
        if sys.platform != "linux":
            raise ImportError("counterfoil runs on Linux only; see docs/limitations.md")
        from gateway.doors import python

        return python.Guard
    message = f"module 'gateway' has no attribute {name!r}"
    raise AttributeError(message)
