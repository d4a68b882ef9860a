"""A compound line: what is submitted when, what is started, how the line goes on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.execute.compound import run_compound
from gateway.kit import canon
from gateway.model.decision import Obligations
from gateway.model.names import Status
from gateway.model.plan import RunCompound, Segment
from tests.gateway.execute.permits import Road, permit, picture


def line(text: str, cwd: Path) -> RunCompound:
    """Make a plan of a line of plain words."""
    words = re.split(r" (&&|\|\||\||;) ", text)
    segments = []
    for joiner, part in zip([None, *words[1::2]], words[::2], strict=True):
        argv = tuple(part.split())
        segments.append(
            Segment(joiner=joiner, argv=argv, cwd=str(cwd), digest=canon.digest(picture(argv)))
        )
    return RunCompound(segments=tuple(segments))


@pytest.fixture
def run(tmp_path: Path):
    (tmp_path / "data").write_text("b\na\n")

    def run_it(text: str, **more):
        owed = more.pop("owed", Obligations())
        road = Road(tmp_path, **more)
        plan = line(text, tmp_path)
        result = run_compound(plan, permit(plan, obligations=owed), road.submit, road.settle)
        return result, road

    return run_it


@pytest.mark.parametrize(
    ("text", "started", "status"),
    [
        ("true && true", ["true", "true"], 0),
        ("false && true", ["false"], 1),
        ("true || false", ["true"], 0),
        ("false || true", ["false", "true"], 0),
        ("false ; true", ["false", "true"], 0),
        ("false && true || true", ["false", "true"], 0),
        ("true || false && true", ["true", "true"], 0),
        ("false && true ; false", ["false", "false"], 1),
        ("false | true && true", ["false", "true", "true"], 0),
        ("true | false || true", ["true", "false", "true"], 0),
    ],
)
def test_joiners_mean_what_they_mean_in_a_shell(run, text, started, status):
    result, road = run(text)
    assert [event.split()[1] for event in road.events if event.startswith("submit")] == started
    assert result.status is Status.DONE
    assert result.data["exit_code"] == status
    assert result.reason == ("exit_status" if status else "done")
    assert len(result.data["segments"]) == len(re.split(r" (?:&&|\|\||\||;) ", text))


def test_a_whole_pipeline_is_submitted_before_any_of_it_starts(run):
    result, road = run("cat data | sort ; cat data")
    assert road.events == [
        "submit cat",
        "submit sort",
        "settle cat done",
        "settle sort done",
        "submit cat",
        "settle cat done",
    ]
    assert result.content == b"a\nb\nb\na\n"
    assert [one.content for one in road.settled] == [b"", b"a\nb\n", b"b\na\n"]
    assert road.released == 3


def test_a_denied_segment_starts_nothing_of_its_pipeline(run, tmp_path):
    result, road = run("touch made | sort", denied=["sort"])
    assert not (tmp_path / "made").exists()
    assert (result.status, result.reason) == (Status.NOT_STARTED, "default_decision")
    assert road.events == ["submit touch", "submit sort", "settle touch not_started"]
    assert road.settled[0].reason == "not_run"
    assert road.released == 1


@pytest.mark.parametrize("joiner", [";", "||", "&&"])
def test_a_denial_ends_the_line_whatever_joins_the_rest(run, tmp_path, joiner):
    result, road = run(f"cat data ; sort data {joiner} touch made", denied=["sort"])
    assert not (tmp_path / "made").exists()
    assert (result.status, result.reason) == (Status.FAILED, "default_decision")
    assert result.content == b"b\na\n"
    assert result.data["segments"][1] == {"denied": "default_decision", "rule": "a-rule"}
    assert "exit_code" not in result.data
    assert "submit touch" not in road.events


def test_a_segment_that_normalizes_to_something_else_is_not_started(tmp_path):
    plan = line("touch made", tmp_path)
    other = replace(plan.segments[0], digest=canon.digest("other"))
    plan = RunCompound(segments=(other,))
    road = Road(tmp_path)
    result = run_compound(plan, permit(plan), road.submit, road.settle)
    assert (result.status, result.reason) == (Status.NOT_STARTED, "changed_since_decision")
    assert road.settled[0].reason == "changed_since_decision"
    assert not (tmp_path / "made").exists()


def test_a_program_that_changed_settles_every_permit(run, tmp_path):
    def alter(plan):
        if plan.argv[0] == "sort":
            return replace(plan, executable=str(tmp_path / "gone"))
        return plan

    result, road = run("true ; touch made | sort", alter=alter)
    assert not (tmp_path / "made").exists()
    assert (result.status, result.reason) == (Status.FAILED, "changed_since_decision")
    assert [one.status for one in road.settled] == ["done", "not_started", "not_started"]
    assert road.released == 3


def test_the_cap_is_for_the_whole_line(run):
    result, road = run("cat data ; yes ; touch made", owed=Obligations(read_bytes=10))
    assert result.content == b"b\na\ny\ny\ny\n"
    assert (result.status, result.reason) == (Status.FAILED, "output_limit")
    assert result.truncated
    assert "submit touch" not in road.events


def test_a_tighter_limit_of_a_segment_counts(run):
    result, _ = run("yes | cat", obligations=Obligations(read_bytes=4))
    assert result.content == b"y\ny\n"
    assert result.reason == "output_limit"


def test_time_is_for_the_whole_line(tmp_path):
    plan = line("sleep 600 || touch made", tmp_path)
    road = Road(tmp_path)
    ticks = iter(range(10**6))
    result = run_compound(
        plan,
        permit(plan, obligations=Obligations(call_timeout_s=8)),
        road.submit,
        road.settle,
        monotonic=lambda: next(ticks),
    )
    assert (result.status, result.reason) == (Status.FAILED, "timeout")
    assert not (tmp_path / "made").exists()


def test_errors_stand_after_all_output(run):
    result, _ = run("cat none ; cat data")
    assert result.content.startswith(b"b\na\n")
    assert b"none" in result.content


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), ValueError("SECRET")])
def test_every_permit_is_settled_whatever_happens(tmp_path, monkeypatch, fault):
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("gateway.execute.compound.run_pipeline", fail)
    plan = line("true | cat ; touch made", tmp_path)
    road = Road(tmp_path)
    if isinstance(fault, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            run_compound(plan, permit(plan), road.submit, road.settle)
        reason = "cancelled"
    else:
        result = run_compound(plan, permit(plan), road.submit, road.settle)
        reason = "internal_error"
        assert (result.status, result.reason) == (Status.UNKNOWN, reason)
        assert "SECRET" not in result.message
    assert [one.reason for one in road.settled] == [reason, reason]
    assert not (tmp_path / "made").exists()
