"""What went wrong as a result: the outcome of an act is never lost in an exception.

An ExecutionError says itself whether the act may have had an effect. Of any other fault nobody can
say, so the status is `unknown`, and only the fault's type is told: a message could hold a value.
"""

from __future__ import annotations

import logging
from typing import Final

from gateway.errors import CounterfoilError, ExecutionError
from gateway.model.names import Status
from gateway.model.outcome import Result

_log: Final = logging.getLogger(__name__)


def result_of_fault(fault: BaseException) -> Result:
    """Return the result that stands for a fault raised while executing."""
    if isinstance(fault, ExecutionError):
        return Result(status=Status(fault.status), reason=fault.code, message=str(fault))
    if not isinstance(fault, Exception):
        message = "interrupted; it may have had an effect"
        return Result(status=Status.UNKNOWN, reason="cancelled", message=message)
    code = fault.code if isinstance(fault, CounterfoilError) else "internal_error"
    _log.error("execute failed", extra={"fault": type(fault).__name__, "code": code})
    message = f"{type(fault).__name__} while executing; it may have had an effect"
    return Result(status=Status.UNKNOWN, reason=code, message=message)
