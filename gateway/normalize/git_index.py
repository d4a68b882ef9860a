"""The paths a repository tracks: a bounded reader of its index file, versions 2 to 4. Pure.

Only names are taken from it, none longer than a path may be: in version 4 a name begins as the one
before it, so that a small file could spell endless ones. An index that says that part of it is
elsewhere (split, or sparse with whole directories folded into one entry) is refused: its names
would not be all.

Source: gitformat-index(5).
"""

from __future__ import annotations

import struct
from typing import Final

from gateway.model.action import Refusal
from gateway.normalize.spelling import MAX_PATH_BYTES

MAX_BYTES: Final = 32 * 1024 * 1024
MAX_ENTRIES: Final = 100_000

_HEADER: Final = struct.Struct(">4sII")
_FIXED: Final = 40  # ten numbers of what stat said
_MODE: Final = struct.Struct(">I")
_FLAGS: Final = struct.Struct(">H")
_EXTENSION: Final = struct.Struct(">4sI")
_EXTENDED: Final = 0x4000
_TREE: Final = 0o040000
_SUBMODULE: Final = 0o160000
_COMPRESSED: Final = 4  # the version whose names share their beginnings


class _BadIndexError(Exception):
    pass


def tracked(
    raw: bytes, *, hash_bytes: int = 20, submodules: bool = False
) -> tuple[str, ...] | Refusal:
    """Return the tracked files, or the tracked submodules, or why the index cannot be read."""
    try:
        return _tracked(raw, hash_bytes, submodules=submodules)
    except (_BadIndexError, struct.error, IndexError, UnicodeDecodeError) as error:
        why = str(error) or type(error).__name__
        message = f"the repository's index cannot be read: {why}"
        return Refusal(reason="git_repository", message=message)


def _tracked(raw: bytes, hash_bytes: int, *, submodules: bool) -> tuple[str, ...]:
    if len(raw) > MAX_BYTES:
        raise _BadIndexError(f"larger than {MAX_BYTES} bytes")
    magic, version, count = _HEADER.unpack_from(raw)
    if magic != b"DIRC" or version not in {2, 3, 4} or count > MAX_ENTRIES:
        raise _BadIndexError(f"not an index of version 2 to 4 with at most {MAX_ENTRIES} entries")
    at = _HEADER.size
    end = len(raw) - hash_bytes
    paths: dict[bytes, None] = {}
    name = b""
    for _ in range(count):
        start = at
        (mode,) = _MODE.unpack_from(raw, at + 24)
        at += _FIXED + hash_bytes
        (flags,) = _FLAGS.unpack_from(raw, at)
        at += 4 if flags & _EXTENDED and version > 2 else 2  # noqa: PLR2004 - as the format says
        keep = b""
        if version == _COMPRESSED:
            strip, at = _varint(raw, at)
            if strip > len(name):
                raise _BadIndexError("a name is shorter than nothing")
            keep = name[: len(name) - strip]
        stop = raw.find(b"\0", at, end)
        if stop < 0:
            raise _BadIndexError("a name does not end")
        name = keep + raw[at:stop]
        if len(name) > MAX_PATH_BYTES:
            raise _BadIndexError(f"a name is longer than {MAX_PATH_BYTES} bytes")
        at = stop + 1
        if version != _COMPRESSED:
            at = start + ((stop - start + 8) // 8) * 8
        if mode == _TREE:
            raise _BadIndexError("it is sparse; a person may run `git sparse-checkout disable`")
        if (mode == _SUBMODULE) is submodules:
            paths[name] = None
    _check_extensions(raw, at, end)
    return tuple(path.decode() for path in paths)


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = raw[at] & 0x7F
    while raw[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (raw[at] & 0x7F)
        if value > MAX_BYTES:
            raise _BadIndexError("a number is too large")
    return value, at + 1


def _check_extensions(raw: bytes, at: int, end: int) -> None:
    """Refuse an extension that must be understood: those begin with a small letter."""
    while at < end:
        name, size = _EXTENSION.unpack_from(raw, at)
        if not b"A" <= name[:1] <= b"Z":
            raise _BadIndexError(f"it needs the extension {name!r}")
        at += _EXTENSION.size + size
    if at != end:
        raise _BadIndexError("it does not end where it says")
