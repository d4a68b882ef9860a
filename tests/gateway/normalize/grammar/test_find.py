"""find's own language: tests only, and what would be printed is never less than what is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.action import Refusal
from gateway.normalize.grammar.find import Entry, Find, parse, prints, serialize

PY = Entry(name="a.py", path="./src/a.py", kind="f")
SRC = Entry(name="src", path="./src", kind="d")


def read(*words: str) -> Find:
    parsed = parse(words)
    assert isinstance(parsed, Find), parsed
    return parsed


@pytest.mark.parametrize(
    "words",
    [
        (),
        (".",),
        (".", "-name", "*.py"),
        ("src", "tests", "-type", "f", "-name", "*.py"),
        (".", "-maxdepth", "2", "-type", "f,d"),
        (".", "-mindepth", "1", "-size", "+10k", "-mtime", "-7", "-newer", "x"),
        (".", "(", "-name", "a", "-o", "-name", "b", ")", "-empty"),
        (".", "!", "-path", "*/x/*"),
    ],
)
def test_ordinary_forms_are_kept(words: tuple[str, ...]) -> None:
    assert serialize(read(*words)) == words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((".", "-type", "f", "-maxdepth", "2"), (".", "-maxdepth", "2", "-type", "f")),
        ((".", "-name", "a", "-print"), (".", "-name", "a")),
        ((".", "-name", "a", "-and", "-empty"), (".", "-name", "a", "-empty")),
        (("-not", "-name", "a", "-or", "-empty"), ("!", "-name", "a", "-o", "-empty")),
    ],
)
def test_other_spellings_become_the_plain_one(
    words: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert serialize(read(*words)) == expected


@pytest.mark.parametrize(
    "words",
    [
        (".", "-exec", "id", ";"),
        (".", "-execdir", "id", "+"),
        (".", "-ok", "id", ";"),
        (".", "-delete"),
        (".", "-fprint", "f"),
        (".", "-fprintf", "f", "%p"),
        (".", "-fls", "f"),
        (".", "-files0-from", "f"),
        ("-files0-from", "f"),
        (".", "-printf", "%p"),
        (".", "-print0"),
        (".", "-ls"),
        (".", "-prune"),
        (".", "-nam", "x"),
        (".", "-regex", "x"),
        ("-L", "."),
        ("-H", "."),
        ("-D", "exec", "."),
        ("-O3", "."),
        (".", "-follow"),
        (".", "-name"),
        (".", "-name", ""),
        (".", "-type", "x"),
        (".", "-size", "1x"),
        (".", "-maxdepth", "-1"),
        (".", "-maxdepth", "1", "-maxdepth", "2"),
        (".", "-name", "a", "-o", "-maxdepth", "1", "-name", "b"),
        (".", "-print", "-name", "a"),
        (".", "-name", "a", "-o", "-name", "b", "-print"),
        (".", "("),
        (".", ")"),
        (".", "(", ")"),
        (".", "!"),
        (".", "-o", "-empty"),
        (".", "-empty", "-o"),
        (".", "-a", "-empty"),
        (".", "-empty", "-a"),
        (".", "-empty", "-a", "-a", "-empty"),
        (".", "-empty", ")", "("),
        (".", "-empty", "."),
        ("", "-empty"),
        (".", *("!",) * 70, "-empty"),
        (".", ",", "-empty"),
    ],
)
def test_everything_else_is_refused(words: tuple[str, ...]) -> None:
    refusal = parse(words)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_option"


@pytest.mark.parametrize(
    ("expression", "entry", "expected"),
    [
        ((), PY, True),
        (("-name", "*.py"), PY, True),
        (("-name", "*.PY"), PY, False),
        (("-iname", "*.PY"), PY, True),
        (("-path", "./src/*"), PY, True),
        (("-ipath", "./SRC/*"), PY, True),
        (("-type", "d"), PY, False),
        (("-type", "f,d"), SRC, True),
        (("-name", "[a].py"), PY, None),
        (("-name", "a\\.py"), PY, None),
        (("-size", "+1"), PY, None),
        (("!", "-size", "+1"), PY, None),
        (("-size", "+1", "-name", "x"), PY, False),
        (("-size", "+1", "-o", "-name", "a.py"), PY, True),
        (("-size", "+1", "-o", "-name", "x"), PY, None),
        (("!", "(", "-name", "x", "-o", "-type", "f", ")"), PY, False),
        (("-name", "x", "-o", "-name", "a.py", "-type", "f"), PY, True),
        (("!", "!", "-name", "a.py"), PY, True),
    ],
)
def test_what_would_be_printed(
    expression: tuple[str, ...], entry: Entry, expected: bool | None
) -> None:
    assert prints(read(".", *expression), entry) is expected


WORD = st.sampled_from(
    [".", "-name", "*.py", "-type", "f", "!", "(", ")", "-o", "-a", "-empty", "-maxdepth", "1"]
) | st.text(max_size=5)


@given(st.lists(WORD, max_size=12))
def test_anything_gives_a_value_that_reads_the_same_again(words: list[str]) -> None:
    parsed = parse(words)
    assert isinstance(parsed, (Find, Refusal))
    if isinstance(parsed, Find):
        assert parse(serialize(parsed)) == parsed
        assert prints(parsed, PY) in {True, False, None}
