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
