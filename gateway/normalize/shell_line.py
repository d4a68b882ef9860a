"""Command lines: a small closed grammar that bash reads the same way. Pure; there is no shell.

    line := segment ( SP* op SP* segment )*        op := "&&" | "||" | "|" | ";"
    segment := name ( SP+ word )*                  SP := U+0020
    word := ( bare | '...' | "..." )+

`bare` is letters, digits and `_ . / : @ % + , = -`; `~` and `^` only right after a letter, digit,
`_`, `~` or `^` (as in `HEAD~1`), where no shell expands them. Single quotes hold printable ASCII;
double quotes the same without `$`, backslash, backtick and `!`. A name has no slash.

Refused, because readers differ about it or it does more than start programs: everything else, such
as expansions, globs, redirects, background jobs, subshells, comments, backslashes, other white
space, non-ASCII text, assignments before the name and reserved words as the name. Whoever needs
such a character sends `argv`, which nothing interprets.

Source: XCU 2 (Shell Command Language), CWE-78.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from gateway.model.action import Refusal

Joiner: TypeAlias = Literal["&&", "||", "|", ";"]

MAX_LINE: Final = 8192
MAX_SEGMENTS: Final = 16

_BARE: Final = r"[A-Za-z0-9_./:@%+,=-]|(?<=[A-Za-z0-9_~^])[~^]"
_TOKEN: Final = re.compile(
    r"(?P<space>[ ]+)|(?P<op>&&|\|\||\||;)"
    rf"|(?P<word>(?:{_BARE}|'[ -&(-~]*'|\"[ #%-\[\]-_a-~]*\")+)"
)
_PIECE: Final = re.compile(r"'([^']*)'|\"([^\"]*)\"|([^'\"]+)")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_RESERVED_WORDS: Final = (
    "if then else elif fi do done case esac while until for function time select in coproc"
)
_RESERVED: Final = frozenset(_RESERVED_WORDS.split())
_ACCEPTED: Final = (
    "accepted: plain words, '...' and \"...\" quoting, joined by && || | and ;"
    " (or send argv, which nothing interprets)"
)
_WHAT: Final[Mapping[str, str]] = {
    "$": "an expansion",
    "`": "a command substitution",
    "\\": "a backslash",
    "*": "an unquoted glob",
    "?": "an unquoted glob",
    "[": "an unquoted glob",
    "]": "an unquoted glob",
    "~": "a tilde expansion",
    "{": "a brace expansion",
    "}": "a brace expansion",
    "<": "a redirect (use fs.read)",
    ">": "a redirect (use fs.write)",
    "&": "a background job or &-redirect",
    "(": "a subshell",
    ")": "a subshell",
    "#": "a comment",
    "!": "a negation or history expansion",
    "\n": "a newline",
    "\t": "a tab",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One segment of a line: its argv and how it joins the one before (None for the first)."""

    joiner: Joiner | None
    argv: tuple[str, ...]


def parse_line(line: str) -> tuple[Part, ...] | Refusal:
    """Return the segments of a line, or why the line is refused."""
    if len(line) > MAX_LINE:
        return Refusal(
            reason="sh_too_long",
            message=f"command_line is {len(line)} characters; the limit is {MAX_LINE}: split it",
        )
    segments: list[tuple[str | None, list[str]]] = [(None, [])]
    position = 0
    after_word = False
    while position < len(line):
        token = _TOKEN.match(line, position)
        if token is None:
            return _syntax(line, position)
        position = token.end()
        raw = token.group()
        if token.lastgroup == "word":
            if after_word:  # cannot happen while words are greedy; two words need a space
                return _syntax(line, token.start())
            refusal = None if segments[-1][1] else _refuse_first(raw)
            if refusal is not None:
                return refusal
            segments[-1][1].append(_unquoted(raw))
        elif token.lastgroup == "op":
            if not segments[-1][1]:
                return _empty(raw)
            segments.append((raw, []))
        after_word = token.lastgroup == "word"
    if not segments[-1][1]:
        return _empty(segments[-1][0])
    if len(segments) > MAX_SEGMENTS:
        return Refusal(
            reason="sh_too_long",
            message=f"command_line has {len(segments)} segments; the limit is {MAX_SEGMENTS}:"
            " send them one at a time",
        )
    return tuple(
        Part(joiner=cast("Joiner | None", joiner), argv=tuple(words)) for joiner, words in segments
    )


def _refuse_first(raw: str) -> Refusal | None:
    """Refuse a first word that is not the plain name of a program."""
    if _ASSIGNMENT.match(raw):
        problem = "sets an environment variable; the environment is fixed"
    elif raw in _RESERVED:
        problem = "is a reserved word of the shell; there is no shell"
    elif not _NAME.match(_unquoted(raw)):
        problem = "is not the plain name of a program"
    else:
        return None
    return Refusal(reason="sh_syntax", message=f"{raw[:64]!r} {problem}; {_ACCEPTED}")


def _unquoted(raw: str) -> str:
    return "".join("".join(piece) for piece in _PIECE.findall(raw))


def _empty(operator: str | None) -> Refusal:
    what = "is empty" if operator is None else f"has no command beside {operator!r}"
    return Refusal(reason="sh_syntax", message=f"command_line {what}; {_ACCEPTED}")


def _syntax(line: str, position: int) -> Refusal:
    char = line[position]
    if char in "'\"":
        what = _in_quotes(line, position)
    elif char in _WHAT:
        what = f"{char!r} at character {position + 1} is {_WHAT[char]}"
    else:
        what = f"{char!a} at character {position + 1} is not plain ASCII text"
    return Refusal(reason="sh_syntax", message=f"{what}; {_ACCEPTED}")


def _in_quotes(line: str, position: int) -> str:
    """Say what is wrong with a quotation."""
    quote = line[position]
    for offset in range(position + 1, len(line)):
        char = line[offset]
        if char == quote:
            break
        if not " " <= char <= "~":
            return f"{char!a} at character {offset + 1} is not plain ASCII text"
        if quote == '"' and char in "$`\\!":
            return f"{char!r} at character {offset + 1} is special between double quotes; use '...'"
    return f"the {quote} at character {position + 1} is never closed"
