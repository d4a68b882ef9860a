"""`counterfoil policy check` on real files: exit status, lines, JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from gateway.cli.policy import load_policy, register

DEFAULT = Path(__file__).parents[3] / "policies" / "default.yaml"
GOOD = """\
version: 1
include: [team.yaml]
roots: {workspace: ".", notes: "${home}/notes"}
rules:
  - id: read
    effect: allow
    operations: [fs.read]
    resources: ["${workspace}/**"]
    examples:
      match: [{tool: fs.read, params: {path: a}}]
"""


def run(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    register(parser.add_subparsers())
    arguments = parser.parse_args(["policy", "check", *argv])
    status: int = arguments.run(arguments)
    return status


@pytest.fixture
def good(tmp_path: Path) -> Path:
    (tmp_path / "team.yaml").write_text("version: 1\n", encoding="utf-8")
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_the_starter_policy_is_good(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(DEFAULT)) == 0
    assert "ok, 4 rules, policy-v1:sha256:" in capsys.readouterr().out


def test_roots_are_resolved_beside_the_file(good: Path) -> None:
    policy = load_policy(good)
    assert policy.roots["workspace"] == str(good.parent.resolve())
    assert policy.roots["notes"].endswith("/notes")
    assert policy.document.files == (str(good), str(good.parent / "team.yaml"))


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


def test_a_file_that_cannot_be_read_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--json", str(tmp_path / "none.yaml")) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], said["files"][0]["ok"]) == (False, False)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("${home}/notes", "${nope}/x"), "3: roots.notes: unknown variable"),
        (("team.yaml", "gone.yaml"), "gone.yaml: No such file"),
        (("team.yaml", "../x.yaml"), "2: include[0]: an include is a relative path"),
        (("team.yaml", "link.yaml"), "leaves the policy's directory"),
    ],
)
def test_what_a_file_refers_to_must_be_there_and_inside(
    good: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], word: str
) -> None:
    (good.parent / "link.yaml").symlink_to("/etc/hostname")
    good.write_text(GOOD.replace(*change), encoding="utf-8")
    assert run(str(good)) == 2
    assert word in capsys.readouterr().err
