"""The Python door: values, never raises for what a policy decides."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import gateway
from gateway import Guard
from gateway.model.names import Effect, Status
from tests.support.gate import ROOT, open_descriptors


@pytest.fixture
def guard(gate):
    with Guard(config=str(gate.config), state_dir=str(gate.state_dir)) as guard:
        yield guard


def test_check_and_call(gate, guard):
    where = {"cwd": str(gate.workspace)}
    decision = guard.check("fs.read", path="src/a.py", **where)
    assert (decision.effect, decision.rule) == (Effect.ALLOW, "read")
    answer = guard.call("fs.read", {"path": "src/a.py", **where})
    assert answer.ok
    assert (answer.result.status, answer.result.content) == (Status.DONE, b"print(1)\n")
    assert answer.action_id == gate.records()[-1]["action_id"]
    denied = guard.call("fs.read", path=".env", **where)
    assert (denied.ok, denied.allowed, denied.result) == (False, False, None)
    assert guard.call("shell.run", argv=["false"], **where).result.data["exit_code"] == 1


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("fs.read", {"path": b"bytes"}),
        ("fs.read", {"path": None}),
        ("fs.read", {"path": ["src/a.py"]}),
        ("fs.read", {"path": "\ud800"}),
        ("fs.read", {"path": "a", "cwd": 1}),
        ("fs.read", {1: "x"}),
        ("fs.read", {"path": float("nan")}),
        ("fs.read", {"path": 2**80}),
        ("", {}),
        (None, {}),
        (["fs.read"], {}),
        ("\ud800", {}),
        ("x" * 10_000, {}),
        ("fs.read\n", {"path": "src/a.py"}),
    ],
)
def test_hostile_values_are_denied_and_recorded(gate, guard, tool, params):
    answer = guard.call(tool, params)
    assert (answer.decision.effect, answer.result) == (Effect.DENY, None)
    assert guard.check(tool, params).effect is Effect.DENY
    assert gate.kinds() == ["denied", "decision"]
    json.dumps(answer.decision.to_json())


def test_a_self_referring_value_is_denied(guard):
    loop: list = []
    loop.append(loop)
    assert guard.call("mcp.call", server="s", tool="t", arguments={"x": loop}).decision.effect is (
        Effect.DENY
    )


def test_asks_without_a_person_are_denied(gate):
    where = {"config": str(gate.config), "state_dir": str(gate.state_dir)}
    with Guard(**where, approver="none") as guard:
        answer = guard.call("fs.write", path="notes/x", content="x", cwd=str(gate.workspace))
    assert (answer.decision.effect, answer.decision.reason) == (Effect.DENY, "approval_unavailable")
    with Guard(**where, approver="yes") as guard:  # type: ignore[arg-type]
        assert guard.call("fs.read", path="src/a.py").decision.reason == "config_invalid"


def test_a_gate_that_does_not_stand_denies_with_its_reason(tmp_path):
    with Guard(config=str(tmp_path / "none"), state_dir=str(tmp_path / "s")) as guard:
        assert guard.check("fs.read", path="x").reason == "config_invalid"
        answer = guard.call("fs.read", path="x")
    assert "run `counterfoil init`" in answer.decision.message
    assert answer.action_id is None
    assert list(tmp_path.iterdir()) == []


def test_a_fault_of_ours_while_opening_is_a_deny_without_its_text(gate, monkeypatch):
    def broken(options):
        raise OSError(f"a value nobody may see: {options}")

    monkeypatch.setattr("gateway.doors.python.connect", broken)
    with Guard(config=str(gate.config), state_dir=str(gate.state_dir)) as guard:
        decision = guard.check("fs.read", path="src/a.py")
    assert (decision.effect, decision.reason) == (Effect.DENY, "internal_error")
    assert "nobody may see" not in decision.message


def test_a_closed_guard_denies(gate):
    guard = Guard(config=str(gate.config), state_dir=str(gate.state_dir))
    guard.close()
    guard.close()
    answer = guard.call("fs.read", path="src/a.py", cwd=str(gate.workspace))
    assert (answer.decision.effect, answer.decision.reason) == (Effect.DENY, "internal_error")
    assert "closed" in answer.decision.message
    assert gate.kinds() == []


def test_it_gives_every_descriptor_back(gate):
    before = open_descriptors()
    with Guard(config=str(gate.config), state_dir=str(gate.state_dir)) as guard:
        guard.call("fs.read", path="src/a.py", cwd=str(gate.workspace))
        guard.check("fs.read", path="src/a.py", cwd=str(gate.workspace))
        guard.call("fs.read", path=".env", cwd=str(gate.workspace))
        guard.call("shell.run", argv=["ls", "src"], cwd=str(gate.workspace))
    assert open_descriptors() == before


def test_importing_the_package_is_cheap():
    program = (
        "import sys, gateway; print(sorted(m for m in sys.modules if m.startswith('gateway')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "['gateway']\n"
    assert gateway.Guard is Guard
    with pytest.raises(AttributeError, match="no attribute 'Gaurd'"):
        _ = gateway.Gaurd


def test_two_guards_share_one_log_and_one_taint(gate):
    where = {"config": str(gate.config), "state_dir": str(gate.state_dir)}
    with Guard(**where) as one, Guard(**where) as two:
        assert two.check("net.request", url="http://docs.example.com/").effect is Effect.ALLOW
        one.check("fs.read", path=".env", cwd=str(gate.workspace))
        assert two.check("net.request", url="http://docs.example.com/").reason == "taint_session"
    assert gate.cli("audit", "verify")[0] == 0
