"""The tree of errors: each has a known code, policy errors say where, an execution says how far."""

from __future__ import annotations

from gateway import errors
from gateway.errors import CounterfoilError, ExecutionError, PolicyError
from gateway.model.names import Status
from gateway.model.reasons import REASONS


def _tree(kind: type[CounterfoilError]) -> list[type[CounterfoilError]]:
    return [kind, *(one for child in kind.__subclasses__() for one in _tree(child))]


def test_every_error_has_a_code_of_the_table_and_stands_in_the_drawing():
    ours = [kind for kind in _tree(CounterfoilError) if kind.__module__ == "gateway.errors"]
    assert not [kind.__name__ for kind in ours if kind.code not in REASONS]
    assert not [kind.__name__ for kind in ours if kind.__name__ not in (errors.__doc__ or "")]


def test_a_policy_error_says_file_and_line():
    error = PolicyError("unknown key", source="team.yaml", line=7)
    assert str(error) == "team.yaml:7: unknown key"
    assert (error.source, error.line, error.detail) == ("team.yaml", 7, "unknown key")
    assert str(PolicyError("empty", source="team.yaml")) == "team.yaml: empty"


def test_an_execution_error_says_whether_something_may_have_happened():
    error = ExecutionError("broker_unavailable", "the broker is down", status="not_started")
    assert error.code == "broker_unavailable"
    assert Status(error.status) is Status.NOT_STARTED
    assert Status(ExecutionError("timeout", "too slow").status) is Status.FAILED
