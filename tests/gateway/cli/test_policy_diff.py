"""`policy diff` on real files: what changes, the exit status, the log that cannot be replayed."""

from __future__ import annotations

import json

from tests.gateway.replay.test_diff import AFTER
from tests.support.gate import POLICY, Gate


def test_changes_are_told_with_an_act_and_counted(gate: Gate) -> None:
    after = str(gate.write_policy(AFTER, "after.yaml"))
    status, out, _ = gate.cli("policy", "diff", str(gate.policy), after)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == (
        "loosened (rules): deny by default (default_decision) -> allow by web (rule_match)"
    )
    assert json.loads(lines[1].partition("shown by ")[2])["tool"] == "net.request"
    assert "differ, and no act was found that shows it: memory" in lines
    assert lines[-1] == "1 loosened, 2 tightened, 1 owes"


def test_exit_status_is_of_the_kinds_that_are_named(gate: Gate) -> None:
    after = str(gate.write_policy(AFTER, "after.yaml"))
    same = str(gate.write_policy(POLICY, "same.yaml"))
    for words, status in (
        ((str(gate.policy), after, "--fail-on", "loosened"), 2),
        ((str(gate.policy), after, "--fail-on", "loosened,tightened"), 2),
        ((str(gate.policy), same, "--fail-on", "loosened,tightened,owes"), 0),
        ((str(gate.policy), after, "--fail-on", "looser"), 1),
    ):
        assert gate.cli("policy", "diff", *words)[0] == status, words


def test_the_log_is_counted_and_nothing_of_it_is_judged_again(gate: Gate) -> None:
    gate.cli("check", "fs.read", "path=src/a.py")
    gate.cli("run", "fs.write", "path=out/x", "content=y")
    after = str(gate.write_policy(AFTER, "after.yaml"))
    _, out, _ = gate.cli("policy", "diff", "--json", "--log", str(gate.policy), after)
    shown = json.loads(out)
    assert shown["log"] == {"acts": 2, "not_replayed": 2, "by_rule": {"write": 1}}
    assert shown["counts"] == {"loosened": 1, "tightened": 2, "owes": 1}
    _, out, _ = gate.cli("policy", "diff", "--log", str(gate.policy), after)
    assert "log: 2 acts, none of which can be judged again (only digests are kept)" in out
    assert gate.kinds() == ["decision", "intent", "outcome"]


def test_a_trace_and_roots(gate: Gate) -> None:
    after = str(gate.write_policy(AFTER, "after.yaml"))
    trace = gate.top / "t.jsonl"
    trace.write_text(
        '{"event":"call","id":"w","request":{"tool":"fs.write","params":{"path":"out/x","content":"y"}}}\n'
    )
    _, out, _ = gate.cli("policy", "diff", "--json", "--trace", str(trace), str(gate.policy), after)
    assert [one["source"] for one in json.loads(out)["changes"]][-1] == "trace w"
    missing = gate.cli("policy", "diff", "--trace", "/no/such", str(gate.policy), after)
    assert (missing[0], "/no/such" in missing[2]) == (2, True)
    other = gate.write_policy(
        POLICY.replace("roots: {workspace", "roots: {elsewhere").replace(
            "${workspace}", "${elsewhere}"
        ),
        "o.yaml",
    )
    assert gate.cli("policy", "diff", str(gate.policy), str(other))[0] in {1, 2}
