"""Strict JSON in, canonical JSON and digests out.

Reading refuses what two parsers could understand differently: duplicate member names, NaN and
Infinity, numbers outside the range every parser keeps exactly (RFC 8259 section 6, RFC 7493
section 2.2), lone surrogates, invalid UTF-8, a byte order mark, and anything deeper or larger than
the limits. Canonical bytes are sorted by code point, without white space, UTF-8; without floats
and astral member names they equal RFC 8785. `digest` is over canonical bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Never

import orjson

from gateway.errors import CounterfoilError
from gateway.model.names import Json

MAX_BYTES: Final = 8 * 1024 * 1024
MAX_DEPTH: Final = 64
MAX_NODES: Final = 100_000
MAX_INT: Final = 2**53 - 1

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_OPENING: Final = frozenset({b"[", b"{"})
_CLOSING: Final = frozenset({b"]", b"}"})


class JsonError(CounterfoilError):
    """The bytes or the value are not JSON as everybody reads it; the message says where."""

    code = "request_invalid"


def loads(raw: bytes, *, max_bytes: int = MAX_BYTES) -> Json:
    """Parse one JSON text strictly.

    Raises:
        JsonError: for anything the module docstring names.
    """
    if len(raw) > max_bytes:
        raise JsonError(f"larger than {max_bytes} bytes")
    _check_nesting(raw)
    try:
        text = raw.decode("utf-8")
        value: Json = json.loads(
            text,
            object_pairs_hook=_members,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_number,
        )
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"not JSON: {error.msg} at character {error.pos}") from None
    check(value)
    return value


def check(value: object) -> None:
    """Refuse a Python value that is not JSON within the limits.

    Raises:
        JsonError: wrong type, non-string or surrogate member name, number out of range, depth,
            node count.
    """
    stack: list[tuple[Any, int]] = [(value, 0)]
    nodes = 0
    while stack:
        item, depth = stack.pop()
        nodes += 1
        if nodes > MAX_NODES:
            raise JsonError(f"more than {MAX_NODES} values")
        if depth > MAX_DEPTH:
            raise JsonError(f"nested deeper than {MAX_DEPTH}")
        kind = type(item)  # the plain types first: nearly every value is of one
        if kind is str or isinstance(item, str):
            if not item.isascii():
                _text(item)
        elif kind is dict or isinstance(item, Mapping):
            for name, member in item.items():
                if not isinstance(name, str):
                    raise JsonError("a member name that is not a string")
                if not name.isascii():
                    _text(name)
                stack.append((member, depth + 1))
        elif item is None or kind is bool:
            continue
        elif isinstance(item, (int, float)):
            _in_range(item)
        elif isinstance(item, Sequence) and not isinstance(item, (bytes, bytearray, memoryview)):
            stack.extend((member, depth + 1) for member in item)
        else:
            raise JsonError(f"a value of type {kind.__name__}")


def dumps(value: Json) -> bytes:
    """Return the canonical bytes of a JSON value.

    Raises:
        JsonError: the value is outside the limits of this module.
    """
    check(value)
    return _dump(value)


def digest(value: Json) -> str:
    """Return `sha256:<hex>` over the canonical bytes of a value."""
    return "sha256:" + hashlib.sha256(dumps(value)).hexdigest()


def sha256_hex(data: bytes) -> str:
    """Return the plain hexadecimal SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def _dump(value: Json) -> bytes:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS)


def _plain(value: object) -> object:
    """Give orjson plain containers for read-only ones."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError


def _in_range(value: float) -> None:
    if isinstance(value, int):
        if abs(value) > MAX_INT:
            raise JsonError("an integer beyond 2^53-1")
    elif not math.isfinite(value):
        raise JsonError("a number that is not finite")


def _text(value: str) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise JsonError("a string with a lone surrogate") from None


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise JsonError(f"duplicate member {twice[:64]!r}")
    return members


def _no_constant(word: str) -> Never:
    raise JsonError(f"{word} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > len(str(MAX_INT)) + 1:
        raise JsonError("an integer beyond 2^53-1")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise JsonError("a number that is not finite")
    return value


def _check_nesting(raw: bytes) -> None:
    """Bound the depth before a recursive parser sees the text."""
    depth = 0
    for token in _TOKEN.finditer(raw):
        mark = token.group()
        if mark in _OPENING:
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonError(f"nested deeper than {MAX_DEPTH}")
        elif mark in _CLOSING:
            depth -= 1
