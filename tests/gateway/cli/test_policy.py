"""`policy check` on real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.cli.main import main
from tests.support.gate import ROOT, Gate

GOOD = """\
version: 1
include: [team.yaml]
roots: {workspace: "."}
rules:
  - id: read
    effect: allow
    operations: [fs.read]
    resources: ["${workspace}/**"]
    examples:
      match: [{tool: fs.read, params: {path: a}}]
"""
ROOTLESS = (
    "version: 1\nrules: [{id: a, effect: allow, operations: [net.request], hosts: [a.example]}]\n"
)


def run(*argv: str) -> int:
    return main(["policy", "check", *argv])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    (tmp_path / "team.yaml").write_text("version: 1\n", encoding="utf-8")
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["default.yaml", "demo.yaml"])
def test_the_shipped_policies_are_good(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(ROOT / "policies" / name)) == 0
    assert "rules, policy-v1:sha256:" in capsys.readouterr().out


def test_a_refused_policy_is_told_with_its_line(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = good.with_name("bad.yaml")
    bad.write_text(GOOD.replace("effect: allow", "effect: permit"), encoding="utf-8")
    assert run(str(good), str(bad)) == 2
    said = capsys.readouterr()
    assert f"{good}: ok" in said.out
    assert said.err.startswith(f"{bad}:6: rules[0].effect: ")


def test_a_failed_example_is_refused(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good.write_text(GOOD.replace("path: a}", "path: /etc/passwd}"), encoding="utf-8")
    assert run("--json", str(good)) == 2
    (report,) = json.loads(capsys.readouterr().out)["files"]
    assert report["errors"][0]["line"] == 10
    assert "must be decided by read" in report["errors"][0]["message"]


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--json", str(tmp_path / "none.yaml")) == 2
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], said["files"][0]["ok"]) == (False, False)
    assert said["files"][0]["errors"][0]["message"] == "No such file or directory"


def test_no_file_is_usage() -> None:
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (('workspace: "."', 'workspace: "${nope}/x"'), "3: roots.workspace: unknown variable"),
        (('workspace: "."', 'workspace: "gone"'), "no such directory"),
        (('workspace: "."', 'workspace: "/"'), "the whole file system cannot be a root"),
        (("team.yaml", "gone.yaml"), "gone.yaml: No such file"),
        (("team.yaml", "../x.yaml"), "2: include[0]: an include is a relative path"),
        (("team.yaml", "link.yaml"), "link.yaml: "),
        (("version: 1\n", "version: 1\nversion: 1\n"), "2: duplicate"),
        (("version: 1\n", "version: 1\nsurprise: 1\n"), "2: surprise: "),
        (("    effect: allow\n", "    effect: deny\n    when: x\n"), "when"),
    ],
)
def test_what_is_wrong_is_told_where(
    good: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], word: str
) -> None:
    (good.parent / "link.yaml").symlink_to("/etc/hostname")
    good.write_text(GOOD.replace(*change), encoding="utf-8")
    assert run(str(good)) == 2
    assert word in capsys.readouterr().err


def test_a_layer_is_judged_under_the_registered_roots(gate: Gate) -> None:
    project = gate.workspace / ".counterfoil.yaml"
    project.write_text(
        "version: 1\ndefault: abstain\nroots: {workspace: .}\nrules:\n"
        '  - {id: a, effect: deny, operations: [fs.read], resources: ["${workspace}/x"]}\n'
    )
    status, out, err = gate.cli("policy", "check", str(project))
    assert (status, err) == (0, "")
    assert out.startswith(f"{project}: ok, 1 rules, policy-v1:")
    for role, wanted in (("user", 2), ("managed", 0), ("narrowing", 0), ("project", 0)):
        status, _, err = gate.cli("policy", "check", "--layer", role, str(project))
        assert status == wanted
        assert ("default: only a policy that narrows another may abstain" in err) is (wanted == 2)
    project.write_text(project.read_text().replace("${workspace}", "${elsewhere}"))
    status, _, err = gate.cli("policy", "check", str(project))
    assert (status, "unknown variable `${elsewhere}` (known: home, workspace)" in err) == (2, True)
    gate.config.unlink()
    assert gate.cli("policy", "check", str(project))[0] == 2
    project.write_text(project.read_text().replace("${elsewhere}", "${workspace}"))
    assert gate.cli("policy", "check", str(project))[0] == 0
    project.write_text(project.read_text().replace("roots: {workspace: .}\n", ""))
    status, _, err = gate.cli("policy", "check", str(project))
    assert (status, "roots: name at least one directory" in err) == (2, True)
