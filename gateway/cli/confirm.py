"""Asking the person at the controlling terminal, in the way an approval is asked."""

from __future__ import annotations

from typing import Final

from gateway.approve.terminal import Terminal
from gateway.errors import CounterfoilError
from gateway.kit import text
from gateway.model.approval import Verdict
from gateway.model.reasons import REASONS

TIMEOUT_S: Final = 120


class NotConfirmedError(CounterfoilError):
    """What only a person may do was not confirmed by one; nothing was changed."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"{REASONS[verdict]}; this needs a person at a terminal, nothing changed")
        self.code = str(verdict)


def confirm(question: str) -> None:
    """Go on only if the person types `yes`.

    Raises:
        NotConfirmedError: no controlling terminal, another answer, or none in time.
    """
    verdict = Terminal().confirm("\n".join(text.block(question)), timeout_s=TIMEOUT_S)
    if verdict is not Verdict.APPROVED:
        raise NotConfirmedError(verdict)
