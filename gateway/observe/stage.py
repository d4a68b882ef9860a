"""The observe stage. In this version it passes results on as they are.

Guarding (redaction, neutralising, labels) has its place here; until it is built, what an allowed
act returns reaches the agent unchanged, as `docs/limitations.md` says.
"""

from __future__ import annotations

from gateway.model.outcome import Result
from gateway.model.permit import Permit


class Observe:
    """Implements the observer port."""

    def observe(self, permit: Permit, result: Result) -> Result:
        """Return the result unchanged."""
        del permit
        return result
