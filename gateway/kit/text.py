r"""Visible escaping: what a person reads is what is there, and two texts never look the same.

Shown as an escape (`\u{202e}`, `\n`, `\t`, `\r`, `\\`):

- general categories Cc, Cf, Cs, Co, Cn, Zl, Zp, and every Zs but U+0020;
- every Default_Ignorable code point, also those outside Cf (variation selectors, Hangul fillers,
  the combining grapheme joiner), and code points that are drawn blank;
- the backslash, so that an escape cannot be forged;
- a combining mark with nothing to stand on, and the marks beyond four on one base;
- spaces beyond thirty-two in a row, which would push what follows off the screen.

`escape` and `quote` are injective: undoing the escapes gives the text back, whatever it was.
A code point that this Python's Unicode tables do not know yet is shown as an escape.

Source: Unicode DerivedCoreProperties (Default_Ignorable_Code_Point), UTS 39, CVE-2021-42574.
"""

from __future__ import annotations

import functools
import unicodedata
from typing import Final

MAX_MARKS: Final = 4
MAX_SPACES: Final = 32

_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_MARKS: Final = frozenset({"Mn", "Mc", "Me"})
_WIDE: Final = frozenset({"W", "F"})
_DEFAULT_IGNORABLE: Final = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
_BLANK: Final = frozenset({0x2800, 0x1D159})  # drawn blank, though symbols by category
_SHORT: Final = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def escape(text: str) -> str:
    """Return the one-line form; injective, printable, encodable as UTF-8."""
    return _escape(text, "")


def quote(text: str) -> str:
    """Return the one-line form in double quotes, so that its ends can be seen; injective."""
    return '"' + _escape(text, '"') + '"'


def block(text: str) -> list[str]:
    """Return the lines of a text, each escaped; only U+000A separates lines."""
    return [escape(line) for line in text.split("\n")]


def hidden_count(text: str) -> int:
    """Count the characters that cannot be seen by themselves, tab and newline not counted."""
    return sum(1 for character in text if hidden(character) and character not in "\t\n")


@functools.lru_cache(maxsize=4096)
def hidden(character: str) -> bool:
    """Whether a character has no shape of its own or changes how others are shown."""
    if " " <= character <= "~":
        return False
    number = ord(character)
    return (
        unicodedata.category(character) in _CATEGORIES
        or number in _BLANK
        or any(first <= number <= last for first, last in _DEFAULT_IGNORABLE)
    )


def columns(text: str) -> int:
    """Return how many columns an escaped text takes on a terminal; never too few."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in _WIDE else 1 for c in text)


def _escape(text: str, extra: str) -> str:
    shown: list[str] = []
    marks = MAX_MARKS  # at the start there is no base for a mark
    spaces = 0
    for character in text:
        spaces = spaces + 1 if character == " " else 0
        if character in _SHORT:
            shown.append(_SHORT[character])
            marks = MAX_MARKS
        elif hidden(character) or spaces > MAX_SPACES:
            shown.append(f"\\u{{{ord(character):x}}}")
            marks = MAX_MARKS
        elif unicodedata.category(character) in _MARKS:
            shown.append(character if marks < MAX_MARKS else f"\\u{{{ord(character):x}}}")
            marks += 1
        else:
            shown.append("\\" + character if character in extra else character)
            marks = 0
    return "".join(shown)
