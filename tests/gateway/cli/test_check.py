"""`check`: one decision record, taint, no question, no execution."""

from __future__ import annotations

import json

from tests.support.gate import picture


def test_check_executes_nothing_and_records_one_decision(gate, door):
    before = picture(gate.workspace)
    seen = door.check("fs.write", path="out/x", content="x")
    assert seen.effect == "allow"
    assert door.check("fs.delete", path="out/old.txt").effect == "allow"
    assert picture(gate.workspace) == before
    assert gate.kinds() == ["decision", "decision"]


def test_check_asks_nobody(gate, door):
    assert door.check("fs.write", path="notes/x", content="x").effect == "ask"
    assert gate.kinds() == ["decision"]
    status, out, err = gate.cli("check", "shell.run", f"cwd={gate.workspace}", "--", "sleep", "0")
    assert (status, out) == (3, "")
    assert err.startswith("ask: shell.run by asked (rule_match): ")
    assert "No answer is not consent" in err


def test_check_taints(gate, door):
    assert door.check("fs.read", path=".env").reason == "fs_protected"
    assert door.check("net.request", url="http://docs.example.com/").reason == "taint_session"
    first, second = gate.records()
    assert first["taint"] == ["attempted"]
    assert "taint" not in second
    assert second["labels"] == ["attempted"]


def test_a_check_is_no_intent(gate):
    gate.cli("check", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    shown = json.loads(gate.cli("audit", "verify", "--json")[1])
    assert (shown["verdict"], shown["unresolved"]) == ("ok", [])


MANY = [
    {"tool": "fs.read", "params": {"path": "X/src/a.py"}, "id": "one"},
    {"tool": "fs.write", "params": {"path": "X/notes/n.md", "content": "x"}},
]


def many(gate, lines=MANY, *words):
    path = gate.top / "requests.jsonl"
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text.replace("X/", f"{gate.workspace}/"), encoding="utf-8")
    return gate.cli("check", "--requests", str(path), *words)


def test_many_requests_each_a_record(gate):
    status, out, err = many(gate)
    assert (status, err) == (2, "2 requests: 1 allow, 1 ask, 0 deny\n")
    assert out.splitlines()[0].startswith("1: allow: fs.read by read")
    assert gate.kinds() == ["decision", "decision"]


def test_fail_on_names_what_fails(gate):
    assert many(gate, MANY, "--fail-on", "deny")[0] == 0
    assert many(gate, MANY, "--fail-on", "allow")[0] == 2
    assert gate.cli("check", "--fail-on", "ask", "fs.read", f"path={gate.workspace}/.env")[0] == 0
    assert gate.cli("check", "--fail-on", "deny", "fs.read", f"path={gate.workspace}/.env")[0] == 2
    status, _, err = gate.cli("check", "--fail-on", "maybe", "fs.list")
    assert (status, "'maybe': write some of allow, ask, deny" in err) == (1, True)


def test_a_line_that_is_no_request_is_a_recorded_deny(gate):
    status, out, _ = many(gate, ["{bad", *MANY], "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 2
    assert [one["reason"] for one in found] == ["request_invalid", "rule_match", "rule_match"]
    assert [one.get("id") for one in found] == [None, "one", None]
    assert len(gate.records()) == 3


def test_without_a_gate_every_request_is_denied(gate):
    gate.policy.unlink()
    status, out, _ = many(gate)
    assert status == 2
    assert out.count("deny") == 2


def test_many_and_one_exclude_each_other(gate):
    assert gate.cli("check", "--requests", "x", "fs.read")[0] == 1
    status, _, err = gate.cli("check", "--requests", "/no/such/file")
    assert (status, "--requests /no/such/file: No such file" in err) == (1, True)
