"""The tables a command grammar is written in. Frozen data; the engine alone interprets it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

MAX_OPERANDS: Final = 256

# What an option's value may look like. None begins a program's name or a file's.
KINDS: Final = {
    "number": re.compile(r"[0-9]{1,9}"),
    "count": re.compile(r"[+-]?[0-9]{1,12}(?:b|[kKMG]B?|[KMG]iB)?"),
    "pattern": re.compile(r"[^\0]{0,2048}"),
    "text": re.compile(r"[^\0-\x1f\x7f]{1,512}"),
    # Every `%` must be a placeholder that prints a stored fact; `%G` would run a program.
    "format": re.compile(
        r"(?:[^%\0-\x08\x0b-\x1f\x7f]|%[+ -]?(?:[HhTtPpDdSsfbBnmeN%]|[ac][nNeEdDrtisIlLh]"
        r"|x[0-9A-Fa-f]{2}|C(?:red|green|blue|reset|\([a-z ]{1,32}\))))"
        r"{1,512}"
    ),
    "revision": re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_./+@^~-]{0,255}"),
    "letters": re.compile(r"[A-Za-z]{1,16}"),
    # Only `*` besides plain characters: every matcher reads that the same way.
    "glob": re.compile(r"[A-Za-z0-9_.,+@%=* -]{1,256}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. `long` without `--`, `short` one character; at least one of them.

    `value`: a key of `KINDS`, or None for an option without value. `choices`: the only values, if
    any. `attached`: the value can only be joined on (`--color=never`); `bare`: it may be left out.
    `implies`: the key of the option that this one is another spelling of.
    """

    long: str | None = None
    short: str | None = None
    value: str | None = None
    choices: tuple[str, ...] = ()
    attached: bool = False
    bare: bool = False
    implies: str | None = None

    @property
    def key(self) -> str:
        """The name it is known by once parsed."""
        return self.long or self.short or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One program, or one subcommand of one.

    `number`: the key of the option that `-5` means. `pattern`: the key of the option that the
    first operand is a value of, unless the option was given. `split`: operands before `--` are not
    files (revisions), those after are. `operand`: what a file operand may be. `reads`: file
    operands are read, not only listed. `stdin`: without operand it reads standard input.
    `recursive`: the key of the option that makes it walk. `maximum`: how many operands.
    `hints`: what to say about refused options, by the option as spelled.
    """

    name: str
    options: tuple[Option, ...]
    number: str | None = None
    pattern: str | None = None
    split: bool = False
    operand: Literal["file", "any"] = "file"
    reads: bool = True
    stdin: bool = False
    recursive: str | None = None
    maximum: int = MAX_OPERANDS
    hints: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A command as its grammar understands it.

    `options`: key and value in the order given. `operands`: files, or what stands before `--` when
    the tool splits; `paths`: what stands after it then.
    """

    tool: Tool
    options: tuple[tuple[str, str | None], ...] = ()
    operands: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def has(self, *keys: str) -> bool:
        """Return whether any of these options was given."""
        return any(key in keys for key, _ in self.options)

    def values(self, key: str) -> tuple[str, ...]:
        """Return every value given for an option."""
        return tuple(value for name, value in self.options if name == key and value is not None)


def flags(*spelled: str) -> tuple[Option, ...]:
    """Return options without value from spellings such as `-n --number`."""
    return tuple(_option(one, None) for one in spelled)


def valued(kind: str, *spelled: str) -> tuple[Option, ...]:
    """Return options with a value of a kind, from spellings such as `-n --lines`."""
    return tuple(_option(one, kind) for one in spelled)


def _option(spelled: str, kind: str | None) -> Option:
    words = spelled.split()
    return Option(
        long=next((word[2:] for word in words if word.startswith("--")), None),
        short=next((word[1:] for word in words if not word.startswith("--")), None),
        value=kind,
    )
