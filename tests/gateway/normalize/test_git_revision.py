"""Revisions: commits only, peeled; a file's content is named by a path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.action import Refusal
from gateway.normalize.git_revision import Revision, parse


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("HEAD", "HEAD^{commit}"),
        ("@", "@^{commit}"),
        ("HEAD~1", "HEAD~1^{commit}"),
        ("HEAD^", "HEAD^^{commit}"),
        ("HEAD^2~3", "HEAD^2~3^{commit}"),
        ("feature/x-1.2", "feature/x-1.2^{commit}"),
        ("v1.0", "v1.0^{commit}"),
        ("abc1234", "abc1234^{commit}"),
        ("stash@{0}", "stash@{0}^{commit}"),
        ("@{u}", "@{u}^{commit}"),
        ("main@{upstream}", "main@{upstream}^{commit}"),
        ("^main", "^main^{commit}"),
        ("main..topic", "main^{commit}..topic^{commit}"),
        ("main...topic~2", "main^{commit}...topic~2^{commit}"),
        ("main..", "main^{commit}..HEAD^{commit}"),
        ("..main", "HEAD^{commit}..main^{commit}"),
        ("HEAD^{commit}", "HEAD^{commit}"),
    ],
)
def test_revisions_are_peeled_to_commits(word: str, expected: str) -> None:
    revision = parse(word)
    assert isinstance(revision, Revision), revision
    assert revision == Revision(text=expected)
    assert parse(expected) == revision


def test_a_file_of_a_commit_is_for_show_only() -> None:
    assert parse("HEAD~1:src/a.py", ranges=False, paths=True) == Revision(
        text="HEAD~1^{commit}:src/a.py", path="src/a.py"
    )
    assert isinstance(parse("HEAD:a"), Refusal)
    for word in (":a", ":0:a", "^HEAD:a", "a..b:c", ":/text", "HEAD^{/text}"):
        assert isinstance(parse(word, ranges=False, paths=True), Refusal)
    assert isinstance(parse("a..b", ranges=False, paths=True), Refusal)


@pytest.mark.parametrize(
    "word",
    [
        "", "-p", "--all", "..", "...", "a..b..c", "HEAD^{tree}", "HEAD^{blob}", "HEAD^{}",
        "HEAD^{/x}", "HEAD@{yesterday}", "HEAD@{-1}", "@{-1}", "a b", "a*", "refs/heads/*", ":a",
        "a\nb", "x" * 300, "~1", "^", "/a", "caf\u00e9",
    ],
)  # fmt: skip
def test_other_words_are_refused(word: str) -> None:
    refusal = parse(word)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_operand"


@given(st.text("aH/.~^@{}:0u-", max_size=20), st.booleans(), st.booleans())
def test_anything_gives_a_value_that_reads_the_same_again(
    word: str, ranges: bool, paths: bool
) -> None:
    revision = parse(word, ranges=ranges, paths=paths)
    if isinstance(revision, Revision):
        assert not revision.text.startswith("-")
        assert parse(revision.text, ranges=ranges, paths=paths) == revision
