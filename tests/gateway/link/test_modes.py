"""The modes at every door: observe lifts the policy's own denies alone, dry-run executes nothing."""

from __future__ import annotations

import json
import os

import pytest

from gateway import Guard
from tests.support.gate import Door, Gate


def configured(gate: Gate, mode: str) -> None:
    gate.configure(f"mode: {mode}\n")


@pytest.mark.parametrize("mode", ["enforce", "observe", "dry-run"])
def test_every_record_and_status_say_the_mode(gate: Gate, door: Door, mode: str) -> None:
    configured(gate, mode)
    door.check("fs.read", path="src/a.py")
    door.run("fs.read", path="src/a.py")
    door.run("fs.read", path=".env")
    assert {record["mode"] for record in gate.records()} == {mode}
    assert json.loads(gate.cli("status", "--json")[1])["mode"] == mode


def test_observe_lifts_what_the_policy_denies_and_says_so(gate: Gate, door: Door) -> None:
    configured(gate, "observe")
    for path, rule, reason in (
        ("src/a.py", "default", "default_decision"),
        ("out/keep/x", "keep", "rule_match"),
    ):
        seen = door.run("fs.write", path=path, content="x\n")
        assert seen.verdict == ("allow", rule, reason)
        assert seen.decision["would"] == "deny"
        assert seen.decision["message"].startswith("Mode observe: this would be denied.")
        assert (gate.workspace / path).read_text() == "x\n"
        intent, outcome = gate.records()[-2:]
        assert (intent["kind"], intent["effect"], intent["would"]) == ("intent", "allow", "deny")
        assert outcome["status"] == "done"
    seen = door.run("fs.read", path="src/a.py")
    assert "would" not in seen.decision
    assert "would" not in gate.records()[-1]


def test_observe_lifts_no_built_in_deny_no_ask_and_no_fault(gate: Gate, door: Door) -> None:
    configured(gate, "observe")
    os.link(gate.workspace / "src/a.py", gate.workspace / "src/b.py")
    (gate.workspace / ".claude").mkdir()
    for tool, params, reason in (
        ("fs.read", {"path": "src/b.py"}, "fs_hardlink"),
        ("fs.read", {"path": str(gate.config)}, "path_outside_roots"),
        ("fs.write", {"path": ".claude/settings.json", "content": "x"}, "self_protection"),
        ("fs.write", {"path": "notes/n.md", "content": "x"}, "approval_unavailable"),
        ("shell.run", {"argv": ["sleep", "0"]}, "approval_unavailable"),
        ("shell.run", {"command_line": "echo $(id)"}, "sh_syntax"),
        ("fs.format", {}, "tool_unknown"),
        ("fs.read", {"path": ".env"}, "fs_protected"),
        ("net.request", {"url": "http://evil.example.com/"}, "taint_session"),
    ):
        seen = door.run(tool, params)
        assert (seen.effect, seen.reason) == ("deny", reason), tool
        assert "would" not in seen.decision
    gate.policy.write_text("version: 1\n")
    assert door.run("fs.read", path="src/a.py").reason == "policy_invalid"


def test_dry_run_decides_and_records_and_executes_nothing(gate: Gate, door: Door) -> None:
    configured(gate, "dry-run")
    for tool, params, effect, status in (
        ("fs.write", {"path": "out/new.txt", "content": "x"}, "allow", 0),
        ("fs.delete", {"path": "out/old.txt"}, "allow", 0),
        ("fs.write", {"path": "notes/n.md", "content": "x"}, "ask", 3),
        ("fs.write", {"path": "src/a.py", "content": "x"}, "deny", 2),
    ):
        seen = door.run(tool, params)
        assert (seen.effect, seen.result) == (effect, None)
        assert seen.status in {status, None}
    assert (gate.workspace / "out/old.txt").exists()
    assert not (gate.workspace / "out/new.txt").exists()
    assert set(gate.kinds()) == {"decision"}


def test_anyone_may_ask_for_a_dry_run(gate: Gate) -> None:
    words = ["fs.write", "path=out/new.txt", "content=x", f"cwd={gate.workspace}"]
    status, out, err = gate.cli("run", "--dry-run", *words)
    assert (status, out) == (0, "")
    assert err.startswith("allow: fs.write by write")
    assert err.endswith("dry run: nothing was done\n")
    with Guard(config=str(gate.config), state_dir=str(gate.state_dir), dry_run=True) as guard:
        answer = guard.call("fs.delete", path=str(gate.workspace / "out/old.txt"))
    assert (answer.allowed, answer.ok) == (True, False)
    assert sorted(path.name for path in (gate.workspace / "out").iterdir()) == ["keep", "old.txt"]
    assert [record["mode"] for record in gate.records()] == ["dry-run", "dry-run"]


def test_no_request_chooses_the_mode(gate: Gate, door: Door) -> None:
    seen = door.run("fs.write", path="src/a.py", content="x", mode="observe")
    assert (seen.effect, seen.reason) == ("deny", "params_invalid")
    status, _, _ = gate.cli("run", "--mode", "observe", "fs.read", "path=src/a.py")
    assert status == 1
