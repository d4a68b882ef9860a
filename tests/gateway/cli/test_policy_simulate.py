"""`policy simulate`: lines for programs, a count for people, no trace left behind."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.support.gate import Gate

CALLS = [
    {"event": "call", "id": "a", "request": {"tool": "fs.read", "params": {"path": "X/src/a.py"}}},
    {"event": "call", "id": "b", "request": {"tool": "fs.read", "params": {"path": "X/.env"}}},
    {"event": "call", "id": "c", "server": "files", "tool": "read_text_file",
     "arguments": {"path": "a"}},
]  # fmt: skip


@pytest.fixture
def trace(gate: Gate) -> Path:
    path = gate.top / "trace.jsonl"
    lines = "\n".join(map(json.dumps, CALLS)).replace("X/", f"{gate.workspace}/")
    path.write_text(lines, encoding="utf-8")
    return path


def simulate(gate: Gate, *words: str) -> tuple[int, str, str]:
    return gate.cli("policy", "simulate", "--policy", str(gate.policy), *words)


def test_one_line_for_each_call(gate: Gate, trace: Path):
    status, out, _ = simulate(gate, "--json", str(trace))
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [(one["id"], one["reason"]) for one in lines] == [
        ("a", "rule_match"),
        ("b", "fs_protected"),
        ("c", "taint_session"),
    ]


def test_a_count_for_people(gate: Gate, trace: Path):
    _, out, _ = simulate(gate, str(trace))
    assert out.splitlines()[-1] == "3 calls: 1 allow, 0 asked, 2 deny"


def test_it_leaves_no_trace(gate: Gate, trace: Path):
    before = gate.records()
    simulate(gate, str(trace))
    assert gate.records() == before
    assert gate.cli("session", "show", "--json")[1].count("attempted") == 0


def test_a_bundle_names_its_traces(gate: Gate, trace: Path):
    events = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    bundle = gate.top / "bundle.jsonl.gz"
    lines = [json.dumps({"name": name, "events": events}).encode() for name in ("one", "two")]
    bundle.write_bytes(gzip.compress(b"\n".join(lines)))
    status, out, _ = simulate(gate, "--json", "--on-ask", "approve", "--batch", str(bundle))
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [one["trace"] for one in found] == ["one"] * 3 + ["two"] * 3
    assert found[3]["reason"] == "rule_match"


def test_neither_trace_nor_bundle_is_a_usage_error(gate: Gate):
    status, _, err = simulate(gate)
    assert (status, "name a TRACE, or --batch BUNDLE" in err) == (1, True)


def test_a_trace_that_is_none_is_refused_with_its_line(gate: Gate, trace: Path):
    trace.write_text('{"event":"prompt","text":"x"}\n{', encoding="utf-8")
    status, _, err = simulate(gate, str(trace))
    assert (status, f"trace_invalid: {trace}:2: not JSON" in err) == (2, True)
    assert simulate(gate, str(gate.top / "none"))[0] == 2
