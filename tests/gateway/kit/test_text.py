"""Escaping: every hidden code point is shown, and no two texts look the same."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.kit import text

HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
IGNORABLE_OUTSIDE_CF = [0x34F, 0x3164, 0x115F, 0x1160, 0xFFA0, 0x17B4, 0x180B, 0xFE00, 0xFE0F]
IGNORABLE_OUTSIDE_CF += list(range(0xE0000, 0xE1000))
IGNORABLE_OUTSIDE_CF += [0x1D173, 0x1D17A, 0x1BCA0, 0x2065, 0xFFF0]
_UNDO = re.compile(r'\\(?:u\{([0-9a-f]+)\}|([\\ntr"]))')
_NAMES = {"\\": "\\", "n": "\n", "t": "\t", "r": "\r", '"': '"'}

# Characters that fight each other: the escape's own, marks, hidden ones, spaces.
HOSTILE = st.text(
    st.one_of(
        st.sampled_from([*'\\u{}"202e n\n\t\r', "\u0301", "\u202e", "\u200b", "\ud800"]),
        st.characters(),
    ),
    max_size=60,
)


def undo(escaped: str) -> str:
    return _UNDO.sub(lambda m: chr(int(m[1], 16)) if m[1] else _NAMES[m[2]], escaped)


def must_be_hidden(number: int) -> bool:
    category = unicodedata.category(chr(number))
    return category in HIDDEN_CATEGORIES or (category == "Zs" and number != 0x20)


def test_every_code_point_of_the_escape_set_is_shown_as_an_escape():
    wanted = [n for n in range(sys.maxunicode + 1) if must_be_hidden(n)] + IGNORABLE_OUTSIDE_CF
    for number in wanted:
        shown = text.escape("a" + chr(number) + "b")
        assert shown.isascii(), hex(number)
        assert chr(number) not in shown, hex(number)
        assert undo(shown) == "a" + chr(number) + "b", hex(number)


def test_all_code_points_have_different_forms():
    shown = {text.escape(chr(number)) for number in range(sys.maxunicode + 1)}
    assert len(shown) == sys.maxunicode + 1


def test_ordinary_text_stays_as_it_is():
    for sample in ("plain words", "naïve café", "日本語", "Ωμέγα", "עברית", "a/b-c_d.e", "{u}"):
        assert text.escape(sample) == sample


@settings(max_examples=200, deadline=None)
@given(HOSTILE)
def test_undoing_the_escapes_gives_the_text_back(sample: str):
    assert undo(text.escape(sample)) == sample
    assert undo(text.quote(sample)[1:-1]) == sample


@settings(max_examples=200, deadline=None)
@given(HOSTILE)
def test_the_shown_text_has_nothing_hidden(sample: str):
    for shown in (text.escape(sample), text.quote(sample), *text.block(sample)):
        assert not any(must_be_hidden(ord(c)) for c in shown)
        shown.encode("utf-8")


@settings(max_examples=100, deadline=None)
@given(HOSTILE, HOSTILE)
def test_two_texts_never_have_one_form(one: str, other: str):
    assert (text.escape(one) == text.escape(other)) is (one == other)
    assert (text.block(one) == text.block(other)) is (one == other)


def test_a_quote_cannot_be_closed_from_inside():
    assert text.quote('a", "b') == '"a\\", \\"b"'
    assert text.quote("\\") == '"\\\\"'


def test_an_escape_cannot_be_forged():
    assert text.escape("\\u{202e}") == "\\\\u{202e}"
    assert text.escape("\u202e") == "\\u{202e}"


def test_marks_without_a_base_and_long_runs_of_marks_are_escaped():
    assert text.escape("\u0301x") == "\\u{301}x"
    assert text.escape("e\u0301") == "e\u0301"
    shown = text.escape("e" + "\u0301" * 30)
    assert shown.count("\u0301") == text.MAX_MARKS
    assert shown.count("\\u{301}") == 30 - text.MAX_MARKS
    assert text.escape("\u202e\u0301") == "\\u{202e}\\u{301}"


def test_long_padding_is_escaped():
    assert text.escape(" " * text.MAX_SPACES) == " " * text.MAX_SPACES
    assert text.escape("a" + " " * 200 + "b").count("\\u{20}") == 200 - text.MAX_SPACES


@pytest.mark.parametrize(
    ("sample", "count"),
    [("", 0), ("plain\n\ttext \\", 0), ("a\u202eb\u200b", 2), ("\x1b[2J", 1), ("\u3164\u2800", 2)],
)
def test_hidden_characters_are_counted(sample: str, count: int):
    assert text.hidden_count(sample) == count


def test_a_block_breaks_at_line_feeds_only():
    assert text.block("a\r\nb\u2028c\x0bd") == ["a\\r", "b\\u{2028}c\\u{b}d"]


def test_columns_are_never_too_few():
    assert text.columns("abc") == 3
    assert text.columns("日本") == 4
    assert text.columns("e\u0301") == 2
