"""The corpus holds at the Python door; the command runs every door and tells what fails."""

from __future__ import annotations

import json

import pytest

from benchmarks.corpus.case import load
from benchmarks.corpus.judge import Verdict
from scripts import run_corpus


def test_the_corpus_holds_at_the_python_door(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_corpus.main(["--door", "python", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["ok"]
    assert shown["failures"] == []
    counts = shown["doors"]["python"]
    assert counts["LOOSE"] == counts["WRONG"] == counts["mended"] == 0
    assert sum(counts.values()) == shown["cases"] == len(load())


def test_both_doors_over_one_area(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_corpus.main(["--only", "policy"]) == 0
    out = capsys.readouterr().out
    assert "python" in out
    assert "cli" in out
    assert out.splitlines()[-1].endswith("at python, cli: all as they must be")


def test_nothing_to_run_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_corpus.main(["--only", "no-such-case"]) == 1
    assert "no case" in capsys.readouterr().err


def test_a_failure_is_told_with_its_reason() -> None:
    case = next(case for case in load() if case.kind == "attack" and case.known is None)
    shown = run_corpus.report([Verdict(case=case, door="python", faults=("step 1: let through",))])
    assert not shown["ok"]
    assert shown["failures"] == [
        {"case": case.id, "door": "python", "is": "WRONG", "why": ["step 1: let through"]}
    ]
    assert shown["summary"].endswith("1 not as they must be")
