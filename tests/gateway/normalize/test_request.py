from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.kit.canon import JsonError
from gateway.model.request import ActionRequest
from gateway.normalize.request import parse_request, request_of

FULL = {"tool": "fs.read", "params": {"path": "a"}, "id": "1", "actor": "x", "session": "s"}


def test_a_request_is_read() -> None:
    expected = ActionRequest(tool="fs.read", params={"path": "a"}, id="1", actor="x", session="s")
    assert parse_request(json.dumps(FULL).encode()) == expected
    assert request_of(FULL) == expected
    assert parse_request(b'{"tool":"t","params":{}}') == ActionRequest(tool="t", params={})


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("[]", "request: an object"),
        ("5", "request: an object"),
        ("{}", "request.params: missing"),
        ('{"tool":"t"}', "request.params: missing"),
        ('{"params":{}}', "request.tool: missing"),
        ('{"tool":"","params":{}}', "request.tool: missing or empty"),
        ('{"tool":5,"params":{}}', "request.tool: not a string"),
        ('{"tool":"t","params":[]}', "request.params: missing, or not an object"),
        ('{"tool":"t","params":{},"id":null}', "request.id: not a string"),
        ('{"tool":"t","params":{},"id":"' + "x" * 257 + '"}', "request.id: longer than 256"),
        ('{"tool":"t","params":{},"user":"root"}', "request.'user' is not known"),
        ('{"tool":"t","tool":"u","params":{}}', "duplicate member 'tool'"),
        ('{"tool":"t","params":{"a":1,"a":2}}', "duplicate member 'a'"),
        ('{"tool":"t","params":{"a":NaN}}', "NaN is not JSON"),
        ('{"tool":"t","params":{"a":"\\ud800"}}', "lone surrogate"),
        ('{"tool":"t","params":{"a":9007199254740992}}', "an integer beyond"),
        ('{"tool":"t","params":' + '{"a":' * 70 + "1" + "}" * 71, "nested deeper"),
        ("\ufeff{}", "not JSON"),
    ],
)
def test_a_wrong_request_names_the_field(raw: str, says: str) -> None:
    with pytest.raises(JsonError, match=says):
        parse_request(raw.encode())


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"tool": "t", "params": {"a": object()}},
        {"tool": "t", "params": {1: 2}},
        {"tool": "t", "params": {"a": b"bytes"}},
        {"tool": "t", "params": {"a": float("inf")}},
        {"tool": "t", "params": {"a": {1, 2}}},
    ],
)
def test_python_objects_are_held_to_the_same(value: object) -> None:
    with pytest.raises(JsonError):
        request_of(value)


def test_a_python_request_cannot_be_changed_after_it_was_read() -> None:
    params = {"path": "a", "deep": {"list": [1]}}
    request = request_of({"tool": "t", "params": params})
    params["path"] = ".env"
    params["deep"]["list"].append(2)  # type: ignore[index]
    assert request.params == {"path": "a", "deep": {"list": [1]}}


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_a_request_or_our_own_error(raw: bytes) -> None:
    try:
        parse_request(raw)
    except JsonError:
        return
