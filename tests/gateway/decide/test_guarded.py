"""Files that start programs outside the gate: read as ever, changed by a person only."""

from __future__ import annotations

import pytest

from gateway.decide.guarded import GUARDED
from tests.gateway.decide.build import ROOT, act, decide, decider, file, rule, said

JUDGE = decider(rule("files", "allow", "fs.read", "fs.list", "fs.write", "fs.delete"))
SAMPLES = [glob.removeprefix("**/").replace("*", ".local") for glob in GUARDED]


@pytest.mark.parametrize("operation", ["fs.write", "fs.delete"])
@pytest.mark.parametrize("name", SAMPLES)
def test_no_rule_allows_a_change(name: str, operation: str) -> None:
    for path in (f"{ROOT}/{name}", f"{ROOT}/a/b/{name.upper()}", f"{ROOT}/{name}/x/y"):
        decision = decide(JUDGE, file(path, operation))
        assert said(decision) == ("deny", "builtin:self-protection", "self_protection")
        assert "only a person changes it" in decision.message
        assert not decision.taint


@pytest.mark.parametrize("name", SAMPLES)
def test_reading_is_the_policys(name: str) -> None:
    for operation in ("fs.read", "fs.list"):
        assert decide(JUDGE, file(f"{ROOT}/{name}", operation)).effect.word == "allow"


def test_another_name_of_a_guarded_file_counts() -> None:
    linked = file(f"{ROOT}/plain.json", "fs.write", also=(f"{ROOT}/.mcp.json",))
    assert decide(JUDGE, linked).reason == "self_protection"


@pytest.mark.parametrize(
    "name", [".gitignore", ".github/workflows/ci.yaml", ".claude/notes.md", "settings.json", "AGENTS.md",
             ".vscode/launch.txt", "codex/x", "git/hooks/pre-commit"],
)  # fmt: skip
def test_a_neighbour_is_written_as_ever(name: str) -> None:
    assert decide(JUDGE, file(f"{ROOT}/{name}", "fs.write")).effect.word == "allow"


def test_one_guarded_file_among_many_denies_the_act() -> None:
    many = act(file(f"{ROOT}/a", "fs.write"), file(f"{ROOT}/.git/hooks/pre-commit", "fs.write"))
    assert decide(JUDGE, *many.resources).reason == "self_protection"
