"""Traces and bundles are read strictly, every fault with its place."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest

from gateway.replay.trace import Call, Prompt, Result, Tools, TraceError, read_bundle, read_trace

CALL = {"event": "call", "id": "c1", "server": "s", "tool": "t", "arguments": {"a": 1}}
WHOLE = [
    {"event": "tools", "server": "s", "tools": [{"name": "t", "description": "d", "title": "T"}]},
    {"event": "prompt", "text": "do it"},
    CALL,
    {"event": "result", "id": "c1", "content": [{"type": "text", "text": "x"}], "isError": False},
]


def stream(*lines: Any) -> io.BufferedReader:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return io.BufferedReader(io.BytesIO(text.encode()))


def test_a_whole_trace_is_read_in_order():
    events = read_trace(stream(*WHOLE), "t").events
    assert [type(event) for event in events] == [Tools, Prompt, Call, Result]


def test_blank_lines_are_passed_over():
    assert len(read_trace(stream("", CALL, "  "), "t").events) == 1


def test_a_tool_call_becomes_an_mcp_request():
    call = read_trace(stream(CALL), "t").events[0]
    assert isinstance(call, Call)
    request = call.to_request()
    assert (request.tool, request.id) == ("mcp.call", "c1")
    assert request.params == {"server": "s", "tool": "t", "arguments": {"a": 1}}


def test_a_request_is_taken_as_it_is():
    line = {"event": "call", "id": "1", "request": {"tool": "fs.read", "params": {"path": "a"}}}
    call = read_trace(stream(line), "t").events[0]
    assert isinstance(call, Call)
    assert call.to_request().params == {"path": "a"}


def test_a_request_of_the_wrong_shape_is_malformed_not_lost():
    call = Call(event="call", id="1", request={"tool": "fs.read", "parms": {}})
    assert "parms" in call.to_request().malformed


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], "t:1: not JSON"),
        (['{"event":"prompt","text":"a","text":"b"}'], "t:1: "),
        ([{"event": "sing"}], "t:1: "),
        ([CALL, {**CALL, "id": "c2", "argments": {}}], "t:2: argments"),
        ([{**CALL, "request": {}}], "t:1: write server and tool, or request"),
        ([{"event": "call", "id": "1"}], "t:1: write server and tool, or request"),
        ([{"event": "call", "id": "1", "server": "s"}], "t:1: write server and tool, or request"),
        ([CALL, CALL], "t:2: id: 'c1' stands twice"),
        ([{"event": "result", "id": "c9"}], "t:1: id: no call 'c9' before this result"),
        ([{**CALL, "id": ""}], "t:1: id"),
    ],
)
def test_faults_are_named_with_their_line(lines: list[Any], said: str):
    with pytest.raises(TraceError, match=said):
        read_trace(stream(*lines), "t")


def test_a_bundle_has_names_and_may_be_gzipped():
    line = json.dumps({"name": "a", "suite": "more", "events": WHOLE}).encode()
    packed = io.BufferedReader(io.BytesIO(gzip.compress(line + b"\n" + line)))
    assert [trace.name for trace in read_bundle(packed, "b")] == ["a", "a"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"events": []}, "b:1: a line of a bundle is an object with `name` and `events`"),
        ({"name": "a", "events": "x"}, "b:1: events: write a list"),
        ({"name": "a", "events": [CALL, CALL]}, "b:1: event 2: id: 'c1' stands twice"),
    ],
)
def test_faults_of_a_bundle(line: Any, said: str):
    with pytest.raises(TraceError, match=said):
        list(read_bundle(stream(line), "b"))


def test_a_broken_archive_is_a_fault_with_a_name():
    packed = gzip.compress(json.dumps({"name": "a", "events": []}).encode())[:-9]
    with pytest.raises(TraceError, match="b: "):
        list(read_bundle(io.BufferedReader(io.BytesIO(packed)), "b"))
