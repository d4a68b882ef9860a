"""`why`: one act's records, and the rule while the policy is still the same."""

from __future__ import annotations

import json

from tests.support.gate import POLICY, Door, Gate


def decided(gate: Gate, **params: str) -> str:
    words = [f"{name}={value}" for name, value in params.items()]
    _, out, _ = gate.cli("run", "--json", "fs.read", f"cwd={gate.workspace}", *words)
    return str(json.loads(out)["action_id"])


def test_an_executed_act_with_its_rule(gate: Gate):
    status, out, _ = gate.cli("why", decided(gate, path="src/a.py"))
    assert status == 0
    assert "intent" in out
    assert "outcome" in out
    assert "allow by read: a rule of the policy matched" in out
    assert f"rule read stands at {gate.policy}:8" in out


def test_a_builtin_and_the_default(gate: Gate):
    assert "builtin:protected is built in" in gate.cli("why", decided(gate, path=".env"))[1]
    Door(gate=gate, name="cli").check("fs.write", path="src/a.py", content="x")
    last = gate.records()[-1]["action_id"]
    assert (
        f"no rule matched, so {gate.policy} counts with `default: deny`" in gate.cli("why", last)[1]
    )


def test_under_a_policy_that_changed(gate: Gate):
    act = decided(gate, path="src/a.py")
    gate.register(POLICY.replace("id: look,", "id: looking,"))
    assert "decided under policy-v1:sha256:" in gate.cli("why", act)[1]


def test_as_json(gate: Gate):
    act = decided(gate, path="src/a.py")
    whole = json.loads(gate.cli("why", act, "--json")[1])
    assert [one["kind"] for one in whole["records"]] == ["intent", "outcome"]
    assert whole["rule"] == {"source": str(gate.policy), "line": 8}


def test_an_unknown_id(gate: Gate):
    status, _, err = gate.cli("why", "nope")
    assert (status, "no act 'nope'" in err) == (2, True)
