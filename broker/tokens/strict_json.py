"""JSON as one meaning only: what two parsers could read differently is refused.

Refused: more than the size asked for, bytes that are not UTF-8, a byte order mark, a repeated
member, NaN and Infinity, any number that is not an integer below 2^53, a lone surrogate, nesting
deeper than eight.

Source: RFC 7493 (I-JSON), RFC 8725 section 2.4 (substitution by parser differences).
"""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 8
_MAX_INTEGER = 2**53 - 1
_OPEN, _CLOSE = "[{", "]}"


def loads(raw: bytes, *, max_bytes: int) -> Any:
    """Parse `raw`; raises ValueError with the rule it broke."""
    if len(raw) > max_bytes:
        raise ValueError(f"longer than {max_bytes} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    _check_depth(text)
    value = json.loads(
        text,
        object_pairs_hook=_no_repeats,
        parse_int=_small_integer,
        parse_float=_refuse,
        parse_constant=_refuse,
    )
    _check_text(value)
    return value


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth, in_string, escaped = 0, False, False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == '"':
            in_string = True
        elif character in _OPEN:
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError(f"nested deeper than {MAX_DEPTH}")
        elif character in _CLOSE:
            depth -= 1


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is repeated")
    return members


def _small_integer(digits: str) -> int:
    if len(digits) > len(str(_MAX_INTEGER)) + 1 or abs(int(digits)) > _MAX_INTEGER:
        raise ValueError("an integer is too large")
    return int(digits)


def _refuse(number: str) -> None:
    raise ValueError(f"{number[:16]} is not an integer")


def _check_text(value: object) -> None:
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("a lone surrogate") from None
    elif isinstance(value, dict):
        for name, member in value.items():
            _check_text(name)
            _check_text(member)
    elif isinstance(value, list):
        for item in value:
            _check_text(item)
