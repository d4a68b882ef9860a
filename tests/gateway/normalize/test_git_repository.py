"""Which repository git is told to use, and which are refused, with what they would do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.model.action import Refusal
from gateway.model.catalogue import RootPath
from gateway.model.names import Operation
from gateway.model.resource import PathResource
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
    assert "is no git directory" in refused(desk, "sub")


def test_a_git_directory_elsewhere_is_read_as_what_it_is(desk: Desk) -> None:
    desk.git("init", "-q", "private")
    desk.git("-C", "private", "commit", "-q", "--allow-empty", "-m", "theirs")
    desk.write({"bait/.git": "gitdir: ../private/.git\n"})
    repository = found(desk, "bait")
    assert isinstance(repository, Repository)
    assert [one.path for one in repository.elsewhere] == [f"{desk.ws}/private/.git"]
    assert f"{desk.ws}/private/.git" in {
        one.path
        for one in desk.ask("git log", "bait").resources
        if isinstance(one, PathResource) and one.operation == Operation.FS_READ
    }
    ours = found(desk)
    assert isinstance(ours, Repository)
    assert ours.elsewhere == ()


@pytest.mark.parametrize(
    "name", ["rebase-merge/head-name", "rebase-merge/done", "refs/heads/x", "worktrees/w/HEAD"]
)
def test_a_link_deep_among_the_files_is_refused(desk: Desk, name: str) -> None:
    link = desk.ws / ".git" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to("/etc/hostname")
    assert f"{name} is a symlink" in refused(desk)


@pytest.mark.parametrize(
    "name", ["shallow", "packed-refs", "BISECT_START", "info/grafts", "logs/x", "commondir"]
)
def test_a_second_name_of_another_file_is_refused(desk: Desk, name: str) -> None:
    desk.write({".env": "KEY=secret\n"})
    link = desk.ws / ".git" / name
    link.parent.mkdir(exist_ok=True)
    os.link(desk.ws / ".env", link)
    message = refused(desk)
    assert "another name (hard link)" in message
    assert "secret" not in message


def test_a_local_clone_shares_objects_by_hard_links(desk: Desk) -> None:
    desk.git("gc", "-q")
    desk.git("clone", "-q", "--local", str(desk.ws), str(desk.ws / "clone"))
    assert isinstance(found(desk, "clone"), Repository)


def test_the_files_of_a_submodule_are_judged_too(desk: Desk) -> None:
    desk.git("init", "-q", "module")
    desk.git("-C", "module", "commit", "-q", "--allow-empty", "-m", "x")
    desk.git("add", "module")
    assert isinstance(found(desk), Repository)
    assert desk.output("git status --short") == ""
    (desk.ws / "module" / ".git" / "packed-refs").symlink_to("/etc/hostname")
    assert "packed-refs is a symlink" in refused(desk)


def test_a_submodule_that_is_not_there_is_passed_over(desk: Desk) -> None:
    desk.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},gone")
    assert isinstance(found(desk), Repository)
