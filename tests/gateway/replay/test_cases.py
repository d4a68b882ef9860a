"""Cases are judged in scratch roots: real files, real grammars, nothing of the real workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.errors import PolicyError
from gateway.replay.cases import Report, read_cases, run_cases
from tests.gateway.replay.test_stand import options

POLICY = """\
version: 1
roots: {workspace: "/no/such/place", data: "/nor/this"}
protected: ["**/.env"]
rules:
  - {id: read, effect: allow, operations: [fs.read, fs.list], resources: ["${workspace}/**"]}
  - {id: look, effect: allow, operations: [shell.run], programs: [grep]}
  - {id: alice, effect: ask, operations: [memory.write], memory: {scope: session}, identities: [alice]}
"""
CASES = """\
version: 1
files: {src/a.py: "x\\n"}
cases:
  - name: reads
    request: {tool: fs.read, params: {path: src/a.py}}
    expect: {decision: allow, rule: read, reason: rule_match}
  - name: walks
    request: {tool: shell.run, params: {command_line: grep -r x .}}
    files: {deep/.env: s}
    expect: {decision: deny, reason: fs_protected}
  - name: walks clean
    request: {tool: shell.run, params: {command_line: "grep -r x ."}}
    expect: {decision: allow}
  - name: elsewhere
    request: {tool: fs.list, params: {path: "${data}"}}
    expect: {decision: deny, reason: default_decision}
  - name: tainted
    request: {tool: memory.write, params: {scope: session, sensitivity: low, content: x}}
    user: alice
    taint: [attempted]
    expect: {decision: deny, reason: taint_session}
"""


def report(tmp_path: Path, cases: str = CASES) -> Report:
    policy, file = tmp_path / "policy.yaml", tmp_path / "cases.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    file.write_text(cases, encoding="utf-8")
    return run_cases(options(tmp_path), policy, [read_cases(file)])


def test_every_case_comes_out_as_expected(tmp_path: Path):
    assert [one.wrong for one in report(tmp_path).tested] == [()] * 5


def test_rules_that_decide_no_case_are_named(tmp_path: Path):
    found = report(tmp_path)
    assert found.not_reached == ("alice",)
    assert found.coverage == 66


def test_what_is_wrong_is_said_with_the_line(tmp_path: Path):
    text = CASES.replace("decision: allow, rule: read", "decision: ask, rule: look")
    one = report(tmp_path, text).tested[0]
    assert one.line == 4
    assert one.wrong == ("decision must be ask, is allow", "rule must be look, is read")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version: 1", "version: 2", "version"),
        ("expect: {decision: allow}", "expect: {decision: maybe}", "decision"),
        ("src/a.py: ", "../a.py: ", "a file lies beneath the first root"),
        ("src/a.py: ", "/etc/a.py: ", "a file lies beneath the first root"),
        ("name: reads", "nam: reads\n    name: reads", "nam: unknown key"),
        ("${data}", "${nope}", "unknown root"),
        ("tool: fs.list,", "tool: 5,", "write a string"),
    ],
)
def test_a_wrong_case_is_refused(tmp_path: Path, old: str, new: str, said: str):
    with pytest.raises(PolicyError, match=said):
        report(tmp_path, CASES.replace(old, new, 1))
