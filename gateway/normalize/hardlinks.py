"""The protected names of a file that has more than one name.

A hard link is the same object under another name, so a file that is protected, or that a rule
denies by its name, could be reached by a name no rule speaks of. For a file with a link count above
1 its other names are looked for: among the protected files and directories given by their absolute
path, and in the root it was found in. The walk follows no symlink, stays on one device and ends
after a fixed number of entries.

Source: CWE-62 (hard link following).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from gateway.model.plan import Identity

MAX_ENTRIES: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What is protected, as assembly knows it.

    `is_protected` judges a name by the policy's protected patterns and those of its denies.
    `literal`: absolute paths of protected files and directories outside the roots too (keys, log,
    policy, key stores).
    """

    is_protected: Callable[[str], bool]
    literal: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherNames:
    """`protected`: the protected names found. `complete`: whether the whole place was looked at."""

    protected: tuple[str, ...]
    complete: bool


def other_names(
    guard: Guard, root: str, identity: Identity, links: int, *, max_entries: int = MAX_ENTRIES
) -> OtherNames:
    """Look for the protected names of an object; ends early when all its names are known."""
    seen: set[str] = set()
    protected: list[str] = []
    left = max_entries
    for top, always in (*((literal, True) for literal in guard.literal), (root, False)):
        for path, inode in _entries(top):
            left -= 1
            if left < 0:
                return OtherNames(protected=tuple(protected), complete=False)
            if inode != identity.inode or path in seen or not _same(path, identity):
                continue
            seen.add(path)
            if always or guard.is_protected(path):
                protected.append(path)
            if len(seen) >= links:
                return OtherNames(protected=tuple(protected), complete=True)
    return OtherNames(protected=tuple(protected), complete=True)


def _same(path: str, identity: Identity) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (identity.device, identity.inode)


def _entries(top: str) -> Iterator[tuple[str, int]]:
    """Yield path and inode number of `top` and everything beneath it on the same device."""
    try:
        found = os.lstat(top)
    except OSError:
        return
    yield top, found.st_ino
    waiting = [top]
    while waiting:
        directory = waiting.pop()
        try:
            entries = os.scandir(directory)
        except OSError:
            continue
        with entries:
            for entry in entries:
                yield entry.path, entry.inode()
                if entry.is_dir(follow_symlinks=False) and _on(entry, found.st_dev):
                    waiting.append(entry.path)


def _on(entry: os.DirEntry[str], device: int) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_dev == device
    except OSError:
        return False
