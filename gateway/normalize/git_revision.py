"""Revisions a git command may name. Pure.

Every revision is peeled to a commit (`^{commit}`), so that the name of a file's or directory's
object can never be given instead of a commit: what the agent sees of a file's content is always
named by a path. Only `git show` takes `REV:path`, and that path is judged.

Source: gitrevisions(7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gateway.model.action import Refusal

_PEEL: Final = "^{commit}"
_ONE: Final = (
    r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_/+-]|\.(?!\.))*|@(?!\{)|(?=@\{))"
    r"(?:\^[0-9]{0,4}(?!\{)|~[0-9]{0,6}|@\{(?:[0-9]{1,6}|u|upstream|push)\})*"
)
_SINGLE: Final = re.compile(rf"(\^?)({_ONE})(?:\^\{{commit\}})?\Z")
_RANGE: Final = re.compile(rf"({_ONE})?(?:\^\{{commit\}})?(\.\.\.?)({_ONE})?(?:\^\{{commit\}})?\Z")
_LONGEST: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One revision or range, peeled. `path`: the file of `REV:path`, from the top of the tree."""

    text: str
    path: str | None = None


def parse(word: str, *, ranges: bool = True, paths: bool = False) -> Revision | Refusal:
    """Read one operand as a revision."""
    before, colon, path = word.partition(":")
    if colon and not paths:
        return _refuse(word, "REV:path is accepted by git show only")
    if len(before) > _LONGEST:
        return _refuse(word, f"longer than {_LONGEST} characters")
    single = _SINGLE.match(before)
    if single is not None and not (colon and single.group(1)):
        text = f"{single.group(1)}{single.group(2)}{_PEEL}"
        return Revision(text=f"{text}:{path}", path=path) if colon else Revision(text=text)
    both = _RANGE.match(before)
    if both is None or colon or not ranges or not (both.group(1) or both.group(3)):
        return _refuse(word, "not a branch, tag, commit id, REV~N, REV^N, REV@{N} or range")
    sides = [f"{both.group(side) or 'HEAD'}{_PEEL}" for side in (1, 3)]
    return Revision(text=both.group(2).join(sides))


def _refuse(word: str, why: str) -> Refusal:
    return Refusal(reason="sh_operand", message=f"{word[:64]!r} is no accepted revision: {why}")
