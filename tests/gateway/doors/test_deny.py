"""The deny of a gate that does not stand."""

from __future__ import annotations

from gateway.doors.deny import standing_deny, withheld
from gateway.errors import ConfigError, RecordError
from gateway.model.names import Effect, Status
from gateway.model.outcome import Answer, Result
from gateway.model.request import ActionRequest

REQUEST = ActionRequest(tool="fs.read", params={"path": "secret-name"})


def test_it_says_why_and_nothing_of_the_request():
    answer = standing_deny(REQUEST, ConfigError("config.yaml: level: wrong"))
    assert answer.decision.effect is Effect.DENY
    assert (answer.decision.rule, answer.decision.reason) == ("builtin:fault", "config_invalid")
    assert answer.decision.message == "config.yaml: level: wrong"
    assert (answer.action_id, answer.result, answer.allowed, answer.ok) == (
        None,
        None,
        False,
        False,
    )
    assert "secret-name" not in str(answer.decision.to_json())


def test_without_a_known_fault_it_is_an_internal_error():
    answer = standing_deny(REQUEST, None)
    assert answer.decision.reason == "internal_error"
    assert answer.decision.message


def test_what_cannot_be_closed_is_withheld():
    fault = RecordError("log: full")
    decided = standing_deny(REQUEST, None)
    assert withheld(decided, fault).decision.reason == "record_unavailable"
    ran = Answer(
        decision=decided.decision,
        action_id="a",
        result=Result(status=Status.DONE, content=b"content", data={"size": 7}),
    )
    kept = withheld(ran, fault)
    assert kept.result == Result(
        status=Status.UNKNOWN, reason="record_unavailable", message="log: full"
    )
    assert (kept.ok, kept.action_id) == (False, "a")
