"""`policy lint` on real files: findings with lines and acts, exit status, the registered policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.cli.main import main
from tests.support.gate import ROOT, Gate

FAULTY = """\
version: 1
roots: {workspace: "."}
protected: ["**/.env", "**/.netrc", "**/.git-credentials", "**/.ssh", "**/.aws", "**/*.key"]
rules:
  - {id: read, effect: allow, operations: [fs.read], resources: ["${workspace}/**"]}
  - {id: never, effect: ask, operations: [fs.read], resources: ["${workspace}/src/*"]}
  - {id: open, effect: allow, operations: [net.request], hosts: ["*"]}
"""


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(FAULTY, encoding="utf-8")
    return path


def test_findings_are_told_with_line_and_act(
    faulty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policy", "lint", str(faulty)]) == 2
    first, shown, second, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{faulty}:6: error shadowed: never: read decides all it matches")
    assert json.loads(shown.partition("shown by ")[2])["tool"] == "fs.read"
    assert second.startswith(f"{faulty}:7: warning over-broad: open: ")
    assert last == "1 policies: 1 error, 1 warning, 0 info"


def test_only_errors_fail_unless_strict(faulty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = FAULTY.splitlines(keepends=True)
    faulty.write_text("".join(line for line in lines if "never" not in line), encoding="utf-8")
    assert main(["policy", "lint", str(faulty)]) == 0
    assert main(["policy", "lint", "--strict", str(faulty)]) == 2
    capsys.readouterr()
    assert main(["policy", "lint", "--json", str(faulty)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["ok"]
    assert [one["code"] for one in shown["findings"]] == ["over-broad"]


def test_a_policy_that_cannot_be_used_is_a_finding(
    faulty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty.write_text(FAULTY.replace("effect: ask", "effect: maybe"), encoding="utf-8")
    assert main(["policy", "lint", str(faulty)]) == 2
    assert f"{faulty}:6: error unusable: rules[1].effect" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["default.yaml", "demo.yaml"])
def test_the_shipped_policies_have_no_error(name: str) -> None:
    assert main(["policy", "lint", str(ROOT / "policies" / name)]) == 0


def test_the_starter_policy_is_clean() -> None:
    assert main(["policy", "lint", "--strict", str(ROOT / "policies/default.yaml")]) == 0


def test_without_a_file_the_registered_policy_is_meant(gate: Gate) -> None:
    status, out, _ = gate.cli("policy", "lint")
    assert status == 0
    assert out.endswith("info\n")
    assert gate.cli("policy", "lint", "--json")[0] == 0


def test_a_layer_stands_under_the_registered_roots(gate: Gate) -> None:
    project = gate.workspace / ".counterfoil.yaml"
    project.write_text(
        "version: 1\ndefault: abstain\nrules:\n"
        '  - {id: a, effect: deny, operations: [fs.read], resources: ["**/a/**"]}\n'
        '  - {id: b, effect: deny, operations: [fs.read], resources: ["${workspace}/a/b"]}\n',
        encoding="utf-8",
    )
    status, out, _ = gate.cli("policy", "lint", str(project))
    assert status == 0
    assert "info needless-deny: project:b: all it denies is denied without it, by project:a" in out
