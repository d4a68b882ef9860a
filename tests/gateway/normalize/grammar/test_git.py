"""git's tables: ordinary reading forms, and the options that write, run or reach further."""

from __future__ import annotations

import pytest

from gateway.model.action import Refusal
from gateway.normalize.grammar.engine import parse, serialize
from gateway.normalize.grammar.git import QUIET, REMOTE, SHOWS_CONTENT, SUBCOMMANDS, WRITES
from gateway.normalize.grammar.model import Parsed


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("status", "--"),
        ("status -sb", "--short --branch --"),
        ("status --porcelain=v2 -uno", "--porcelain=v2 --untracked-files=no --"),
        ("log --oneline -5", "--oneline --max-count=5 --"),
        ("log -n 5 main", "--max-count=5 main --"),
        ("log -p -2 -- src", "--patch --max-count=2 -- src"),
        ("log --graph --all --decorate", "--graph --all --decorate --"),
        ("log --since=yesterday --author=a", "--since=yesterday --author=a --"),
        ("log --format=%h", "--format=%h --"),
        ("log --pretty=oneline", "--pretty=oneline --"),
        ("log -Sfoo", "-Sfoo --"),
        ("log -G foo", "-Gfoo --"),
        ("diff HEAD~1 -- src/a.py", "HEAD~1 -- src/a.py"),
        ("diff --staged --stat", "--cached --stat --"),
        ("diff -U5 main..topic", "--unified=5 main..topic --"),
        ("diff -u -w", "--patch --ignore-all-space --"),
        ("show HEAD:README.md", "HEAD:README.md --"),
        ("show --stat -s HEAD", "--stat --no-patch HEAD --"),
        ("branch -avv", "--all --verbose --verbose --"),
        ("branch --list feat", "--list -- feat"),
        ("branch --contains HEAD~1", "--contains=HEAD~1 --"),
        ("branch --sort=-committerdate", "--sort=-committerdate --"),
    ],
)
def test_ordinary_forms(words: str, expected: str) -> None:
    subcommand, *rest = words.split()
    parsed = parse(SUBCOMMANDS[subcommand], rest)
    assert isinstance(parsed, Parsed), parsed
    assert " ".join(serialize(parsed)) == expected


@pytest.mark.parametrize(
    "words",
    [
        "diff --output=f",
        "diff --outp=f",
        "diff --no-index a b",
        "diff --ext-diff",
        "diff --ext",
        "diff --textconv",
        "diff -Oorder",
        "diff --submodule=log",
        "diff --check",
        "log --show-signature",
        "log --format=%G?",
        "log --pretty=mine%GK",
        "log -L1,2:f",
        "log --follow f",
        "log --full-diff -p",
        "log --output=f",
        "log -pn5",
        "log main -p",
        "show --ext-diff",
        "show --textconv HEAD",
        "status -v",
        "status --ignore-submodules=none",
        "branch -d main",
        "branch -D main",
        "branch -m a b",
        "branch -u a b",
        "branch --edit-description",
        "branch --set-upstream-to=a",
        "branch --format=%G",
    ],
)
def test_what_is_left_out(words: str) -> None:
    subcommand, *rest = words.split()
    refusal = parse(SUBCOMMANDS[subcommand], rest)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_option"


def test_the_lists_agree_with_the_tables() -> None:
    keys = {option.key for name in ("diff", "log") for option in SUBCOMMANDS[name].options}
    assert {*QUIET, *SHOWS_CONTENT} <= keys
    assert not set(SUBCOMMANDS) & (WRITES | REMOTE)
    assert not WRITES & REMOTE
