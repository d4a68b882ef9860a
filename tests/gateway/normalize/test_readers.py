"""Readers: operands as they really are, walks as the real programs walk."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.normalize import walk
from tests.gateway.normalize.desk import Desk, opened, within

TREE = {
    "f": "a\nb\nc\nd\ne\nf\n",
    "README.md": "hello\n",
    ".env": "KEY=1\n",
    "src/a.py": "foo\n",
    "src/.hidden/h.py": "foo\n",
    "src/deep/b.py": "foo bar\n",
    "src/deep/c.txt": "foo\n",
    "ab/c.py": "foo\n",
    "node_modules/x/i.js": "foo\n",
    "odd/-n": "foo\n",
    "odd/sp ace": "foo\n",
}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as desk:
        desk.write(TREE)
        (desk.ws / "src" / "up").symlink_to("..")
        (desk.ws / "to-f").symlink_to("f")
        (desk.ws / "to-src").symlink_to("src")
        (desk.ws / "to-env").symlink_to(".env")
        (desk.top / "secret").write_text("SECRET\n")
        (desk.ws / "out").symlink_to("../secret")
        os.mkfifo(desk.ws / "fifo")
        yield desk


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("cat f", "a\nb\nc\nd\ne\nf\n"),
        ("cat ./f", "a\nb\nc\nd\ne\nf\n"),
        ("cat src/../README.md", "hello\n"),
        ("head -2 f", "a\nb\n"),
        ("tail -n +6 f", "f\n"),
        ("wc -l f README.md", " 6 f\n 1 README.md\n 7 total\n"),
        ("ls src", "a.py\ndeep\nup\n"),
        ("ls src/", "a.py\ndeep\nup\n"),
        ("ls -A src", ".hidden\na.py\ndeep\nup\n"),
        ("grep -n foo src/a.py", "1:foo\n"),
        ("grep -rn 'foo bar' src", "src/deep/b.py:1:foo bar\n"),
        ("grep -rn 'foo bar' ./src", "./src/deep/b.py:1:foo bar\n"),
        ("grep -c foo ./odd/-n", "1\n"),
        ("cat 'odd/sp ace'", "foo\n"),
        ("find src -name '*.txt'", "src/deep/c.txt\n"),
        ("find ./src -path './src/deep/*' -type f -name 'b*'", "./src/deep/b.py\n"),
        ("find . -maxdepth 1 -type f -name '*.md'", "./README.md\n"),
        ("find src/a.py", "src/a.py\n"),
        ("find src -newer f -name nothing", ""),
        ("cat to-f", "a\nb\nc\nd\ne\nf\n"),
    ],
)
def test_ordinary_forms_run(desk: Desk, line: str, printed: str) -> None:
    assert desk.output(line) == printed


def test_operands_are_written_as_what_they_are(desk: Desk) -> None:
    assert desk.plan("cat to-f").argv == ("cat", "--", "f")
    assert desk.plan("cat ../f", "src").argv == ("cat", "--", f"{desk.ws}/f")
    assert desk.plan("ls .", "src").argv == ("ls", "--", ".")
    assert desk.plan(["find", "odd/-n"]).argv == ("find", "odd/-n")
    assert desk.plan(["find", "./-n"], "odd").argv == ("find", "./-n")
    plan = desk.plan("wc f README.md")
    assert [one.relative for one in plan.operands] == ["f", "README.md"]
    assert plan.operands[0].identity.inode == (desk.ws / "f").stat().st_ino


def test_what_is_read_and_what_is_listed(desk: Desk) -> None:
    assert desk.reached("cat f to-env") == {"f", ".env"}
    assert desk.reached("ls src", "fs.list") == {"src"}
    assert desk.reached("ls", "fs.list") == {"."}
    assert desk.reached("ls f", "fs.list") == {"f"}
    assert desk.reached("grep foo src/a.py") == {"src/a.py"}
    assert desk.reached("find src -newer .env -name x", "fs.list") == {"src", ".env"}


@pytest.mark.parametrize(
    ("line", "reason", "named"),
    [
        ("cat nope", "fs_not_found", "nope"),
        ("cat f nope", "fs_not_found", "nope"),
        ("cat src", "fs_not_regular", "src"),
        ("grep foo src", "fs_not_regular", "src"),
        ("cat fifo", "fs_not_regular", "fifo"),
        ("cat out", "fs_escape", "out"),
        ("cat ../secret", "path_outside_roots", "secret"),
        ("cat /etc/passwd", "path_outside_roots", "/etc/passwd"),
        ("ls ..", "path_outside_roots", ""),
        ("grep -r foo ..", "path_outside_roots", ""),
        ("find /", "path_outside_roots", "/"),
        ("find . -newer /etc/passwd", "path_outside_roots", "/etc/passwd"),
        ("cat CON", "path_reserved", "CON"),
        ("wc --files0-from=f", "sh_option", "--files0-from"),
        ("cat", "sh_operand", "pipe"),
        ("grep foo", "sh_operand", "pipe"),
    ],
)
def test_operands_that_are_refused(desk: Desk, line: str, reason: str, named: str) -> None:
    action = desk.ask(line)
    assert action.refusal is not None
    assert action.refusal.reason == reason
    assert named in action.refusal.message


def test_a_refused_operand_is_still_named(desk: Desk) -> None:
    action = desk.ask("cat f .env nope")
    assert within(desk, action, "fs.read") == {"f", ".env", "nope"}


def grep_reads(desk: Desk, argv: tuple[str, ...]) -> set[str]:
    """What the real grep reads: it counts lines in every file it opens."""
    command = ["/usr/bin/grep", "-c", "-s", *argv[1:]]
    done = subprocess.run(command, cwd=desk.ws, capture_output=True, check=False)
    names = (line.rpartition(":")[0] for line in done.stdout.decode().splitlines())
    return {os.path.normpath(name) for name in names}


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--include=*.py",),
        ("--exclude=*.py",),
        ("--exclude=.env*",),
        ("--exclude-dir=node_modules", "--exclude-dir=.hidden"),
        ("--exclude-dir=s*",),
        ("--include=a*.py",),
        ("--include=*b/c*",),
        ("--include=*.py", "--exclude=a*"),
        ("--exclude=a*", "--include=*.py"),
        ("--include=a.py", "--include=*.txt"),
        ("--exclude=a.py", "--exclude=*.txt"),
        ("--include=a.py", "--exclude=b.py"),
        ("--exclude=b.py", "--include=a.py"),
        ("--exclude-dir=deep", "--include=*.py"),
    ],
)
def test_grep_reaches_what_the_real_one_reads(desk: Desk, options: tuple[str, ...]) -> None:
    try:
        reached = desk.reached(["grep", "-r", *options, "foo", "."])
    except AssertionError:
        assert any("/" in option for option in options)  # such a glob is refused
        return
    assert reached == grep_reads(desk, ("grep", "-r", *options, "foo", "."))


GLOB = st.lists(st.sampled_from(["*", "a", ".py", "b", "c", ".env"]), min_size=1, max_size=3)
GREP_OPTION = st.tuples(
    st.sampled_from(["--include=", "--exclude=", "--exclude-dir="]), GLOB.map("".join)
).map("".join)
SHARED = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@SHARED
@given(options=st.lists(GREP_OPTION, max_size=4))
def test_grep_never_reads_more_than_was_judged(desk: Desk, options: list[str]) -> None:
    words = ["grep", "-r", *options, "foo", "src", "ab", "."]
    assert grep_reads(desk, tuple(words)) <= desk.reached(words)


@pytest.mark.parametrize("options", ["-R", "-RA", "-Ra", "-R src", "-RA src ab"])
def test_ls_shows_what_was_judged(desk: Desk, options: str) -> None:
    printed = desk.output(f"ls -1 {options}")
    shown: set[str] = set()
    folder = ""
    for line in printed.splitlines():
        if line.endswith(":"):
            folder = line[:-1]
        elif line and line not in {".", ".."}:
            shown.add(os.path.normpath(f"{folder}/{line}"))
    tops = set(options.split()[1:]) or {"."}
    assert desk.reached(f"ls -1 {options}", "fs.list") == shown | tops


FIND_TEST = st.sampled_from(
    [
        ["-name", "*.py"],
        ["-iname", "A*"],
        ["-path", "*/deep/*"],
        ["-type", "f"],
        ["-type", "d,l"],
        ["!", "-name", "*.py"],
        ["(", "-name", "a*", "-o", "-type", "d", ")"],
    ]
)
FIND = st.tuples(
    st.sampled_from([[], ["src"], ["./src", "ab"], ["."]]),
    st.sampled_from([[], ["-maxdepth", "1"], ["-mindepth", "2"], ["-maxdepth", "0"]]),
    st.lists(FIND_TEST, max_size=3),
    st.sampled_from([[], ["-o"]]),
    FIND_TEST,
).map(
    lambda made: (
        ["find", *made[0], *made[1], *(word for test in made[2] for word in test)]
        + ([*made[3], *made[4]] if made[2] else [])
    )
)


@SHARED
@given(words=FIND)
def test_find_prints_what_was_judged(desk: Desk, words: list[str]) -> None:
    action = desk.ask(words)
    printed = {os.path.normpath(line) for line in desk.output(words).splitlines()}
    starts = {os.path.normpath(one) for one in words[1:] if one in {"src", "./src", "ab", "."}}
    judged = within(desk, action, "fs.list")
    assert printed <= judged
    assert judged - printed <= (starts or {"."})


@pytest.mark.parametrize("words", [["-size", "+0"], ["-empty"], ["-mtime", "-1", "-name", "[f]"]])
def test_a_test_that_the_name_does_not_tell_counts_as_maybe(desk: Desk, words: list[str]) -> None:
    printed = {os.path.normpath(line) for line in desk.output(["find", ".", *words]).splitlines()}
    assert printed <= desk.reached(["find", ".", *words], "fs.list")


def test_ordinary_work_has_a_way_around_a_protected_file(desk: Desk) -> None:
    assert ".env" in desk.reached("grep -r foo .")
    assert ".env" not in desk.reached("grep -r '--exclude=.env*' foo .")
    assert ".env" not in desk.reached("grep -r '--include=*.py' foo .")
    assert ".env" not in desk.reached("find . -name '*.py'", "fs.list")
    assert ".env" in desk.reached("find . -type f", "fs.list")
    assert ".env" not in desk.reached("ls -R", "fs.list")
    assert ".env" in desk.reached("ls -RA", "fs.list")


def test_a_hard_link_met_on_the_way_is_known_by_its_other_name(desk: Desk) -> None:
    (desk.ws / "src" / "plain.txt").hardlink_to(desk.ws / ".env")
    action = desk.ask("grep -r KEY src")
    (linked,) = [one for one in action.resources if getattr(one, "links", 1) > 1]
    assert linked.path == f"{desk.ws}/src/plain.txt"  # type: ignore[union-attr]
    assert linked.also == (f"{desk.ws}/.env",)  # type: ignore[union-attr]


@pytest.mark.parametrize("line", ["grep -r foo .", "ls -R", "find ."])
def test_a_walk_over_the_limit_is_refused(
    desk: Desk, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk.Budget, "__init__", lambda self: setattr(self, "left", 5))
    refusal = desk.ask(line).refusal
    assert refusal is not None
    assert refusal.reason == "sh_walk_limit"
    assert "name a smaller directory" in refusal.message
