"""The errors of the gateway, one tree, each with a stable code.

    CounterfoilError
    ├── ConfigError        the operator's configuration cannot be used (names file and field)
    ├── PolicyError        a policy file cannot be used (names file, line, key)
    ├── RecordError        the log cannot be made durable (names path, errno, remedy)
    ├── StaleStateError    the session changed between decision and intent: decide again
    ├── ExecutionError     an act that was allowed could not be carried out (has a reason code)
    └── InvariantError     the program contradicts itself; always a deny, always a defect

An exception is for what nobody could judge. What can be judged is a value with a reason code
(:class:`gateway.model.action.Refusal`, :class:`gateway.model.decision.Decision`). At a door every
exception becomes a deny with the error's code.
"""

from __future__ import annotations


class CounterfoilError(Exception):
    """Base of all errors; `code` is a reason code of :mod:`gateway.model.reasons`."""

    code = "internal_error"


class ConfigError(CounterfoilError):
    """The configuration is missing, unreadable or wrong; the message names file and field."""

    code = "config_invalid"


class PolicyError(CounterfoilError):
    """A policy is refused; `line` is 1-based, or None when the fault has no single line."""

    code = "policy_invalid"

    def __init__(self, message: str, *, source: str = "policy", line: int | None = None) -> None:
        where = source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {message}")
        self.source = source
        self.line = line
        self.detail = message


class RecordError(CounterfoilError):
    """The log could not be written or trusted; from then on the writer denies everything."""

    code = "record_unavailable"


class StaleStateError(CounterfoilError):
    """Another door changed the session after this act was decided; the pipeline decides again."""

    code = "session_changed"


class ExecutionError(CounterfoilError):
    """An allowed act failed; `status` says whether it may have had an effect.

    `status` is one of `failed` (ended with an error), `not_started` (no effect), `unknown`.
    """

    def __init__(self, code: str, message: str, *, status: str = "failed") -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class InvariantError(CounterfoilError):
    """A stage was given what the types forbid."""
