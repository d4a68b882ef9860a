"""Which repository git is told to use, and which are refused, with what they would do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.model.action import Refusal
from gateway.model.catalogue import RootPath
from gateway.normalize import git_repository
from gateway.normalize.git_repository import Repository
from gateway.normalize.roots import Roots
from tests.gateway.normalize.desk import Desk, opened

pytestmark = pytest.mark.needs("git")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as desk:
        desk.repository({"a.txt": "one\n", "sub/b.txt": "two\n", "sub/deep/c.txt": "three\n"})
        yield desk


def found(desk: Desk, relative: str = ".") -> Repository | Refusal:
    roots = desk.settings.roots
    return git_repository.find(roots, desk.settings.guard, roots.first, relative)


def refused(desk: Desk, relative: str = ".") -> str:
    refusal = found(desk, relative)
    assert isinstance(refusal, Refusal), refusal
    assert refusal.reason == "git_repository"
    return refusal.message


def test_the_nearest_one_beneath_the_root(desk: Desk) -> None:
    for relative in (".", "sub", "sub/deep"):
        repository = found(desk, relative)
        assert isinstance(repository, Repository)
        assert repository.worktree == str(desk.ws)
        assert repository.git_dir == repository.common_dir == f"{desk.ws}/.git"
    names = git_repository.tracked(desk.settings.roots, desk.settings.guard, repository)
    assert names == ("a.txt", "sub/b.txt", "sub/deep/c.txt")


def test_none_above_the_root_counts(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        subprocess.run(["git", "init", "-q", str(desk.top)], check=True)
        assert "no .git at or above" in refused(desk)


def test_a_bare_repository_in_the_work_tree_is_not_taken_for_one(desk: Desk) -> None:
    desk.git("init", "-q", "--bare", "sub/bare")
    repository = found(desk, "sub/bare")
    assert isinstance(repository, Repository)
    assert repository.git_dir == f"{desk.ws}/.git"


def test_a_linked_work_tree(desk: Desk) -> None:
    desk.git("worktree", "add", "-q", "linked")
    repository = found(desk, "linked")
    assert isinstance(repository, Repository)
    assert repository.worktree == f"{desk.ws}/linked"
    assert repository.git_dir == f"{desk.ws}/.git/worktrees/linked"
    assert repository.common_dir == f"{desk.ws}/.git"
    assert desk.output("git status --short", "linked") == ""
    assert "one" in desk.output("git show HEAD:a.txt", "linked")


def test_a_linked_work_tree_is_judged_by_the_shared_configuration(desk: Desk) -> None:
    desk.git("worktree", "add", "-q", "linked")
    desk.git("config", "core.fsmonitor", "true")
    assert "core.fsmonitor" in refused(desk, "linked")


def test_its_own_configuration_counts_too(desk: Desk) -> None:
    desk.git("config", "extensions.worktreeConfig", "true")
    desk.git("config", "--worktree", "core.hooksPath", "x")
    assert "core.hookspath" in refused(desk)


def test_a_pointer_out_of_the_roots(desk: Desk, tmp_path: Path) -> None:
    outside = desk.top / "outside"
    desk.git("worktree", "add", "-q", str(outside))
    with Roots.open([RootPath(name="workspace", path=str(outside))]) as roots:
        refusal = git_repository.find(roots, desk.settings.guard, roots.first, ".")
    assert isinstance(refusal, Refusal)
    assert "outside every declared root" in refusal.message


@pytest.mark.parametrize("content", ["", "gitdir: \n", "elsewhere", "gitdir: /a\ngitdir: /b\n"])
def test_an_odd_pointer(desk: Desk, content: str) -> None:
    (desk.ws / "sub" / ".git").write_text(content)
    assert "not a plain" in refused(desk, "sub")


def test_a_shared_directory_out_of_the_roots(desk: Desk) -> None:
    (desk.ws / ".git" / "commondir").write_text("../../elsewhere\n")
    assert "commondir leads to" in refused(desk)


def test_symlinks_are_refused_by_name(desk: Desk) -> None:
    git = desk.ws / ".git"
    (desk.ws / "sub" / ".git").symlink_to("../.git")
    assert "symlink" in refused(desk, "sub")
    for name in ("config", "objects", "index", "HEAD"):
        (git / name).rename(desk.top / name)
        (git / name).symlink_to(desk.top / name)
        assert f"{name} is a symlink" in refused(desk)
        (git / name).unlink()
        (desk.top / name).rename(git / name)
    assert isinstance(found(desk), Repository)


def test_linked_hooks_do_not_matter(desk: Desk) -> None:
    hooks = desk.ws / ".git" / "hooks"
    hooks.rename(desk.top / "hooks")
    hooks.symlink_to(desk.top / "hooks")
    assert isinstance(found(desk), Repository)


def test_objects_from_elsewhere(desk: Desk) -> None:
    info = desk.ws / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text("/somewhere/objects\n")
    assert "alternates" in refused(desk)


def test_a_work_tree_elsewhere(desk: Desk) -> None:
    desk.git("config", "core.worktree", "/etc")
    assert "core.worktree" in refused(desk)
    desk.git("config", "core.worktree", str(desk.ws))
    assert isinstance(found(desk), Repository)
    desk.git("config", "core.worktree", "..")
    assert isinstance(found(desk), Repository)


def test_a_fifo_for_a_configuration_does_not_hang(desk: Desk) -> None:
    (desk.ws / ".git" / "config").unlink()
    os.mkfifo(desk.ws / ".git" / "config")
    assert "no plain file" in refused(desk)


def test_no_git_directory_that_can_be_read(desk: Desk) -> None:
    (desk.ws / "sub" / ".git").mkdir()
    repository = found(desk, "sub")
    assert isinstance(repository, Repository)  # git itself then says that it is none
    assert git_repository.tracked(desk.settings.roots, desk.settings.guard, repository) == ()
