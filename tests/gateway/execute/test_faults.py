"""A fault is a result: its status is honest, and its text holds no value."""

from __future__ import annotations

import pytest

from gateway.errors import ConfigError, ExecutionError, InvariantError, RecordError
from gateway.execute.faults import result_of_fault
from gateway.model.names import Status
from gateway.model.reasons import REASONS


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        (ExecutionError("fs_io_error", "m", status="failed"), Status.FAILED, "fs_io_error"),
        (
            ExecutionError("changed_since_decision", "m", status="not_started"),
            Status.NOT_STARTED,
            "changed_since_decision",
        ),
        (
            ExecutionError("api_unavailable", "m", status="unknown"),
            Status.UNKNOWN,
            "api_unavailable",
        ),
        (ConfigError("SECRET"), Status.UNKNOWN, "config_invalid"),
        (RecordError("SECRET"), Status.UNKNOWN, "record_unavailable"),
        (InvariantError("SECRET"), Status.UNKNOWN, "internal_error"),
        (ValueError("SECRET"), Status.UNKNOWN, "internal_error"),
        (KeyboardInterrupt(), Status.UNKNOWN, "cancelled"),
    ],
)
def test_what_a_fault_becomes(fault, status, reason, caplog):
    result = result_of_fault(fault)
    assert (result.status, result.reason) == (status, reason)
    assert reason in REASONS
    assert "SECRET" not in result.message + caplog.text
