"""`policy test`: exit status, the report, a bar on coverage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.gate import Gate

GOOD = """\
version: 1
files: {src/a.py: x}
cases:
  - name: reads
    request: {tool: fs.read, params: {path: src/a.py}}
    expect: {decision: allow, rule: read}
"""


@pytest.fixture
def cases(gate: Gate) -> Path:
    path = gate.top / "cases.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_good_cases(gate: Gate, cases: Path):
    status, out, err = gate.cli("policy", "test", str(gate.policy), str(cases))
    assert (status, err) == (0, "")
    assert "1 of 1 cases as expected" in out
    assert "not reached: keep, write" in out


def test_a_case_that_fails(gate: Gate, cases: Path):
    cases.write_text(GOOD.replace("decision: allow", "decision: deny"), encoding="utf-8")
    status, out, err = gate.cli("policy", "test", str(gate.policy), str(cases))
    assert status == 2
    assert f"{cases}:4: reads: decision must be deny, is allow" in err
    assert "0 of 1 cases as expected" in out


def test_too_few_rules_reached(gate: Gate, cases: Path):
    words = ("policy", "test", str(gate.policy), str(cases), "--json", "--min-coverage")
    status, out, _ = gate.cli(*words, "50")
    report = json.loads(out)
    assert (status, report["ok"], report["coverage"]["percent"]) == (2, False, 6)
    assert gate.cli(*words, "5")[0] == 0


def test_nothing_is_recorded(gate: Gate, cases: Path):
    before = gate.records()
    gate.cli("policy", "test", str(gate.policy), str(cases))
    assert gate.records() == before
