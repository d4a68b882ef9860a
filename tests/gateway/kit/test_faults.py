"""Faults: our own errors tell themselves, others tell nothing."""

from __future__ import annotations

from gateway.errors import RecordError
from gateway.kit import faults
from gateway.model.names import Status


def test_our_own_error_tells_itself():
    error = RecordError("log: No space left on device")
    assert faults.code(error) == "record_unavailable"
    assert faults.said(error) == "log: No space left on device"


def test_any_other_error_tells_nothing_of_what_it_was_given(caplog):
    result = faults.unknown(ValueError("secret-value"))
    assert (result.status, result.reason) == (Status.UNKNOWN, "internal_error")
    assert "secret-value" not in result.message + caplog.text
