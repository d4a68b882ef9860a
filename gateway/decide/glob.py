"""The glob language of a policy: parsed to tokens once, matched by RE2 in linear time.

    literal   itself
    ?         one character, never `/`
    *         any run of characters without `/`, also none
    **/       zero or more whole directories (at the start of a component)
    /**       (at the end) the directory itself and all beneath it

A glob is absolute (`/srv/data/**`), begins with a variable (`${workspace}/src/*.py`), or floats
(`**/.env`: under any directory). There are no braces, classes, negation or escapes: what cannot
be written cannot be misread. Values of variables are literal, even when they contain `*`.

The text is in normal form C. `fold` is the caseless form in which denies and protected entries are
compared; allows are compared exactly. Tokens are public so that analysis works on the very form
that is matched.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

import re2

from gateway.errors import CounterfoilError

MAX_LENGTH: Final = 4096


class GlobError(CounterfoilError):
    """The text is no glob of this language; the message says what to write instead."""

    code = "policy_invalid"


class Wild(Enum):
    """Everything that is not a literal."""

    ONE = "?"
    RUN = "*"
    DIRECTORIES = "**/"
    SUBTREE = "/**"
    NAME_ONE = "? of a name"
    NAME_RUN = "* of a name"


Token: TypeAlias = str | Wild

_TEXT: Final = {
    Wild.ONE: "?",
    Wild.RUN: "*",
    Wild.DIRECTORIES: "**/",
    Wild.SUBTREE: "/**",
    Wild.NAME_ONE: "?",
    Wild.NAME_RUN: "*",
}
_REGEX: Final = {
    Wild.ONE: "[^/]",
    Wild.RUN: "[^/]*",
    Wild.DIRECTORIES: "(?:[^/]+/)*",
    Wild.SUBTREE: "(?:/.*)?",
    Wild.NAME_ONE: ".",
    Wild.NAME_RUN: ".*",
}
_OF_NAMES: Final[dict[Token, Token]] = {Wild.ONE: Wild.NAME_ONE, Wild.RUN: Wild.NAME_RUN}
_VARIABLE: Final = re.compile(r"\$\{([a-z][a-z0-9_-]*)\}")
_REFUSED: Final = {
    "{": "no braces: write one entry per alternative",
    "}": "no braces: write one entry per alternative",
    "[": "no character classes: write `?` for one character",
    "]": "no character classes: write `?` for one character",
    "\\": "no backslash: there are no escapes, and paths use `/`",
    "$": "`$` stands only in front of a variable, as in `${workspace}`",
}
_OPTIONS: Final = re2.Options()
_OPTIONS.never_capture = True
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Glob:
    """One glob: `text` as the author wrote it, `tokens` with variables filled in."""

    text: str
    tokens: tuple[Token, ...]

    @property
    def literal(self) -> str:
        """The literal start, up to the first wildcard."""
        first = self.tokens[0]
        return first if isinstance(first, str) else ""

    @property
    def effective(self) -> str:
        """The glob with its variables filled in, as text."""
        return "".join(one if isinstance(one, str) else _TEXT[one] for one in self.tokens)

    @property
    def exact(self) -> bool:
        """Whether it names exactly one path."""
        return len(self.tokens) == 1 and isinstance(self.tokens[0], str)


def nfc(text: str) -> str:
    """Return the text in normal form C."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Return the caseless form: NFC, case folding, NFC."""
    if text.isascii():
        return text.lower()
    return nfc(nfc(text).casefold())


def variables_of(text: str) -> tuple[str, ...]:
    """Return the names of the variables a text speaks of."""
    return tuple(_VARIABLE.findall(text))


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Fill in a variable at the start of a plain path.

    Raises:
        GlobError: an unknown variable, or one that is not at the start.
    """
    value, rest = _split_variable(text, variables)
    return value + rest


def parse_path(text: str, variables: Mapping[str, str]) -> Glob:
    """Parse a glob over absolute paths.

    Raises:
        GlobError: for what the module docstring leaves out, and for relative globs that do not
            float.
    """
    value, rest = _split_variable(text, variables)
    _check(rest)
    if not value and not rest.startswith(("/", "**/")) and rest != "**":
        raise GlobError("a relative glob: begin with a variable, `/`, or `**/` (any directory)")
    if value and rest and not rest.startswith("/"):
        raise GlobError("a variable is a whole directory: write `/` after it")
    if rest.startswith("**"):
        rest = "/" + rest
    _check_components(rest)
    tokens = _tokens(value, rest)
    if not tokens:
        raise GlobError("it names the root directory alone: write `/**`")
    return Glob(text=text, tokens=tokens)


def parse_name(text: str) -> Glob:
    """Parse a glob over names that are not paths (servers, tools): literal, `?` and `*` only.

    A `/` in a name is a character like any other.

    Raises:
        GlobError: anything else that looks like a pattern.
    """
    _check(text)
    if "**" in text:
        raise GlobError("`**` is for paths: write `*`")
    tokens = _tokens("", nfc(text))
    return Glob(text=text, tokens=tuple(_OF_NAMES.get(token, token) for token in tokens))


def covering(glob: Glob) -> Glob:
    """Return the glob that covers what `glob` matches and all beneath it."""
    if glob.tokens[-1] is Wild.SUBTREE:
        return glob
    return Glob(text=glob.text, tokens=(*glob.tokens, Wild.SUBTREE))


class Exact:
    """Globs compared as they stand: for allow and ask."""

    __slots__ = ("_find",)

    def __init__(self, globs: Sequence[Glob]) -> None:
        self._find = _compile([glob.tokens for glob in globs])

    def matches(self, path: str) -> bool:
        """Return whether any glob matches the whole path exactly."""
        return self._find(_encode(path)) is not None


class Caseless:
    """Globs compared without regard to case and form: for denies and protected entries.

    A path outside ASCII is compared both ways, since folding may change the number of characters
    that `?` counts: a deny matches whenever either form does.
    """

    __slots__ = ("_exact", "_folded")

    def __init__(self, globs: Sequence[Glob]) -> None:
        self._exact = _compile([glob.tokens for glob in globs])
        self._folded = _compile([_fold_tokens(glob.tokens) for glob in globs])

    def matches(self, path: str) -> bool:
        """Return whether any glob matches the whole path in either form."""
        if self._folded(_encode(fold(path))) is not None:
            return True
        return not path.isascii() and self._exact(_encode(nfc(path))) is not None


def regex(tokens: Sequence[Token]) -> str:
    """Return the RE2 text of tokens, without anchors."""
    return "".join(re.escape(t) if isinstance(t, str) else _REGEX[t] for t in tokens)


def _fold_tokens(tokens: Sequence[Token]) -> tuple[Token, ...]:
    return tuple(fold(token) if isinstance(token, str) else token for token in tokens)


def _encode(path: str) -> bytes:
    """Lone surrogates (bytes that are no text) become `?`, which no literal of a glob contains."""
    return path.encode("utf-8", "replace")


def _never(_path: bytes) -> None:
    """Match nothing: the test of an empty set."""


def _compile(many: Sequence[Sequence[Token]]) -> Callable[[bytes], object]:
    if not many:
        return _never
    text = "(?s)(?:" + "|".join(map(regex, many)) + ")"
    try:
        match: Callable[[bytes], object] = re2.compile(text.encode("utf-8"), _OPTIONS).fullmatch
    except re2.error:
        raise GlobError("too many or too long globs in one rule: split it") from None
    return match


def _split_variable(text: str, variables: Mapping[str, str]) -> tuple[str, str]:
    found = _VARIABLE.match(text)
    if found is None:
        return "", nfc(text)
    name = found.group(1)
    if name not in variables:
        known = ", ".join(sorted(variables)) or "none"
        raise GlobError(f"unknown variable `${{{name}}}` (known: {known})")
    return nfc(variables[name]).rstrip("/"), nfc(text[found.end() :])


def _check(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise GlobError(f"longer than {MAX_LENGTH} characters")
    if _VARIABLE.search(text):
        raise GlobError("a variable stands at the start only")
    for mark, remedy in _REFUSED.items():
        if mark in text:
            raise GlobError(remedy)
    if text.startswith("!"):
        raise GlobError("no negation: write a deny rule")
    if text.startswith("~"):
        raise GlobError("`~` is not expanded: write `${home}`")
    if any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in text):
        raise GlobError("a control character")


def _check_components(rest: str) -> None:
    if not rest:
        return
    components = rest[1:].split("/")
    if "**/**" in rest:
        raise GlobError("`**/**` says no more than `**`: write that")
    for component in components:
        if component in {"", ".", ".."}:
            raise GlobError("an empty, `.` or `..` component: write the plain path")
        if "**" in component and component != "**":
            raise GlobError("`**` stands alone between slashes: write `*` inside a name")


_MARK: Final = re.compile(r"/\*\*\Z|\*\*/|\*|\?")


def _tokens(value: str, rest: str) -> tuple[Token, ...]:
    """Split into literals and wildcards; neighbouring literals are joined."""
    tokens: list[Token] = []
    literal = value
    end = 0
    for mark in _MARK.finditer(rest):
        literal += rest[end : mark.start()]
        if literal:
            tokens.append(literal)
        tokens.append(Wild(mark.group()))
        literal = ""
        end = mark.end()
    literal += rest[end:]
    if literal:
        tokens.append(literal)
    return tuple(tokens)
