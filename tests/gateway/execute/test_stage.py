"""The stage: every plan reaches its executor, every fault is a result, a permit works once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.errors import InvariantError
from gateway.execute import stage
from gateway.execute.stage import Execute
from gateway.kit import canon, posix
from gateway.model.decision import Obligations
from gateway.model.names import Status
from gateway.model.plan import (
    CallApi,
    DeleteFile,
    ListDirectory,
    ReadFile,
    RunCompound,
    Segment,
    WriteFile,
)
from tests.gateway.execute.permits import Road, command, decision, permit, picture

CALL = CallApi(
    audience="a",
    api_operation="o",
    scope="s",
    method="GET",
    url="https://a/",
    body=None,
    arguments={},
)


@pytest.fixture
def directory(tmp_path: Path):
    (tmp_path / "file").write_text("text")
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield tmp_path, fd
    os.close(fd)


def execute(plan, **more):
    road = Road(Path("/"))
    return Execute(**more).execute(permit(plan), road.submit, road.settle)


def test_files(directory):
    path, fd = directory
    found = posix.identity((path / "file").stat())
    opened = os.open(path / "file", os.O_RDONLY)
    read = execute(ReadFile(fd=opened, path="file", identity=found))
    os.close(opened)
    assert read.content == b"text"
    assert execute(ListDirectory(fd=fd, path="d")).content == b"file\n"
    write = WriteFile(parent_fd=fd, name="new", path="new", content=b"1", existing=None)
    assert execute(write).status is Status.DONE
    assert (path / "new").read_bytes() == b"1"
    delete = DeleteFile(parent_fd=fd, name="file", path="file", existing=found)
    assert execute(delete).status is Status.DONE
    assert not (path / "file").exists()


def test_commands(tmp_path):
    plan = command(tmp_path, "echo", "hi")
    assert execute(plan).content == b"hi\n"
    os.close(plan.cwd_fd)
    argv = ("echo", "hi")
    segment = Segment(joiner=None, argv=argv, cwd="/", digest=canon.digest(picture(argv)))
    result = execute(RunCompound(segments=(segment,)))
    assert result.content == b"hi\n"


def test_a_fault_is_a_result(directory):
    path, fd = directory
    stale = posix.identity(path.stat())
    result = execute(DeleteFile(parent_fd=fd, name="file", path="file", existing=stale))
    assert (result.status, result.reason) == (Status.NOT_STARTED, "changed_since_decision")


@pytest.mark.parametrize("fault", [ValueError("SECRET"), MemoryError("SECRET")])
def test_no_fault_loses_the_outcome(directory, monkeypatch, fault):
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(stage.files, "list_directory", fail)
    result = execute(ListDirectory(fd=directory[1], path="d"))
    assert result.status is Status.UNKNOWN
    assert result.reason == "internal_error"
    assert "SECRET" not in result.message


def test_a_permit_is_good_for_one_execution(directory):
    one = permit(ListDirectory(fd=directory[1], path="d"))
    road = Road(Path("/"))
    Execute().execute(one, road.submit, road.settle)
    with pytest.raises(InvariantError):
        Execute().execute(one, road.submit, road.settle)


@pytest.mark.parametrize("plan", [None, CALL])
def test_what_cannot_be_carried_out_is_refused_before_and_not_started_after(plan):
    one = permit(plan)
    assert Execute().supports(one.action, one.decision) == "executor_unavailable"
    result = execute(plan)
    assert (result.status, result.reason) == (Status.NOT_STARTED, "executor_unavailable")


@pytest.mark.parametrize(
    ("owed", "expected"),
    [
        (Obligations(), None),
        (Obligations(min_tier="A"), "sandbox_unavailable"),
        (Obligations(network="proxy"), "sandbox_unavailable"),
    ],
)
def test_a_demanded_sandbox_is_not_there(tmp_path, owed, expected):
    plan = command(tmp_path, "true")
    os.close(plan.cwd_fd)
    action = permit(plan).action
    assert Execute().supports(action, decision(obligations=owed)) == expected
