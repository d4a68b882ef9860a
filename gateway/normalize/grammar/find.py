"""find: its own small expression language. Tests only; nothing is run, written or deleted.

    find [START...] [-maxdepth N] [-mindepth N] [EXPRESSION]
    tests: -name -iname -path -ipath -type -size -mtime -mmin -newer -empty
    joined by nothing (and), -a, -o, ! and parentheses; -print is accepted at the very end

`-maxdepth` and `-mindepth` count for the whole walk wherever they stand; without `-o`, `!` and
parentheses they are moved to the front, otherwise they must stand there. What would be printed is
worked out with three values, so that a test nobody can know from the name alone counts as maybe.

Source: XCU find, GNU findutils.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import Final, TypeAlias

from gateway.model.action import Refusal

NAME: Final = "find"
MAX_TOKENS: Final = 64
MAX_STARTS: Final = 64

_PATTERN: Final = re.compile(r"[^\0-\x1f\x7f]{1,256}")
_TESTS: Final = {
    "-name": _PATTERN,
    "-iname": _PATTERN,
    "-path": _PATTERN,
    "-ipath": _PATTERN,
    "-type": re.compile(r"[fdlpsbc](?:,[fdlpsbc]){0,6}"),
    "-size": re.compile(r"[+-]?[0-9]{1,12}[cwbkMG]?"),
    "-mtime": re.compile(r"[+-]?[0-9]{1,9}"),
    "-mmin": re.compile(r"[+-]?[0-9]{1,9}"),
    "-newer": _PATTERN,
    "-empty": None,
}
_DEPTHS: Final = ("-maxdepth", "-mindepth")
_DEPTH: Final = re.compile(r"[0-9]{1,4}")
_SAME: Final = {"-not": "!", "-or": "-o", "-and": "-a", "-wholename": "-path"}
_ACCEPTED: Final = (
    "accepted are -maxdepth -mindepth -name -iname -path -ipath -type -size -mtime -mmin -newer"
    " -empty, with -a -o ! ( ), and -print at the end"
)

Kleene: TypeAlias = bool | None  # None is maybe


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A test with its value, or one of `! -o ( )`."""

    word: str
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """A find command: where it starts, how deep it goes, what it prints."""

    starts: tuple[str, ...] = ()
    maxdepth: int | None = None
    mindepth: int | None = None
    tokens: tuple[Token, ...] = ()

    def files(self) -> tuple[str, ...]:
        """Return the files that tests look at (`-newer`)."""
        return tuple(one.value for one in self.tokens if one.word == "-newer" and one.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a walk met: its base name, its path as find spells it, its type letter."""

    name: str
    path: str
    kind: str


class _Refuse(Exception):  # noqa: N818 - it carries a verdict to the edge of this module
    pass


def parse(words: Sequence[str]) -> Find | Refusal:
    """Read the words after `find`."""
    try:
        return _parse(list(words))
    except _Refuse as refuse:
        return Refusal(reason="sh_option", message=f"find: {refuse}")


def serialize(find: Find) -> tuple[str, ...]:
    """Write the words after `find`."""
    words = list(find.starts)
    if find.maxdepth is not None:
        words += ["-maxdepth", str(find.maxdepth)]
    if find.mindepth is not None:
        words += ["-mindepth", str(find.mindepth)]
    for token in find.tokens:
        words.append(token.word)
        if token.value is not None:
            words.append(token.value)
    return tuple(words)


def prints(find: Find, entry: Entry) -> Kleene:
    """Return whether find would print an entry; None when its name and type do not tell."""
    if not find.tokens:
        return True
    value, _ = _either(find.tokens, 0, entry)
    return value


def _parse(words: list[str]) -> Find:
    count = next((i for i, word in enumerate(words) if _begins(word)), len(words))
    starts, rest = words[:count], words[count:]
    if count > MAX_STARTS or any(not word or "\n" in word for word in starts):
        raise _Refuse(f"a starting point is empty or odd, or there are more than {MAX_STARTS}")
    depths: dict[str, int] = {}
    tokens: list[Token] = []
    late = False
    while rest:
        word = rest.pop(0)
        word = _SAME.get(word, word)
        if word in _DEPTHS:
            late = late or bool(tokens)
            if word in depths:
                raise _Refuse(f"{word} is given twice")
            depths[word] = int(_value(word, rest, _DEPTH))
        elif word == "-print" and not rest:
            if any(token.word == "-o" for token in tokens):
                raise _Refuse("-print after -o prints only one branch; leave it out")
        elif word == "-a":
            _check_joint(tokens, rest)
        elif word in {"!", "-o", "(", ")"}:
            tokens.append(Token(word=word))
        elif word in _TESTS:
            pattern = _TESTS[word]
            value = None if pattern is None else _value(word, rest, pattern)
            tokens.append(Token(word=word, value=value))
        else:
            raise _Refuse(f"{word[:64]!r} is not accepted; {_ACCEPTED}")
    if len(tokens) > MAX_TOKENS:
        raise _Refuse(f"the expression has more than {MAX_TOKENS} parts")
    if late and any(token.value is None and token.word != "-empty" for token in tokens):
        raise _Refuse("-maxdepth and -mindepth come before the other tests")
    _check_grammar(tokens)
    return Find(
        starts=tuple(starts),
        maxdepth=depths.get("-maxdepth"),
        mindepth=depths.get("-mindepth"),
        tokens=tuple(tokens),
    )


def _begins(word: str) -> bool:
    """Return whether a word begins the expression."""
    return word.startswith("-") or word in {"(", ")", "!", ","}


def _value(word: str, rest: list[str], pattern: re.Pattern[str]) -> str:
    if not rest:
        raise _Refuse(f"{word} needs a value")
    value = rest.pop(0)
    if not pattern.fullmatch(value):
        raise _Refuse(f"the value of {word} is not of the accepted form")
    return value


def _check_joint(tokens: list[Token], rest: list[str]) -> None:
    """Refuse an `-a` that joins nothing; the others may be left out, since and is the default."""
    if (
        not tokens
        or tokens[-1].word in {"!", "-o", "("}
        or not rest
        or rest[0] in {"-o", ")", "-a"}
    ):
        raise _Refuse("-a has nothing on one side")


def _check_grammar(tokens: list[Token]) -> None:
    """Refuse what is not an expression: operators without operands, unbalanced parentheses."""
    depth = 0
    before = "("
    for word in [token.word for token in tokens]:
        wants_operand = before in {"(", "!", "-o"}
        if word in {"-o", ")"} and wants_operand:
            raise _Refuse(f"nothing stands before {word}")
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth < 0:
            break
        before = word
    if depth or (tokens and before in {"(", "!", "-o"}):
        raise _Refuse("the expression is not complete, or a parenthesis has no partner")


def _either(tokens: Sequence[Token], at: int, entry: Entry) -> tuple[Kleene, int]:
    value, at = _both(tokens, at, entry)
    while at < len(tokens) and tokens[at].word == "-o":
        other, at = _both(tokens, at + 1, entry)
        value = True if value or other else (None if None in {value, other} else False)
    return value, at


def _both(tokens: Sequence[Token], at: int, entry: Entry) -> tuple[Kleene, int]:
    value, at = _one(tokens, at, entry)
    while at < len(tokens) and tokens[at].word not in {"-o", ")"}:
        other, at = _one(tokens, at, entry)
        value = (
            False
            if value is False or other is False
            else (None if None in {value, other} else True)
        )
    return value, at


def _one(tokens: Sequence[Token], at: int, entry: Entry) -> tuple[Kleene, int]:
    token = tokens[at]
    if token.word == "!":
        value, at = _one(tokens, at + 1, entry)
        return (None if value is None else not value), at
    if token.word == "(":
        value, at = _either(tokens, at + 1, entry)
        return value, at + 1
    return _test(token.word, token.value or "", entry), at + 1


def _test(word: str, value: str, entry: Entry) -> Kleene:
    if word == "-type":
        return entry.kind in value.split(",")
    if word in {"-name", "-iname", "-path", "-ipath"}:
        subject = entry.name if word in {"-name", "-iname"} else entry.path
        return _matches(subject, value, caseless=word.startswith("-i"))
    return None


def _matches(subject: str, pattern: str, *, caseless: bool) -> Kleene:
    """Match a glob where every reader agrees; classes, escapes and other alphabets are maybe."""
    if any(mark in pattern for mark in "[\\") or not (subject + pattern).isascii():
        return None
    return _compiled(pattern, caseless=caseless).match(subject) is not None


@lru_cache(maxsize=64)
def _compiled(pattern: str, *, caseless: bool) -> re.Pattern[str]:
    return re.compile(translate(pattern), re.IGNORECASE if caseless else 0)
