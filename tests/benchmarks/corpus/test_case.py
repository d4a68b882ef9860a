"""Cases are strict, and there are enough of them, a third benign."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from benchmarks.corpus.case import load

GOOD = (
    "cases:\n  - {id: a, kind: attack, title: t, steps: [{run: fs.read, is: deny fs_protected}]}\n"
)


def written(folder: Path, text: str) -> Path:
    (folder / "some.yaml").write_text(text, encoding="utf-8")
    return folder


def test_there_are_enough_cases_and_a_third_is_benign() -> None:
    cases = load()
    benign = [case for case in cases if case.kind == "benign"]
    assert len(cases) >= 250
    assert 3 * len(benign) >= len(cases)
    assert {case.policy for case in cases} == {"work", "open", "strict"}


def test_a_case_is_read_whole(tmp_path: Path) -> None:
    (case,) = load(written(tmp_path, GOOD))
    step = case.steps[0]
    assert (case.area, step.verb, step.tool) == ("some", "run", "fs.read")
    assert (step.effect, step.reason) == ("deny", "fs_protected")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: t", "title: t, colour: red"),
        ("kind: attack", "kind: other"),
        ("is: deny fs_protected", "is: deny"),
        ("is: deny fs_protected", "is: no fs_protected"),
        ("is: deny fs_protected", "is: deny because"),
        ("run: fs.read, ", ""),
        ("run: fs.read", "run: fs.read, check: fs.read"),
        ("steps: [{run: fs.read, is: deny fs_protected}]", "steps: []"),
        ("id: a", "id: A b"),
        ("title: t", "title: t, known: why"),
        ("is: deny fs_protected", "is: deny fs_protected, now: allow rule_match"),
    ],
)
def test_what_is_no_case_is_refused(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises((ValueError, ValidationError)):
        load(written(tmp_path, GOOD.replace(old, new)))


def test_an_id_is_there_once(tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    (tmp_path / "more.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ValueError, match="a is there twice"):
        load(tmp_path)
