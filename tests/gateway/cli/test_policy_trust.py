"""`policy trust`: a person at a terminal only, for the registered policy and a project's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.cli.main import main
from tests.support.gate import POLICY, Door, Gate
from tests.support.person import person

ROOTLESS = (
    "version: 1\nrules: [{id: a, effect: allow, operations: [net.request], hosts: [a.example]}]\n"
)
CONFIRM = "Enter alone denies: "
PROJECT = """\
version: 1
default: abstain
rules:
  - {id: net, effect: allow, operations: [net.request], hosts: [project.example.com]}
  - {id: none, effect: deny, operations: [fs.read], resources: ["${workspace}/src/a.py"]}
"""
URL = "http://project.example.com/"


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


@pytest.fixture
def project(gate: Gate) -> Path:
    path = gate.workspace / ".counterfoil.yaml"
    path.write_text(PROJECT)
    return path


def told(gate: Gate) -> list[dict[str, str]]:
    return list(json.loads(gate.cli("status", "--json")[1])["layers"])


def test_a_projects_policy_adds_only_what_a_person_trusted(gate: Gate, project: Path) -> None:
    door = Door(gate=gate, name="cli")
    assert door.check("net.request", url=URL).effect == "deny"
    assert [one["does"] for one in told(gate)] == ["decides", "not trusted, so it only narrows"]
    with person(gate.argv("policy", "trust", str(project))) as one:
        one.answer("yes", CONFIRM)
        assert one.ended() == (0, f"trusted {project}\n", "")
    assert "opens net.request: project:net (project.example.com)" in one.shown
    seen = door.check("net.request", url=URL)
    assert (seen.effect, seen.decision["rule"]) == ("allow", "project:net")
    assert door.check("fs.read", path="src/a.py").decision["rule"] == "project:none"
    assert told(gate)[1]["does"] == "adds what you trusted"
    assert gate.cli("policy", "trust", str(project))[1] == f"{project}: is trusted as it is\n"
    project.write_text(PROJECT.replace("project.example.com", "other.example.com"))
    for url in (URL, "http://other.example.com/"):
        assert door.check("net.request", url=url).effect == "deny"
    assert told(gate)[1]["does"] == "changed since you trusted it, so it only narrows"
    with person(gate.argv("policy", "trust", str(project))) as one:
        one.answer("yes", CONFIRM)
        assert one.ended()[0] == 0
    assert door.check("net.request", url="http://other.example.com/").effect == "allow"
    assert gate.config.read_text().count(str(project)) == 1


def test_trusting_a_project_needs_a_person_and_a_usable_file(gate: Gate, project: Path) -> None:
    before = gate.config.read_bytes()
    assert gate.process("policy", "trust", str(project), stdin=b"yes\n").returncode == 2
    elsewhere = gate.top / "elsewhere" / project.name
    elsewhere.parent.mkdir()
    elsewhere.write_text(PROJECT)
    status, _, err = gate.cli("policy", "trust", str(elsewhere))
    assert (status, f"is {project}" in err) == (2, True)
    project.write_text(PROJECT + "surprise: 1\n")
    status, _, err = gate.cli("policy", "trust", str(project))
    assert (status, f"{project}:6: surprise: unknown key" in err) == (2, True)
    project.write_text(
        PROJECT.replace(
            "hosts: [project.example.com]",
            "hosts: [a.example.com], examples: {match: [{tool: fs.read, params: {path: a}}]}",
        )
    )
    status, _, err = gate.cli("policy", "trust", str(project))
    assert (status, "must be decided by project:net" in err) == (2, True)
    project.unlink()
    status, _, err = gate.cli("policy", "trust", str(project))
    assert (status, "no such file" in err) == (2, True)
    assert gate.config.read_bytes() == before
