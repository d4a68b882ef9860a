"""Strict YAML 1.2: plain values out, with the line of every key and item.

Reads parser events, so that nothing recursive sees hostile nesting. Refuses what two readers could
understand differently or what a policy has no use for: duplicate keys, keys that are not strings,
anchors, aliases, tags, merge keys, directives other than YAML 1.2, several documents, a byte order
mark, invalid UTF-8, numbers with a leading zero, infinities, anything over the limits.
Plain scalars follow the core schema: `no`, `on`, `1_000` and `12:30` are strings.
Source: YAML 1.2.2 section 10.3.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Never, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gateway.errors import PolicyError
from gateway.model.names import Json

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_DEPTH: Final = 16
MAX_NODES: Final = 400_000
MAX_INT: Final = 2**53 - 1

Path: TypeAlias = tuple[str | int, ...]

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL: Final = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """One document: sequences are tuples; `lines` maps the path of a key or item to its line."""

    source: str
    value: Json
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """Return the line of the deepest part of `path` that stands in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


@dataclass(slots=True, kw_only=True)
class _Frame:
    """A collection being read; `key` is the key whose value comes next."""

    path: Path
    mapping: dict[str, Json] | None
    items: list[Json]
    key: str | None = None


@dataclass(slots=True, kw_only=True)
class _Reader:
    source: str
    lines: dict[Path, int] = field(default_factory=dict)
    stack: list[_Frame] = field(default_factory=list)
    nodes: int = 0
    documents: int = 0
    value: Json = None

    def fail(self, message: str, line: int) -> Never:
        raise PolicyError(message, source=self.source, line=line)

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self.fail("a second document; a file holds one", line)
            if event.version not in {None, (1, 2)} or event.tags:
                self.fail("a directive; files are YAML 1.2 without tags", line)
        elif isinstance(event, AliasEvent):
            self.fail("an alias (*name); write the value out", line)
        elif isinstance(event, (ScalarEvent, MappingStartEvent, SequenceStartEvent)):
            self.node(event, line)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self.close()

    def node(self, event: Any, line: int) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.fail(f"more than {MAX_NODES} values", line)
        if event.anchor is not None:
            self.fail("an anchor (&name); write the value out", line)
        if event.tag is not None:
            self.fail("a tag (!name); plain values only", line)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.mapping is not None and frame.key is None:
            self.name(frame, event, line)
            return
        path = self.place(frame, line)
        if isinstance(event, ScalarEvent):
            self.put(frame, self.scalar(event, line))
            return
        if len(self.stack) >= MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH}", line)
        mapping: dict[str, Json] | None = {} if isinstance(event, MappingStartEvent) else None
        self.stack.append(_Frame(path=path, mapping=mapping, items=[]))

    def name(self, frame: _Frame, event: Any, line: int) -> None:
        key = self.scalar(event, line) if isinstance(event, ScalarEvent) else None
        if not isinstance(key, str):
            self.fail("a key that is not a string; quote it", line)
        if key == "<<" and event.style is None:
            self.fail("a merge key (<<); write the keys out", line)
        assert frame.mapping is not None  # noqa: S101  # only mappings have keys
        if key in frame.mapping:
            self.fail(f"duplicate key {key!r}", line)
        frame.key = key
        frame.mapping[key] = None
        self.lines[(*frame.path, key)] = line

    def place(self, frame: _Frame | None, line: int) -> Path:
        if frame is None:
            return ()
        if frame.key is not None:
            return (*frame.path, frame.key)
        path = (*frame.path, len(frame.items))
        self.lines[path] = line
        return path

    def put(self, frame: _Frame | None, value: Json) -> None:
        if frame is None:
            self.value = value
        elif frame.mapping is not None and frame.key is not None:
            frame.mapping[frame.key] = value
            frame.key = None
        else:
            frame.items.append(value)

    def close(self) -> None:
        frame = self.stack.pop()
        value: Json = tuple(frame.items) if frame.mapping is None else frame.mapping
        self.put(self.stack[-1] if self.stack else None, value)

    def scalar(self, event: Any, line: int) -> Json:
        text: str = event.value
        if event.style is not None:
            return text
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        if _INT.fullmatch(text) or _BASED.fullmatch(text):
            return self.integer(text, line)
        if _LEADING_ZERO.fullmatch(text):
            self.fail("a number with a leading zero; quote it, or write 0o for octal", line)
        if _NOT_FINITE.fullmatch(text):
            self.fail("a number that is not finite", line)
        if _FLOAT.fullmatch(text):
            value = float(text)
            if value in {float("inf"), float("-inf")}:
                self.fail("a number that is not finite", line)
            return value
        return text

    def integer(self, text: str, line: int) -> int:
        if len(text) > len(str(MAX_INT)) + 2:
            self.fail("an integer beyond 2^53-1", line)
        value = int(text, 0)
        if abs(value) > MAX_INT:
            self.fail("an integer beyond 2^53-1", line)
        return value


def read(source: str, data: bytes) -> Parsed:
    """Parse one YAML file.

    Raises:
        PolicyError: for anything the module docstring names, with its line.
    """
    if len(data) > MAX_BYTES:
        raise PolicyError(f"larger than {MAX_BYTES} bytes", source=source)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PolicyError("not UTF-8", source=source, line=line) from None
    if text.startswith("\ufeff"):
        raise PolicyError("a byte order mark; save as plain UTF-8", source=source, line=1)
    reader = _Reader(source=source)
    for event in _events(source, text):
        reader.take(event)
    if reader.documents == 0:
        raise PolicyError("an empty file", source=source, line=1)
    return Parsed(source=source, value=reader.value, lines=reader.lines)


def _events(source: str, text: str) -> Iterator[Any]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        problem = error.problem or error.context or "not YAML"
        raise PolicyError(f"not YAML: {problem}", source=source, line=line) from None
    except YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise PolicyError(
            "not YAML: a character YAML does not allow", source=source, line=line
        ) from None
