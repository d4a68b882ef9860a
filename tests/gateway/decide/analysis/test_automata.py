"""Automata against enumeration of short strings, judged by the matcher that decides."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.decide.analysis.automata import (
    Form,
    Language,
    Verdict,
    difference,
    overlap,
    witness,
)
from gateway.decide.glob import Caseless, Exact, Glob, GlobError, parse_name, parse_path

LETTERS = "aBb/xß."
SHORT = [
    text
    for size in range(1, 6)
    for text in map("".join, product(LETTERS, repeat=size))
    if text == "/"
    or (
        text.startswith("/")
        and all(part and not part.endswith(".") for part in text[1:].split("/"))
    )
]
COMPONENTS = st.one_of(st.just("**"), st.text(alphabet="abB*?.", min_size=1, max_size=2))


def path(text: str) -> Glob:
    return parse_path(text, {})


def exact(*texts: str) -> Language:
    return Language(exact=tuple(map(path, texts)))


def caseless(*texts: str) -> Language:
    return Language(caseless=tuple(map(path, texts)))


def matches(language: Language, text: str) -> bool:
    return Exact(language.exact).matches(text) or Caseless(language.caseless).matches(text)


@st.composite
def globs(draw: st.DrawFn) -> Glob:
    parts = draw(st.lists(COMPONENTS, min_size=1, max_size=3))
    try:
        return path("/" + "/".join(parts))
    except GlobError:
        return path("/a/**")


LANGUAGES = st.builds(
    Language,
    exact=st.lists(globs(), max_size=2).map(tuple),
    caseless=st.lists(globs(), max_size=2).map(tuple),
)


@settings(max_examples=150, deadline=None)
@given(LANGUAGES, LANGUAGES, LANGUAGES)
def test_agrees_with_enumeration_and_with_the_matcher(
    first: Language, second: Language, minus: Language
) -> None:
    found = witness([first, second], minus)
    assert found.verdict is not Verdict.UNDETERMINED
    sets = [(Exact(one.exact), Caseless(one.caseless)) for one in (first, second, minus)]

    def inside(text: str) -> bool:
        a, b, out = (plain.matches(text) or fold.matches(text) for plain, fold in sets)
        return a and b and not out

    if found.found:
        assert inside(found.witness), found.witness
    else:
        assert not [text for text in SHORT if inside(text)]


@settings(max_examples=60, deadline=None)
@given(globs(), globs())
def test_the_witness_is_as_short_as_any(first: Glob, second: Glob) -> None:
    a, b = Language(exact=(first,)), Language(caseless=(second,))
    found = overlap(a, b)
    short = [text for text in SHORT if matches(a, text) and matches(b, text)]
    if short:
        assert found.found
        assert len(found.witness) <= min(map(len, short))


@pytest.mark.parametrize(
    ("whole", "minus", "wanted"),
    [
        (exact("/ws/src/**"), exact("/ws/**"), ""),
        (exact("/ws/**"), exact("/ws/src/**"), "/ws"),
        (exact("/ws/*"), exact("/ws/**"), ""),
        (exact("/ws/**"), exact("/ws", "/ws/**/*"), ""),  # only a union covers it
        (exact("/ws/?"), exact("/ws/*"), ""),
        (exact("/ws/*.py"), caseless("/WS/*.PY"), ""),
        (exact("/ws/*.py"), exact("/WS/*.PY"), "/ws/.py"),
        (exact("/ws/?"), caseless("/ws/?"), ""),  # also where folding makes two letters of one
        (exact("/WS/?"), caseless("/ws/?"), "/WS/\u0587"),
        (caseless("/B"), exact("/B"), "/b"),
        (caseless("/b"), exact("/b"), "/B"),
        (caseless("/k"), exact("/k", "/K"), "/\u212a"),
        (exact("/**"), exact("/**/?*/**"), "/"),
    ],
)
def test_subsets(whole: Language, minus: Language, wanted: str) -> None:
    found = difference(whole, minus)
    assert (found.none, found.witness) == (wanted == "", wanted)


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (exact("/ws/**"), caseless("**/.env"), "/ws/.env"),
        (exact("/ws/**"), exact("/other/**"), ""),
        (exact("/ws/*.py"), exact("/ws/a*"), "/ws/a.py"),
        (exact("/ws/ß"), caseless("/ws/SS"), "/ws/ß"),
        (exact("/ws/*"), exact("/ws/*/**/x"), ""),
    ],
)
def test_overlaps(first: Language, second: Language, wanted: str) -> None:
    assert overlap(first, second).witness == wanted


def test_names_have_no_directories() -> None:
    any_list = Language(exact=(parse_name("list_*"),))
    assert difference(any_list, Language(exact=(parse_name("l*"),)), form=Form.NAME).none
    found = difference(any_list, Language(exact=(parse_name("list_?"),)), form=Form.NAME)
    assert found.witness == "list_"
    slash = Language(exact=(parse_name("file:///*"),))
    assert difference(slash, Language(exact=(parse_name("file:*"),)), form=Form.NAME).none


def test_variables_are_letters() -> None:
    odd = Language(exact=(parse_path("${odd}/x", {"odd": "/a*b"}),))
    assert difference(odd, exact("/a?b/x")).none
    assert difference(exact("/a?b/x"), odd).found


def test_too_many_states_are_undetermined() -> None:
    many = exact(*(f"/**/{'?' * i}a{'?' * (9 - i)}/**" for i in range(9)))
    hard = exact("/**/*a*/*b*/**")
    assert witness([hard], many, max_states=3).verdict is Verdict.UNDETERMINED


def test_letters_that_combine_are_undetermined() -> None:
    assert difference(exact("/ws/x\u0301y"), exact("/ws/**")).verdict is Verdict.UNDETERMINED


def test_ten_realistic_globs_pairwise() -> None:
    ten = [
        path(text)
        for text in (
            "/ws/**", "/ws/src/**", "/ws/src/*.py", "/ws/**/*.py", "**/.env", "**/.env.*",
            "/ws/docs/**", "/ws/*/README.md", "/home/u/.ssh/**", "/ws/src/**/test_*.py",
        )
    ]  # fmt: skip
    pairs = [(a, b) for a in ten for b in ten if a is not b]
    covered = {
        (a.text, b.text)
        for a, b in pairs
        if difference(Language(exact=(a,)), Language(exact=(b,))).none
    }
    assert covered == {
        ("/ws/src/**", "/ws/**"), ("/ws/src/*.py", "/ws/**"), ("/ws/**/*.py", "/ws/**"),
        ("/ws/docs/**", "/ws/**"), ("/ws/*/README.md", "/ws/**"),
        ("/ws/src/**/test_*.py", "/ws/**"), ("/ws/src/*.py", "/ws/src/**"),
        ("/ws/src/**/test_*.py", "/ws/src/**"), ("/ws/src/*.py", "/ws/**/*.py"),
        ("/ws/src/**/test_*.py", "/ws/**/*.py"),
    }  # fmt: skip
