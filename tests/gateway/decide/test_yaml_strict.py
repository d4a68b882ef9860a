"""Strict YAML: what is read, what is refused and on which line."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.decide.yaml_strict import MAX_BYTES, read
from gateway.errors import PolicyError


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("no", "no"), ("on", "on"), ("yes", "yes"), ("y", "y"), ("12:30", "12:30"),
        ("1_000", "1_000"), ("2024-01-01", "2024-01-01"), ("true", True), ("False", False),
        ("~", None), ("", None), ("null", None), ("'null'", "null"), ("0", 0), ("-7", -7),
        ("0o14", 12), ("0xff", 255), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0), ('"1"', "1"),
        ("a b", "a b"), ("=", "="),
    ],
)  # fmt: skip
def test_scalars_follow_the_core_schema(scalar: str, value: object) -> None:
    parsed = read("p", f"k: {scalar}\n".encode())
    assert isinstance(parsed.value, dict)
    found = parsed.value["k"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "duplicate key"),
        ("a: {b: 1, b: 2}\n", 1, "duplicate key"),
        ("a: &x 1\n", 1, "anchor"),
        ("a: 1\nb: *x\n", 2, "alias"),
        ("a: !!str 1\n", 1, "tag"),
        ("a:\n  <<: {b: 1}\n", 2, "merge key"),
        ("a: 1\n---\nb: 1\n", 2, "second document"),
        ("%YAML 1.1\n---\na: 1\n", 2, "directive"),
        ("a: 1\n7: 2\n", 2, "not a string"),
        ("true: 2\n", 1, "not a string"),
        ("? [a]\n: 1\n", 1, "not a string"),
        ("a: 014\n", 1, "leading zero"),
        ("a: .inf\n", 1, "not finite"),
        ("a: .NaN\n", 1, "not finite"),
        ("a: 1e999\n", 1, "not finite"),
        ("a: 9007199254740992\n", 1, "2^53"),
        ("a: 0x" + "f" * 400 + "\n", 1, "2^53"),
        ("a: 1\nb: [\n", 3, "not YAML"),
        ("a: 1\n\tb: 2\n", 2, "not YAML"),
        ("a: \x01\n", 1, "not YAML"),
        ("", 1, "empty"),
        ("\ufeffa: 1\n", 1, "byte order mark"),
        ("a: " + "[" * 100_000, 1, "deeper"),
    ],
)
def test_refused_with_its_line(text: str, line: int, word: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read("p.yaml", text.encode())
    assert caught.value.line == line
    assert word in str(caught.value)
    assert str(caught.value).startswith(f"p.yaml:{line}: ")


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(PolicyError, match=r"p:2: not UTF-8"):
        read("p", b"a: 1\nb: \xff\n")


def test_a_huge_file_is_refused_unread() -> None:
    with pytest.raises(PolicyError, match="larger than"):
        read("p", b"#" * (MAX_BYTES + 1))


def test_every_key_and_item_has_its_line() -> None:
    parsed = read("p", b"a:\n  - b\n  - {c: d,\n     e: f}\n")
    assert parsed.value == {"a": ("b", {"c": "d", "e": "f"})}
    assert parsed.lines == {("a",): 1, ("a", 0): 2, ("a", 1): 3, ("a", 1, "c"): 3, ("a", 1, "e"): 4}
    assert parsed.line(("a", 1, "zzz")) == 3


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@ \n\t<?,0x1.~\u00e9\x85", max_size=40))
@example("? ")
@example("- - -")
def test_never_anything_but_a_value_or_a_policy_error(text: str) -> None:
    with contextlib.suppress(PolicyError):
        read("p", text.encode())
