"""git: what works, what never runs, what is reached. Each attack is shown to work on plain git."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gateway.model.names import Operation
from gateway.model.resource import PathResource
from gateway.normalize import walk
from tests.gateway.normalize.desk import Desk, open_descriptors, opened, within

pytestmark = pytest.mark.needs("git")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as desk:
        desk.repository({"README.md": "one\n", "src/a.py": "foo\n", "docs/x.txt": "x\n"})
        desk.write({"src/a.py": "foo\nbar\n"})
        desk.git("commit", "-qam", "second")
        desk.write({"README.md": "one\ntwo\n", "new.txt": "n\n"})
        yield desk


@pytest.fixture
def canary(desk: Desk) -> Path:
    """A program that shows it ran by making a file."""
    program = desk.top / "program"
    program.write_text(f"#!/bin/sh\ntouch '{desk.top}/ran'\ncat\n")
    program.chmod(0o755)
    return program


def ran(desk: Desk) -> bool:
    mark = desk.top / "ran"
    happened = mark.exists()
    mark.unlink(missing_ok=True)
    return happened


def plain(desk: Desk, *words: str, **environment: str) -> bytes:
    """What git does when nobody stands in between."""
    done = subprocess.run(
        ["git", *words],
        cwd=desk.ws,
        env={"PATH": "/usr/bin:/bin", "HOME": str(desk.top), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("git status", "modified:   README.md"),
        ("git status --short", "?? new.txt"),
        ("git status src", "modified"),
        ("git log --oneline -5", "second"),
        ("git log --oneline", "first"),
        ("git log --format='%h %s' -1", "second"),
        ("git log -p -1", "+bar"),
        ("git log --oneline -- src", "second"),
        ("git log --oneline main", "first"),
        ("git log HEAD~1..HEAD --oneline", ""),
        ("git diff", "+two"),
        ("git diff HEAD~1 -- src/a.py", "+bar"),
        ("git diff HEAD~1..HEAD", "+bar"),
        ("git diff --stat", "README.md | 1 +"),
        ("git diff --cached", ""),
        ("git show", "+bar"),
        ("git show HEAD~1", "first"),
        ("git show HEAD:README.md", "one"),
        ("git show --stat HEAD", "a.py"),
        ("git branch", "* main"),
        ("git branch -a", "* main"),
        ("git branch --show-current", "main"),
        ("git branch --list 'ma*'", "* main"),
        ("git branch --contains HEAD~1", "main"),
    ],
)
def test_ordinary_forms_run(desk: Desk, line: str, part: str) -> None:
    if line == "git log HEAD~1..HEAD --oneline":
        assert desk.reason(line) == "sh_option"  # options come first
        return
    if line == "git status src":
        assert part not in desk.output(line)
        return
    assert part in desk.output(line)


def test_it_is_git_read_on_the_work_tree(desk: Desk) -> None:
    action = desk.ask("git status")
    assert action.operation is Operation.GIT_READ
    assert within(desk, action, "fs.list") == {"."}
    assert within(desk, action, "fs.read") == set()
    assert desk.output("git status --short .", "src") == ""


@pytest.mark.parametrize("line", ["git diff", "git show", "git log -p", "git log -Sfoo"])
def test_what_shows_content_reaches_every_tracked_file(desk: Desk, line: str) -> None:
    assert desk.reached(line) == {".", "README.md", "src/a.py", "docs/x.txt"}


def test_paths_narrow_what_is_reached(desk: Desk) -> None:
    assert desk.reached("git diff HEAD~1 -- src") == {"src", "src/a.py"}
    assert desk.reached("git diff -- README.md") == {"README.md"}
    assert desk.reached("git log --oneline -- gone.txt", "fs.list") == {".", "gone.txt"}
    assert desk.reached("git show HEAD~1:src/a.py") == {"src/a.py"}
    assert desk.reached("git log --stat") == desk.reached("git diff --name-only") == set()
    assert desk.reached("git diff -- .") == {".", "README.md", "src/a.py", "docs/x.txt"}


@pytest.mark.parametrize(
    "line",
    [
        "git show HEAD:.env",
        "git show HEAD~1:conf/.env",
        "git diff -- .env",
        "git log --oneline -- .env",
        "git status conf/.env",
    ],
)
def test_naming_a_protected_file_is_seen(desk: Desk, line: str) -> None:
    action = desk.ask(line)
    assert any(getattr(one, "path", "").endswith("/.env") for one in action.resources)


@pytest.mark.parametrize("line", ["git diff", "git show", "git log -p"])
def test_a_tracked_protected_file_is_reached(desk: Desk, line: str) -> None:
    desk.repository({".env": "KEY=1\n"})
    assert ".env" in desk.reached(line)


@pytest.mark.parametrize(
    "line",
    ["git log -p", "git show HEAD~1", "git show", "git diff HEAD~1..HEAD", "git diff HEAD~1"],
)
def test_a_protected_file_that_is_only_in_history_is_left_out(desk: Desk, line: str) -> None:
    desk.write({".env": "KEY=hunter2\n", "conf/.env": "KEY=hunter2\n", "conf/.ENV": "hunter2"})
    desk.git("add", "-f", ".env", "conf")
    desk.git("commit", "-qm", "oops")
    desk.git("rm", "-q", "--cached", ".env", "conf/.env", "conf/.ENV")
    desk.git("commit", "-qm", "removed")
    assert b"hunter2" in plain(desk, *line.split()[1:])
    assert "hunter2" not in desk.output(line)


def test_a_file_cannot_be_named_by_its_object(desk: Desk) -> None:
    blob = desk.git("rev-parse", "HEAD:README.md").strip()
    tree = desk.git("rev-parse", "HEAD:src").strip()
    assert b"one" in plain(desk, "show", blob)
    for name in (blob, blob[:10], tree):
        plan = desk.plan(f"git show {name}")
        done = subprocess.run(
            plan.argv, env=dict(plan.environment), cwd=desk.ws, capture_output=True, check=False
        )
        assert done.returncode != 0
        assert b"one" not in done.stdout


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("git push", "git_subcommand"),
        ("git commit -m x", "git_subcommand"),
        ("git config --list", "git_subcommand"),
        ("git", "git_subcommand"),
        ("git difftool", "git_subcommand"),
        ("git upload-pack .", "git_subcommand"),
        ("git -C /etc status", "sh_option"),
        ("git -c core.pager=x log", "sh_option"),
        ("git --git-dir=/x log", "sh_option"),
        ("git --work-tree=/x status", "sh_option"),
        ("git --exec-path=/x status", "sh_option"),
        ("git -p log", "sh_option"),
        ("git branch new", "sh_operand"),
        ("git branch --show-current x", "sh_operand"),
        ("git branch --list 'a b;c'", "sh_operand"),
        ("git diff src/a.py", "sh_operand"),
        ("git log README.md", "sh_operand"),
        ("git diff HEAD:README.md HEAD:src/a.py", "sh_operand"),
        ("git show HEAD:../x", "sh_operand"),
        ("git show HEAD:./x", "sh_operand"),
        ("git show HEAD:/x", "sh_operand"),
        ("git show HEAD:", "path_empty"),
        ("git show 'HEAD:a\"b'", ""),
        ("git diff -- /etc/passwd /etc/hosts", "path_outside_roots"),
        ("git diff -- ../x", "path_outside_roots"),
        ("git diff -- ':(top)x'", "path_colon"),
        ("git diff -- ':!x'", "path_colon"),
    ],
)
def test_other_forms_are_refused(desk: Desk, line: str, reason: str) -> None:
    if not reason:
        assert desk.ask(line).refusal is None  # an odd name, matched literally
        return
    assert desk.reason(line) == reason


def test_operations_of_what_is_refused(desk: Desk) -> None:
    assert desk.ask("git push").operation is Operation.GIT_REMOTE
    assert desk.ask("git commit").operation is Operation.GIT_WRITE
    assert desk.ask("git frobnicate").operation is Operation.UNKNOWN
    assert "status, diff, show, log, branch" in desk.ask("git frobnicate").refusal.message  # type: ignore[union-attr]


def executes(desk: Desk, *words: str, **environment: str) -> None:
    plain(desk, *words, **environment)
    assert ran(desk), "the attack does not even work on plain git"


def check(desk: Desk, words: Sequence[str], key: str) -> None:
    """The same words through the gateway: refused by the key's name, and nothing ran."""
    refusal = desk.ask(["git", *words]).refusal
    assert refusal is not None
    assert refusal.reason == "git_repository"
    assert key in refusal.message
    assert not ran(desk)


def test_a_filter_of_the_repository(desk: Desk, canary: Path) -> None:
    desk.write({".gitattributes": "*.md filter=x\n"})
    desk.git("config", "filter.x.clean", str(canary))
    (desk.ws / "README.md").write_text("changed\n")
    executes(desk, "diff")
    check(desk, ["diff"], "filter.x.clean")
    check(desk, ["status"], "filter.x.clean")


def test_a_textconv_of_the_repository(desk: Desk, canary: Path) -> None:
    desk.write({".gitattributes": "*.md diff=x\n"})
    desk.git("config", "diff.x.textconv", str(canary))
    executes(desk, "diff")
    check(desk, ["diff"], "diff.x.textconv")


def test_an_external_diff_of_the_repository(desk: Desk, canary: Path) -> None:
    desk.git("config", "diff.external", str(canary))
    executes(desk, "diff")
    check(desk, ["diff"], "diff.external")


def test_an_fsmonitor_of_the_repository(desk: Desk, canary: Path) -> None:
    desk.git("config", "core.fsmonitor", str(canary))
    executes(desk, "status")
    check(desk, ["status"], "core.fsmonitor")


def test_a_hook_on_a_path_of_the_repository(desk: Desk, canary: Path) -> None:
    canary.rename(desk.top / "post-index-change")
    desk.git("config", "core.hooksPath", str(desk.top))
    (desk.ws / "src" / "a.py").touch()
    executes(desk, "status")
    check(desk, ["status"], "core.hookspath")


def test_a_hook_in_its_usual_place_does_not_run(desk: Desk, canary: Path) -> None:
    hooks = desk.ws / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    canary.rename(hooks / "post-index-change")
    os.utime(desk.ws / "src" / "a.py", (1, 1))
    executes(desk, "status")
    os.utime(desk.ws / "src" / "a.py", (2, 2))
    desk.output("git status")
    assert not ran(desk)


def test_a_signature_program_of_the_repository(desk: Desk, canary: Path) -> None:
    desk.git("config", "gpg.program", str(canary))
    commit = desk.git("cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    made = subprocess.run(
        ["git", "-C", str(desk.ws), "hash-object", "-t", "commit", "-w", "--stdin"],
        input=commit.encode(),
        capture_output=True,
        check=True,
    )
    name = made.stdout.decode().strip()
    executes(desk, "log", "-1", "--format=%G?", name)
    check(desk, ["log", "-1", name], "gpg.program")
    desk.git("config", "--unset", "gpg.program")
    assert desk.reason(["git", "log", "-1", "--format=%G?", name]) == "sh_option"


def test_an_included_configuration(desk: Desk, canary: Path) -> None:
    desk.write({"more.config": f"[core]\nfsmonitor = {canary}\n"})
    desk.git("config", "include.path", "../more.config")
    executes(desk, "status")
    check(desk, ["status"], "include.path")


def test_a_configuration_of_a_submodule_is_never_reached(desk: Desk, canary: Path) -> None:
    sub = desk.ws / "sub"
    for words in (["init", "-q", "sub"], ["-C", "sub", "commit", "-q", "--allow-empty", "-m", "x"]):
        desk.git(*words)
    desk.git("-c", "advice.addEmbeddedRepo=false", "add", "sub")
    desk.git("commit", "-qm", "sub")
    (sub / "f").write_text("x\n")
    desk.git("-C", "sub", "add", "f")
    desk.git("-C", "sub", "commit", "-qm", "f")
    (sub / ".gitattributes").write_text("f filter=x\n")
    (sub / "f").write_text("y\n")
    desk.git("-C", "sub", "config", "filter.x.clean", str(canary))
    executes(desk, "status")
    executes(desk, "diff")
    for line in ("git status", "git diff", "git diff HEAD", "git show", "git log -p"):
        desk.output(line)
        assert not ran(desk), line
    refusal = desk.ask("git status", "sub").refusal
    assert refusal is not None
    assert "filter.x.clean" in refusal.message


def test_a_configuration_of_the_user_does_not_count(desk: Desk, canary: Path) -> None:
    (desk.top / ".gitconfig").write_text(f"[core]\nfsmonitor = {canary}\n")
    executes(desk, "status")
    desk.output("git status")
    assert not ran(desk)


def test_an_environment_of_the_agent_does_not_count(
    desk: Desk, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executes(desk, "diff", GIT_EXTERNAL_DIFF=str(canary))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(canary))
    desk.output("git diff")
    assert not ran(desk)
    assert desk.reason(f"GIT_EXTERNAL_DIFF={canary} git diff") == "sh_syntax"


def test_a_configuration_on_the_command_line(desk: Desk, canary: Path) -> None:
    executes(desk, "-c", f"core.fsmonitor={canary}", "status")
    assert desk.reason(["git", "-c", f"core.fsmonitor={canary}", "status"]) == "sh_option"


def test_a_file_written_by_an_option_or_its_prefix(desk: Desk) -> None:
    for option in ("--output", "--outpu"):
        out = desk.top / "out"
        plain(desk, "diff", f"{option}={out}")
        if option == "--output":
            assert out.exists()
        out.unlink(missing_ok=True)
        assert desk.reason(["git", "diff", f"{option}={out}"]) == "sh_option"
        assert not out.exists()


def test_files_outside_by_two_paths(desk: Desk) -> None:
    (desk.top / "x").write_text("secret one\n")
    (desk.top / "y").write_text("secret two\n")
    assert b"secret" in plain(desk, "diff", "--", "../x", "../y")
    assert desk.reason("git diff -- ../x ../y") == "path_outside_roots"
    assert "secret" not in desk.output("git diff -- README.md src")


def test_another_repository_by_an_option(desk: Desk) -> None:
    other = desk.top / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    (other / "hidden").write_text("x")
    assert b"hidden" in plain(desk, "-C", str(other), "status", "--short")
    assert desk.reason(["git", "-C", str(other), "status", "--short"]) == "sh_option"


def test_a_repository_above_the_root_is_not_found(tmp_path: Path) -> None:
    with opened(tmp_path) as desk:
        subprocess.run(["git", "init", "-q", str(desk.top)], check=True)
        assert desk.reason("git status") == "git_repository"


def test_replaced_objects_do_not_count(desk: Desk) -> None:
    desk.git("replace", "HEAD", "HEAD~1")
    assert plain(desk, "log", "--oneline").count(b"\n") == 1
    assert desk.output("git log --oneline").count("\n") == 2


def test_a_hard_link_among_the_tracked_files_is_known(desk: Desk) -> None:
    desk.write({".env": "KEY=1\n"})
    (desk.ws / "docs" / "x.txt").unlink()
    (desk.ws / "docs" / "x.txt").hardlink_to(desk.ws / ".env")
    action = desk.ask("git diff")
    (linked,) = [one for one in action.resources if getattr(one, "links", 1) > 1]
    assert linked.also == (f"{desk.ws}/.env",)  # type: ignore[union-attr]


def test_too_many_tracked_files(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_ENTRIES", 2)
    refusal = desk.ask("git diff").refusal
    assert refusal is not None
    assert refusal.reason == "sh_walk_limit"
    assert "--stat" in refusal.message
    assert desk.ask("git diff -- src").refusal is None


def test_globs_become_pathspecs_that_leave_out(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    globs = ("/**/.env", f"{top}/ws/keys/**", f"{top}/ws/one.txt", "/home/x/.ssh/**")
    with opened(tmp_path, left_out=globs) as desk:
        desk.repository({"keys/k": "1\n", "one.txt": "2\n", "two.txt": "3\n"})
        plan = desk.plan("git show")
        assert [word for word in plan.argv if word.startswith(":")] == [
            f":(top,exclude,glob,icase){rest}"
            for rest in ("**/.env", "**/.env/**", "keys/**", "one.txt", "one.txt/**")
        ]
        assert "+++ b/two.txt" in desk.output("git show")
        assert "one.txt" not in desk.output("git show")


def test_the_judged_configuration_is_bound(desk: Desk) -> None:
    before = desk.ask("git status")
    (operand,) = before.plan.operands  # type: ignore[union-attr]
    assert operand.path == f"{desk.ws}/.git/config"
    assert operand.identity.inode == (desk.ws / ".git" / "config").stat().st_ino
    desk.git("config", "user.name", "b")
    assert desk.ask("git status").digest != before.digest


def test_no_descriptor_is_left_open(desk: Desk) -> None:
    before = open_descriptors()
    for line in ("git diff", "git show HEAD:README.md", "git push", "git diff -- /etc/passwd"):
        desk.ask(line).release()
    assert open_descriptors() == before


def test_the_canary_is_a_program(canary: Path) -> None:
    assert canary.stat().st_mode & stat.S_IXUSR


def test_a_command_that_may_show_any_file_reads_the_whole_tree(desk: Desk) -> None:
    """Another branch, or history, holds files that no index of today names."""
    assert "." in desk.reached("git show")
    assert "." in desk.reached("git log -p --all")
    assert "." not in desk.reached("git show -- src")
    assert "." not in desk.reached("git show HEAD:src/a.py")
    assert "." not in desk.reached("git log --oneline")


def test_what_is_left_out_is_left_out_of_other_branches_too(tmp_path: Path) -> None:
    with opened(tmp_path, left_out=(f"{tmp_path.resolve()}/ws/private/**",)) as desk:
        desk.repository({"a.txt": "1\n"})
        desk.git("checkout", "-q", "-b", "other")
        desk.repository({"private/plan.txt": "theirs\n", "b.txt": "2\n"})
        desk.git("checkout", "-q", "main")
        assert b"theirs" in plain(desk, "show", "other")
        for line in ("git show other", "git log -p --all", "git diff main..other"):
            assert "theirs" not in desk.output(line)
            assert "+2" in desk.output(line)


@pytest.mark.parametrize("line", ["git status", "git diff", "git diff --stat", "git show"])
def test_attributes_by_another_name_are_read(desk: Desk, line: str) -> None:
    desk.write({".env": "machine x pass!word\n"})
    os.link(desk.ws / ".env", desk.ws / "src" / ".gitattributes")
    assert "src/.gitattributes" in desk.reached(line)
    (one,) = (
        one
        for one in desk.ask(line).resources
        if isinstance(one, PathResource) and one.path.endswith("attributes")
    )
    assert one.links == 2
    assert one.also == (f"{desk.ws}/.env",)
