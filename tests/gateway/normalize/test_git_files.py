"""A repository's own files: plain ones only, and no act on a file changes one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.model.action import Refusal
from gateway.model.request import ActionRequest
from gateway.normalize import git_files
from gateway.normalize.files import delete_file, list_directory, read_file, write_file
from tests.gateway.normalize.desk import Desk, open_descriptors, opened

pytestmark = pytest.mark.needs("git")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as desk:
        desk.repository({"a.txt": "one\n"})
        yield desk


def plain(desk: Desk) -> str:
    fd = os.open(desk.ws / ".git", os.O_RDONLY | os.O_DIRECTORY)
    try:
        refusal = git_files.plain(fd, ".git")
    finally:
        os.close(fd)
    return "" if refusal is None else refusal.message


def written(desk: Desk, path: str, *, delete: bool = False) -> str:
    params = {"path": path} if delete else {"path": path, "content": "x"}
    request = ActionRequest(tool="fs.delete" if delete else "fs.write", params=params)
    action = (delete_file if delete else write_file)(request, desk.settings)
    action.release()
    return "" if action.refusal is None else action.refusal.reason


def test_a_plain_repository(desk: Desk) -> None:
    assert plain(desk) == ""


def test_a_fifo_is_refused(desk: Desk) -> None:
    os.mkfifo(desk.ws / ".git" / "refs" / "wait")
    assert plain(desk) == ".git/refs/wait is no plain file"


def test_what_git_does_not_read_may_be_anything(desk: Desk) -> None:
    for name in ("hooks", "lfs", "annex", "modules"):
        directory = desk.ws / ".git" / name
        directory.mkdir(exist_ok=True)
        (directory / "link").symlink_to("/etc/hostname")
    assert plain(desk) == ""


def test_a_list_of_commit_graphs_is_text(desk: Desk) -> None:
    desk.write({".env": "KEY=secret\n"})
    graphs = desk.ws / ".git" / "objects" / "info" / "commit-graphs"
    graphs.mkdir(parents=True)
    os.link(desk.ws / ".env", graphs / "commit-graph-chain")
    assert "hard link" in plain(desk)


@pytest.mark.parametrize(
    "path",
    [".git/config", ".git/hooks/pre-commit", ".git/index", "sub/.git", ".GIT/config", ".git"],
)
def test_nothing_is_written_or_deleted_in_a_git_directory(desk: Desk, path: str) -> None:
    for name in ("sub", ".GIT"):
        (desk.ws / name).mkdir()
    before = open_descriptors()
    assert written(desk, path) in {"git_repository", "fs_not_regular"}
    assert written(desk, path, delete=True) in {"git_repository", "fs_not_regular"}
    assert open_descriptors() == before


@pytest.mark.parametrize("holds", ["objects", "commondir"])
def test_a_git_directory_by_another_name(desk: Desk, holds: str) -> None:
    bare = desk.ws / "bare"
    (bare / "deep").mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    assert written(desk, "bare/config") == ""
    (bare / holds).mkdir()
    assert written(desk, "bare/config") == "git_repository"
    assert written(desk, "bare/deep/file") == "git_repository"
    assert written(desk, "bare/HEAD", delete=True) == "git_repository"
    assert written(desk, "a.txt") == ""


def test_names_that_only_look_like_it(desk: Desk) -> None:
    (desk.ws / ".github").mkdir()
    for path in (".github/x.yml", ".gitignore", ".gitattributes", "HEAD"):
        assert written(desk, path) == ""


def test_a_path_whose_parents_moved_away_is_refused(desk: Desk) -> None:
    refusal = git_files.belongs(desk.settings.roots.first.fd, "gone/deep/file")
    assert isinstance(refusal, Refusal)


def test_stored_objects_are_not_read_as_files(desk: Desk) -> None:
    """A protected file that was committed once is there, under no name a rule could know."""
    blob = desk.git("rev-parse", "HEAD:a.txt").strip()
    path = f".git/objects/{blob[:2]}/{blob[2:]}"
    (desk.ws / "link").symlink_to(path)
    for name in (path, "link"):
        action = read_file(ActionRequest(tool="fs.read", params={"path": name}), desk.settings)
        assert action.refusal is not None
        assert action.refusal.reason == "git_repository"
        for argv in (["cat", name], ["grep", "-a", "x", name], ["head", "-c", "9", name]):
            assert desk.reason(argv) == "git_repository"
    assert desk.reason("grep -ra one .") == "git_repository"
    assert "a.txt:one" in desk.output("grep -ra --exclude-dir=.git one .")
    assert "a.txt:one" in desk.output("grep -r one .")
    params = {"path": ".git/objects"}
    listed = list_directory(ActionRequest(tool="fs.list", params=params), desk.settings)
    listed.release()
    assert listed.refusal is None


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("/ws/.git/objects/ab/cd", True),
        ("/ws/.GIT/Objects/pack/x.pack", True),
        ("/ws/.git/modules/m/objects/ab/cd", True),
        ("/ws/objects/.git/config", False),
        ("/ws/src/objects/x", False),
    ],
)
def test_what_is_a_stored_object(path: str, is_one: bool) -> None:
    assert git_files.is_object(path) is is_one
