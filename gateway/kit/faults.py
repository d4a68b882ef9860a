"""What an exception means on the road: a reason code, words that are safe to tell, a result.

Our own errors carry both; anything else is `internal_error`, and what it says stays in the log of
the program, since it may quote what it was given.
"""

from __future__ import annotations

import logging

from gateway.errors import CounterfoilError
from gateway.model.names import Status
from gateway.model.outcome import Result
from gateway.model.reasons import REASONS

_log = logging.getLogger(__name__)


def code(error: Exception) -> str:
    """Return the reason code of an exception, and leave a trace of a fault of ours."""
    if isinstance(error, CounterfoilError):
        return error.code
    _log.error("a fault denies: %s", type(error).__name__)
    return "internal_error"


def said(error: Exception) -> str:
    """Return what may be told of an exception."""
    return str(error) if isinstance(error, CounterfoilError) else REASONS["internal_error"]


def unknown(error: Exception) -> Result:
    """Return the result of an act of which, after this exception, nobody can say how it ended."""
    return Result(status=Status.UNKNOWN, reason=code(error), message=said(error))
