"""Sets of paths and names as automata over the tokens the matcher itself compiles.

Asked is whether some string lies inside several sets and outside another; the answer is such a
string, the shortest, found breadth first. Unions are made deterministic on the way, up to
MAX_STATES; beyond that the answer is `undetermined`, never "none".

The letters tried are those of any glob involved, `/`, and one that occurs in none and stands for
every other. A caseless set reads the folded form of each letter, as :class:`Caseless` does, and the
plain form beside it where the string is not ASCII; two letters whose folded form is longer stand
for all of that kind. Globs with combining letters are undetermined: folding could join them.
A path is `/`, or components behind `/` that are neither empty nor end in a dot, which is what
normalization lets through.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import Final, TypeAlias

from gateway.decide.glob import Glob, Token, Wild, fold

MAX_STATES: Final = 50_000
SEPARATOR: Final = "/"

_OTHERS: Final = "xyzwvutsrqponmlkjihgfedcba0123456789_-+=,@дфжшщэюя"
_ODD: Final = {"s": "\u017f", "k": "\u212a"}  # long s, and the sign of the kelvin
_LONGER: Final = ("\u0587", "\ufb03")  # folded, these are two and three letters


class Form(Enum):
    """What the strings are."""

    PATH = "path"
    NAME = "name"


class Verdict(Enum):
    """What a search came to."""

    FOUND = "found"
    NONE = "none"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The outcome of a search; `witness` is the string that was found."""

    verdict: Verdict
    witness: str = ""

    @property
    def found(self) -> bool:
        """Whether there is such a string."""
        return self.verdict is Verdict.FOUND

    @property
    def none(self) -> bool:
        """Whether there surely is none."""
        return self.verdict is Verdict.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The union of some globs; the `caseless` ones are compared as denies are."""

    exact: tuple[Glob, ...] = ()
    caseless: tuple[Glob, ...] = ()

    def __or__(self, other: Language) -> Language:
        """Return the union of two."""
        return Language(exact=self.exact + other.exact, caseless=self.caseless + other.caseless)

    @property
    def globs(self) -> tuple[Glob, ...]:
        """Every glob."""
        return self.exact + self.caseless


NOTHING: Final = Language()


def witness(
    inside: Sequence[Language],
    outside: Language = NOTHING,
    *,
    form: Form = Form.PATH,
    max_states: int = MAX_STATES,
) -> Search:
    """Search a string that lies in all of `inside` and not in `outside`."""
    if not all(may_meet(one, other) for one, other in combinations(inside, 2)):
        return Search(verdict=Verdict.NONE)
    letters = _alphabet([glob for one in (*inside, outside) for glob in one.globs], form)
    if letters is None:
        return Search(verdict=Verdict.UNDETERMINED)
    always = frozenset({letters[0], SEPARATOR, *_LONGER})
    wanted = tuple(map(_Machine, inside))
    unwanted = _Machine(outside)
    start = (0, tuple(one.start() for one in wanted), unwanted.start())
    came: dict[_State, tuple[_State, str] | None] = {start: None}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        place, ins, out = state
        if (
            _complete(place, form)
            and all(one.accepts(its) for one, its in zip(wanted, ins, strict=True))
            and not unwanted.accepts(out)
        ):
            return Search(verdict=Verdict.FOUND, witness=_spelled(came, state))
        read = unwanted.reads(out).union(
            *(one.reads(its) for one, its in zip(wanted, ins, strict=True))
        )
        for letter in letters:
            if letter not in always and letter not in read:
                continue  # here it is one like any other
            after = _shape(place, letter) if form is Form.PATH else _NAMED
            if after is None:
                continue
            stepped = tuple(one.step(its, letter) for one, its in zip(wanted, ins, strict=True))
            if not all(one.alive for one in stepped):
                continue
            reached = (after, stepped, unwanted.step(out, letter))
            if reached in came:
                continue
            if len(came) >= max_states:
                return Search(verdict=Verdict.UNDETERMINED)
            came[reached] = (state, letter)
            queue.append(reached)
    return Search(verdict=Verdict.NONE)


def overlap(first: Language, second: Language, *, form: Form = Form.PATH) -> Search:
    """Search a string that lies in both."""
    return witness([first, second], form=form)


def difference(whole: Language, minus: Language, *, form: Form = Form.PATH) -> Search:
    """Search a string of the first that is not in the second; none means it is a subset."""
    return witness([whole], minus, form=form)


def may_meet(first: Language, second: Language) -> bool:
    """Tell quickly that two sets cannot meet, from how their globs begin."""
    starts = [fold(glob.literal) for glob in second.globs]
    return any(
        one.startswith(other) or other.startswith(one)
        for one in (fold(glob.literal) for glob in first.globs)
        for other in starts
    )


# What a path is, as a machine of four places: before it, behind a `/`, in a component, behind a
# dot that may not end it. The root alone ends behind the first `/`.
_BEFORE, _ROOT, _SLASH, _INSIDE, _DOT, _NAMED = range(6)


def _shape(place: int, letter: str) -> int | None:
    if place == _BEFORE:
        return _ROOT if letter == SEPARATOR else None
    if letter == SEPARATOR:
        return _SLASH if place == _INSIDE else None
    return _DOT if letter == "." else _INSIDE


def _complete(place: int, form: Form) -> bool:
    return place in {_ROOT, _INSIDE} if form is Form.PATH else place == _NAMED


@dataclass(frozen=True, slots=True)
class _Reached:
    """Positions of the three readings: as it stands, folded, and plain beside folded."""

    exact: frozenset[int]
    folded: frozenset[int]
    plain: frozenset[int]
    ascii: bool = True

    @property
    def alive(self) -> bool:
        return bool(self.exact or self.folded or self.plain)


_State: TypeAlias = tuple[int, tuple[_Reached, ...], _Reached]


class _Machine:
    """One language, read letter by letter."""

    def __init__(self, language: Language) -> None:
        raw = [glob.tokens for glob in language.caseless]
        self._exact = _Positions([glob.tokens for glob in language.exact])
        self._folded = _Positions(
            [[fold(t) if isinstance(t, str) else t for t in tokens] for tokens in raw]
        )
        self._plain = _Positions(raw)
        self._read: dict[_Reached, frozenset[str]] = {}

    def start(self) -> _Reached:
        return _Reached(self._exact.first, self._folded.first, self._plain.first)

    def step(self, at: _Reached, letter: str) -> _Reached:
        folded = at.folded
        for part in fold(letter):
            folded = self._folded.step(folded, part)
        return _Reached(
            self._exact.step(at.exact, letter),
            folded,
            self._plain.step(at.plain, letter),
            at.ascii and letter.isascii(),
        )

    def reads(self, at: _Reached) -> frozenset[str]:
        """Return the letters that this machine tells from others where it stands."""
        known = self._read.get(at)
        if known is None:
            plain = self._exact.labels(at.exact) | self._plain.labels(at.plain)
            folded = self._folded.labels(at.folded)
            known = plain | {one for letter in folded for one in _variants(letter)}
            self._read[at] = known
        return known

    def accepts(self, at: _Reached) -> bool:
        return (
            self._exact.accepts(at.exact)
            or self._folded.accepts(at.folded)
            or (not at.ascii and self._plain.accepts(at.plain))
        )


class _Positions:
    """The positions of several globs beside each other: edges on letters, and free ones."""

    def __init__(self, many: Iterable[Sequence[Token]]) -> None:
        self._edges: list[list[tuple[str, int]]] = []
        self._free: list[list[int]] = []
        self._ends: set[int] = set()
        starts = [self._glob(tokens) for tokens in many]
        self.first = self._closed(starts)
        self._stepped: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def step(self, at: frozenset[int], letter: str) -> frozenset[int]:
        if not at:
            return at
        known = self._stepped.get((at, letter))
        if known is None:
            known = self._closed(
                to for one in at for what, to in self._edges[one] if _reads(what, letter)
            )
            self._stepped[at, letter] = known
        return known

    def labels(self, at: frozenset[int]) -> frozenset[str]:
        return frozenset(what for one in at for what, _ in self._edges[one] if len(what) == 1)

    def accepts(self, at: frozenset[int]) -> bool:
        return not self._ends.isdisjoint(at)

    def _new(self) -> int:
        self._edges.append([])
        self._free.append([])
        return len(self._edges) - 1

    def _closed(self, starts: Iterable[int]) -> frozenset[int]:
        todo = list(starts)
        found: set[int] = set()
        while todo:
            one = todo.pop()
            if one not in found:
                found.add(one)
                todo += self._free[one]
        return frozenset(found)

    def _glob(self, tokens: Sequence[Token]) -> int:
        start = at = self._new()
        for token in tokens:
            at = self._token(at, token)
        self._ends.add(at)
        return start

    def _token(self, at: int, token: Token) -> int:
        """Add the positions of one token behind `at`; return the last."""
        if isinstance(token, str):
            for letter in token:
                at = self._edge(at, letter)
            return at
        match token:
            case Wild.ONE | Wild.NAME_ONE:
                return self._edge(at, _READS[token])
            case Wild.RUN | Wild.NAME_RUN:
                self._edges[at].append((_READS[token], at))
                end = self._new()
            case Wild.DIRECTORIES:
                within = self._edge(at, _COMPONENT)
                self._edges[within] += [(_COMPONENT, within), (SEPARATOR, at)]
                end = self._new()
            case Wild.SUBTREE:
                beneath = self._edge(at, SEPARATOR)
                self._edges[beneath].append((_ANY, beneath))
                end = self._new()
                self._free[beneath].append(end)
        self._free[at].append(end)
        return end

    def _edge(self, at: int, what: str) -> int:
        to = self._new()
        self._edges[at].append((what, to))
        return to


_COMPONENT: Final = "not /"
_ANY: Final = "any"
_READS: Final = {
    Wild.ONE: _COMPONENT,
    Wild.RUN: _COMPONENT,
    Wild.NAME_ONE: _ANY,
    Wild.NAME_RUN: _ANY,
}


def _reads(what: str, letter: str) -> bool:
    return what in {letter, _ANY} or (what == _COMPONENT and letter != SEPARATOR)


def _alphabet(globs: Sequence[Glob], form: Form) -> tuple[str, ...] | None:
    """Return the letters to try, the likeliest first; None when they cannot be told apart."""
    used = {letter for glob in globs for t in glob.tokens if isinstance(t, str) for letter in t}
    if any(map(_combines, used)):
        return None
    folded = {part for letter in used for part in fold(letter)} | used
    other = next((letter for letter in _OTHERS if letter not in folded), None)
    if other is None:
        return None
    more = {one for letter in folded for one in _variants(letter)} - used
    slash = (SEPARATOR,) if form is Form.PATH or SEPARATOR in used else ()
    rest = (one for one in _LONGER if one not in used | more)
    return (other, *slash, *sorted(used - {SEPARATOR}), *sorted(more - {SEPARATOR}), *rest)


def _variants(letter: str) -> Iterator[str]:
    """Yield letters that folding makes the same, and that an exact set tells apart."""
    for one in (letter, letter.upper(), letter.lower(), _ODD.get(letter, letter)):
        if len(one) == 1:
            yield one


def _combines(letter: str) -> bool:
    return unicodedata.category(letter).startswith("M") or "\u1100" <= letter <= "\u11ff"


def _spelled(came: dict[_State, tuple[_State, str] | None], state: _State) -> str:
    letters: list[str] = []
    step = came[state]
    while step is not None:
        letters.append(step[1])
        step = came[step[0]]
    return "".join(reversed(letters))
