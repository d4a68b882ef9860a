"""The glob language against a naive matcher; what it refuses; the caseless form."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.decide.glob import (
    Caseless,
    Exact,
    GlobError,
    Wild,
    covering,
    expand,
    fold,
    parse_name,
    parse_path,
    variables_of,
)
from tests.reference.decide import glob as naive

VARIABLES = {"workspace": "/ws", "home": "/home/u", "odd": "/a*b/[c]"}
COMPONENTS = st.one_of(st.just("**"), st.text(alphabet="ab.*?", min_size=1, max_size=3))


def exact(pattern: str, path: str) -> bool:
    return Exact([parse_path(pattern, VARIABLES)]).matches(path)


def caseless(pattern: str, path: str) -> bool:
    return Caseless([parse_path(pattern, VARIABLES)]).matches(path)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(COMPONENTS, min_size=1, max_size=4),
    st.lists(st.lists(st.text(alphabet="ab.", min_size=1, max_size=3), max_size=4), max_size=8),
)
def test_matches_like_the_naive_matcher(components: list[str], paths: list[list[str]]) -> None:
    pattern = "/" + "/".join(components)
    refused = "**/**" in pattern or any(
        part in {".", ".."} or ("**" in part and part != "**") for part in components
    )
    if refused:
        with pytest.raises(GlobError):
            parse_path(pattern, {})
        return
    compiled = Exact([parse_path(pattern, {})])
    for parts in paths:
        path = "/" + "/".join(parts)
        assert compiled.matches(path) == naive(pattern, path), (pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [
        ("${workspace}/**", "/ws", True),
        ("${workspace}/**", "/ws/a/b", True),
        ("${workspace}/**", "/wsx/a", False),
        ("${workspace}/*.py", "/ws/a.py", True),
        ("${workspace}/*.py", "/ws/d/a.py", False),
        ("${workspace}/**/*.py", "/ws/a.py", True),
        ("${workspace}/**/*.py", "/ws/d/e/a.py", True),
        ("${workspace}", "/ws", True),
        ("${workspace}", "/ws/a", False),
        ("**/.env", "/.env", True),
        ("**/.env", "/a/b/.env", True),
        ("**/.env", "/a/b.env", False),
        ("**", "/anything/at/all", True),
        ("/a/?", "/a/\u00e9", True),
        ("/a/*", "/a/.hidden", True),
        ("/a/*", "/a/new\nline", True),
        ("/a.b", "/axb", False),
        ("${odd}/x", "/a*b/[c]/x", True),
        ("${odd}/x", "/aXb/c/x", False),
    ],
)
def test_matches(pattern: str, path: str, wanted: bool) -> None:
    assert exact(pattern, path) is wanted


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        ("src/*.py", "a relative glob"),
        ("*.py", "a relative glob"),
        ("", "a relative glob"),
        ("/a/{b,c}", "no braces"),
        ("/a/[bc]", "no character classes"),
        ("/a\\*", "no backslash"),
        ("!/a", "no negation"),
        ("~/a", "write `${home}`"),
        ("/a/**b", "stands alone"),
        ("/a/b**/c", "stands alone"),
        ("/a/***", "stands alone"),
        ("/a/**/**", "write that"),
        ("/a/../b", "component"),
        ("/a//b", "component"),
        ("/a/", "component"),
        ("/", "component"),
        ("${nope}/a", "unknown variable `${nope}` (known: home, odd, workspace)"),
        ("${workspace}a", "whole directory"),
        ("/a/${home}", "at the start only"),
        ("/a/$HOME", "in front of a variable"),
        ("/a\x00", "control character"),
        ("/" + "a" * 5000, "longer than"),
    ],
)  # fmt: skip
def test_refused_with_a_remedy(pattern: str, remedy: str) -> None:
    with pytest.raises(GlobError) as caught:
        parse_path(pattern, VARIABLES)
    assert remedy in str(caught.value)


def test_caseless_matches_whatever_the_case_and_form() -> None:
    assert caseless("**/.env", "/A/.ENV")
    assert caseless("**/Straße", "/STRASSE")
    assert caseless("**/\u00e9", "/e\u0301")
    assert caseless("**/\u212a", "/k")
    assert not caseless("**/.env", "/a/.envx")
    assert not exact("**/.env", "/A/.ENV")


def test_caseless_counts_a_character_whose_folding_is_longer() -> None:
    assert caseless("/a?b", "/a\u00dfb")
    assert caseless("/a??b", "/a\u00dfb")


def test_a_name_with_bytes_that_are_no_text_is_still_matched() -> None:
    assert caseless("**/.env", "/\udcff/.env")
    assert exact("/a/*", "/a/\udcff")


def test_covering_covers_the_subtree_once() -> None:
    protected = covering(parse_path("**/.git", {}))
    assert covering(protected) is protected
    tested = Caseless([protected])
    assert tested.matches("/r/.git")
    assert tested.matches("/r/.GIT/hooks/pre-commit")
    assert not tested.matches("/r/.gitignore")


def test_no_globs_match_nothing() -> None:
    assert not Exact([]).matches("")
    assert not Caseless([]).matches("/a")


def test_tokens_are_public_and_neighbouring_literals_are_one() -> None:
    glob = parse_path("${workspace}/a/**/b*", VARIABLES)
    assert glob.tokens == ("/ws/a/", Wild.DIRECTORIES, "b", Wild.RUN)
    assert glob.literal == "/ws/a/"
    assert not glob.exact
    assert parse_path("/a", {}).exact


def test_in_names_a_slash_is_a_character_like_any_other() -> None:
    assert Caseless([parse_name("delete*")]).matches("Delete/All")
    assert Exact([parse_name("*")]).matches("a/b")
    with pytest.raises(GlobError):
        parse_name("a**")


def test_expand_fills_in_one_variable_at_the_start() -> None:
    assert expand("${home}/notes", VARIABLES) == "/home/u/notes"
    assert expand(".", VARIABLES) == "."
    assert variables_of("${home}/x") == ("home",)
    with pytest.raises(GlobError):
        expand("${nope}", VARIABLES)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
