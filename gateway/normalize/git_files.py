"""A repository's own files: they are plain, and nothing but git writes them.

Git prints what it cannot read of its own files (a line of `packed-refs` or `shallow`, the name of
a branch being rebased), so a link among them shows the file it leads to, inside a root or not.
`plain` refuses every symlink, device and FIFO beneath a git directory, and a second name (hard
link) of what is text. Objects may be hard links, as a local clone makes them: they are no text.

`belongs` says whether a path lies in a git directory, by name or by what the directory holds. What
is judged there must still stand when git starts, and what git runs later (hooks) must not come
from an act on a file, so writes and deletes refuse it. `is_object` tells the files that hold the
content of others, compressed; reading one would pass by every rule about the file it shows.

Source: gitrepository-layout(5), CWE-59, CWE-62, CWE-367.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from gateway.kit import posix
from gateway.model.action import Refusal
from gateway.normalize import walk

GIT: Final = ".git"

_STRICT: Final = posix.RESOLVE_NO_SYMLINKS | posix.RESOLVE_NO_XDEV
# Not read by any accepted command: hooks, the git directories of submodules, large-file stores.
_PASSED_OVER: Final = frozenset({"hooks", "modules", "lfs", "annex"})
_TEXT_AMONG_OBJECTS: Final = frozenset({"commit-graph-chain", "alternates", "http-alternates"})
_PLAIN_KINDS: Final = frozenset({"f", "d", "s"})  # a socket is fsmonitor's, which is switched off
_SHARED: Final = ("objects", "commondir")  # a git directory has one of them


def plain(fd: int, shown: str) -> Refusal | None:
    """Return why something beneath an open git directory is not a plain file, or None."""
    found = walk.walk(
        fd,
        shown,
        enter=lambda one: one.relative not in _PASSED_OVER,
        budget=walk.Budget(),
        remedy="a person may run `git gc`",
    )
    if isinstance(found, Refusal):
        return _refusal(found.message)
    for one in found:
        if one.relative in _PASSED_OVER:
            continue
        if one.kind == "l":
            return _refusal(f"{shown}/{one.relative} is a symlink")
        if one.kind not in _PLAIN_KINDS:
            return _refusal(f"{shown}/{one.relative} is no plain file")
        is_object = one.relative.startswith("objects/") and one.name not in _TEXT_AMONG_OBJECTS
        if one.kind == "f" and one.links > 1 and not is_object:
            return _refusal(f"{shown}/{one.relative} has another name (hard link)")
    return None


def is_git_directory(fd: int) -> bool:
    """Whether an open directory holds what git takes for a repository."""
    return _has(fd, "HEAD") and any(_has(fd, name) for name in _SHARED)


def belongs(root_fd: int, relative: str) -> Refusal | None:
    """Return why a path beneath a root must not be written, if it lies in a git directory."""
    parts = relative.split("/")
    if any(part.lower() == GIT for part in parts):
        return _own(relative)
    for depth in range(len(parts)):
        above = "/".join(parts[:depth]) or "."
        try:
            fd = posix.open_beneath(root_fd, above, os.O_PATH | os.O_DIRECTORY, resolve=_STRICT)
        except OSError as error:
            return _refusal(f"{above} cannot be looked at: {error.strerror}")
        try:
            if is_git_directory(fd):
                return _own(relative)
        finally:
            os.close(fd)
    return None


def is_object(path: str) -> bool:
    """Whether a path names stored content: it shows a file, and no rule about that file sees it."""
    parts = path.lower().split("/")
    return GIT in parts and "objects" in parts[parts.index(GIT) :]


def _has(fd: int, name: str) -> bool:
    try:
        mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _own(relative: str) -> Refusal:
    return _refusal(
        f"{relative[:256]} is among a git repository's own files; only git changes them"
    )


def _refusal(message: str) -> Refusal:
    return Refusal(reason="git_repository", message=message)
