"""`explain`: the decision and every rule, and not a byte changed anywhere."""

from __future__ import annotations

import json
import time

import pytest

from tests.support.gate import ACTS, picture


@pytest.mark.parametrize(("tool", "params", "effect", "reason"), ACTS)
def test_it_says_what_check_says_and_leaves_no_trace(gate, tool, params, effect, reason):
    gate.with_apis()
    cwd = {"cwd": str(gate.workspace)} if tool.startswith(("fs.", "shell.")) else {}
    words = [f"{name}:={json.dumps(value)}" for name, value in {**params, **cwd}.items()]
    gate.cli("check", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    before = picture(gate.top)
    status, out, err = gate.cli("explain", "--json", tool, *words)
    assert picture(gate.top) == before
    assert (status, err) == ({"allow": 0, "deny": 2, "ask": 3}[effect], "")
    (shown,) = json.loads(out)
    assert (shown["decision"]["decision"], shown["decision"]["reason"]) == (effect, reason)


def test_naming_a_secret_leaves_no_trace_either(gate):
    before = picture(gate.top)
    status, out, _ = gate.cli("explain", "fs.read", "path=.env", f"cwd={gate.workspace}")
    assert status == 2
    assert "builtin:protected" in out
    assert picture(gate.top) == before
    assert "taint: none" in gate.cli("session", "show")[1]


def test_every_rule_is_shown_with_its_first_failing_condition(gate):
    _, out, _ = gate.cli("explain", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    assert f"{gate.workspace}/src/a.py (fs.read)" in out
    assert "keep [deny] fails, at `operations`" in out
    assert f"read [allow] matches  ({gate.policy}:8)" in out
    assert "=> allow by read" in out


def test_every_layer_is_explained(gate):
    narrow = gate.write_policy(
        'version: 1\nroots: {workspace: "WORKSPACE"}\n'
        "rules: [{id: none, effect: deny, operations: [fs.read]}]\n",
        "narrow.yaml",
    )
    words = ["--policy", str(narrow), "fs.read", "path=src/a.py", f"cwd={gate.workspace}"]
    status, out, _ = gate.cli("explain", "--json", *words)
    assert status == 2
    first, second = json.loads(out)
    assert (first["decision"]["decision"], second["decision"]["decision"]) == ("allow", "deny")


def test_without_a_standing_gate_nothing_is_explained(gate):
    (gate.state_dir / "keys/log.hmac").unlink()
    status, out, err = gate.cli("explain", "fs.read", "path=src/a.py")
    assert (status, out) == (2, "")
    assert "log.hmac: missing" in err


def test_a_rate_is_judged_by_the_clock_as_at_the_doors(gate):
    gate.register(
        "version: 1\nroots: {workspace: WORKSPACE}\nrules:\n"
        "  - {id: r, effect: allow, operations: [fs.read], limits: {rate: {count: 1, seconds: 1}}}\n"
    )
    assert gate.cli("run", "fs.read", f"path={gate.workspace}/src/a.py")[0] == 0
    time.sleep(1.1)
    assert gate.cli("explain", "fs.read", f"path={gate.workspace}/src/a.py")[0] == 0


def test_layers_have_a_heading_and_a_verdict_over_all(gate):
    (gate.workspace / ".counterfoil.yaml").write_text(
        "version: 1\ndefault: abstain\nrules:\n"
        "  - {id: n, effect: ask, operations: [fs.read], resources: ['${workspace}/src/**']}\n"
    )
    status, out, _ = gate.cli("explain", "fs.read", f"path={gate.workspace}/src/a.py")
    assert status == 3
    lines = out.splitlines()
    assert lines[0] == f"layer user, {gate.policy}"
    assert f"layer project, {gate.workspace}/.counterfoil.yaml" in lines
    assert lines[-1] == "all layers: ask"
