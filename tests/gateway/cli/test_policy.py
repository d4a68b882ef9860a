"""`policy check` on real files; `policy trust` by a person at a terminal only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.cli.main import main
from tests.support.gate import POLICY, ROOT, Door, Gate
from tests.support.person import person

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
CONFIRM = "Enter alone denies: "


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


def loosened(gate: Gate) -> None:
    gate.write_policy(POLICY.replace("id: web, effect: allow", "id: web, effect: deny"))


def test_an_edited_policy_denies_until_a_person_trusts_it(gate: Gate) -> None:
    loosened(gate)
    for name in ("python", "cli"):
        for verb in ("check", "run"):
            seen = getattr(Door(gate=gate, name=name), verb)("fs.read", path="src/a.py")
            assert seen.verdict == ("deny", "builtin:fault", "policy_digest_mismatch")
            assert "counterfoil policy trust" in seen.decision["message"]
    assert gate.kinds() == []
    with person(gate.argv("policy", "trust")) as one:
        one.answer("yes", CONFIRM)
        status, out, err = one.ended()
    assert (status, out, err) == (0, f"registered {gate.policy}\n", "")
    assert one.shown.count("policy-v1:sha256:") == 2
    door = Door(gate=gate, name="cli")
    assert door.check("fs.read", path="src/a.py").effect == "allow"
    assert door.check("net.request", url="http://docs.example.com/").effect == "deny"
    status, out, _ = gate.cli("policy", "trust")
    assert (status, out) == (0, f"{gate.policy}: is registered as it is\n")


def test_nobody_but_a_person_trusts(gate: Gate) -> None:
    before = gate.config.read_bytes()
    loosened(gate)
    done = gate.process("policy", "trust", stdin=b"yes\n")
    assert done.returncode == 2
    assert b"approval_unavailable" in done.stderr
    with person(gate.argv("policy", "trust")) as one:
        one.answer("no", CONFIRM)
        assert one.ended()[0] == 2
    assert gate.config.read_bytes() == before


def test_another_file_can_be_registered_and_a_broken_one_cannot(gate: Gate) -> None:
    other = gate.write_policy(POLICY.replace("id: web", "id: net"), "other.yaml")
    with person(gate.argv("policy", "trust", str(other))) as one:
        one.answer("yes", CONFIRM)
        assert one.ended()[0] == 0
    assert str(other) in gate.config.read_text(encoding="utf-8")
    seen = Door(gate=gate, name="python").check("net.request", url="http://docs.example.com/")
    assert seen.decision["rule"] == "net"
    examples = "operations: [fs.read, fs.list], examples: {match: [{tool: fs.write, params: {}}]}"
    for text, word in [
        ("version: 1\n", "rules: missing"),
        (ROOTLESS, "roots: name at least one directory"),
        (POLICY.replace("WORKSPACE", str(gate.top)), "lies beneath the root"),
        (POLICY.replace("operations: [fs.read, fs.list]", examples), "example"),
    ]:
        broken = gate.write_policy(text, "broken.yaml")
        status, _, err = gate.cli("policy", "trust", str(broken))
        assert status == 2
        assert word in err


def test_nothing_is_trusted_before_init(tmp_path: Path) -> None:
    words = ["--config", str(tmp_path / "c"), "--state-dir", str(tmp_path / "s")]
    assert main(["policy", "trust", *words]) == 2
