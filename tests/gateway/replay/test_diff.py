"""Changes from rules, traces and the log; what cannot be shown is named."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gateway.assembly.build import options_from
from gateway.replay.diff import Change, from_log, from_rules, from_traces
from gateway.replay.stand import Session, standing
from gateway.replay.trace import read_trace
from tests.support.gate import POLICY, Gate

AFTER = (
    POLICY.replace("{id: write, effect: allow", "{id: write, effect: ask")
    .replace("hosts: [docs.example.com]", "hosts: [docs.example.com, more.example.com]")
    .replace("max_bytes: 100", "max_bytes: 50")
    .replace("{id: git-look, effect: allow", "{id: git-look, effect: allow, audit: metadata")
)


@pytest.fixture
def both(gate: Gate) -> Any:
    second = gate.write_policy(AFTER, "after.yaml")
    options = options_from(
        door="cli", policy=None, config=str(gate.config), state_dir=str(gate.state_dir)
    )
    with ExitStack() as stack:
        yield [stack.enter_context(standing(options, path)) for path in (gate.policy, second)]


def kinds(changes: list[Change]) -> set[tuple[str, str, str]]:
    return {(one.kind, one.before.rule, one.after.rule) for one in changes}


def test_changes_that_the_rules_show(both: list[Session]) -> None:
    changes, unseen = from_rules(*both, {"home": "/home/u"})
    assert kinds(changes) == {
        ("tightened", "write", "write"),
        ("loosened", "default", "web"),
        ("owes", "git-look", "git-look"),
    }
    assert unseen == ("memory",)
    assert all(one.source == "rules" and one.to_json()["request"] for one in changes)
    same, nothing = from_rules(both[0], both[0], {"home": "/home/u"})
    assert (same, nothing) == ([], ())


def test_changes_in_traces(both: list[Session], gate: Gate, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(
        '{"event":"call","id":"1","request":{"tool":"fs.read","params":{"path":"src/a.py"}}}\n'
        '{"event":"call","id":"2","request":{"tool":"fs.write","params":{"path":"out/x","content":"y"}}}\n'
        '{"event":"call","id":"3","server":"files","tool":"read_text_file","arguments":{"path":"a"}}\n'
        '{"event":"call","id":"4","request":{"tool":"memory.write","params":'
        '{"scope":"session","sensitivity":"low","content":"' + "x" * 60 + '"}}}\n'
    )
    with path.open("rb") as stream:
        trace = read_trace(stream, "t")
    changes = list(from_traces(*both, [trace], "deny"))
    assert [(one.source, one.kind) for one in changes] == [
        ("trace 2", "tightened"), ("trace 4", "tightened"),
    ]  # fmt: skip
    assert changes[0].request["params"] == {"path": "out/x", "content": "y"}
    approved = list(from_traces(*both, [trace], "approve"))
    assert [one.source for one in approved] == ["trace 2", "trace 4"]


def test_of_the_log_it_is_counted_what_rules_that_differ_decided(both: list[Session]) -> None:
    log = [
        {"kind": "intent", "rule_id": "write"},
        {"kind": "outcome", "rule_id": "write"},
        {"kind": "denied", "rule_id": "default"},
        {"kind": "decision", "rule_id": "web"},
        {"kind": "intent", "rule_id": "write"},
        {"kind": "recovered"},
    ]
    counted = from_log(*both, log)
    assert (counted.acts, counted.by_rule) == (4, {"write": 2, "web": 1})
