"""Traces: what happened in one session, as JSONL events (DESIGN.md section 5).

    {"event":"prompt","text":..}
    {"event":"tools","server":..,"tools":[{name,description,inputSchema}]}
    {"event":"call","id":..,"server":..,"tool":..,"arguments":{..}}
    {"event":"call","id":..,"request":<ActionRequest>}
    {"event":"result","id":..,"content":[{"type":"text","text":..}],"isError":false}

Read strictly: an unknown event or key, an id that stands twice, a result before its call are
refused with file and line. A bundle is JSONL of `{"name":..,"events":[..]}`, other members are
passed over; both may be gzipped.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO, Final, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from gateway.errors import CounterfoilError
from gateway.kit import canon
from gateway.model.names import Json
from gateway.model.request import ActionRequest
from gateway.normalize.request import parse_request

MAX_LINE: Final = 64 * 1024 * 1024
GZIP: Final = b"\x1f\x8b"

Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=256)]


class TraceError(CounterfoilError):
    """The trace cannot be read; the message names the line and the member."""

    code = "trace_invalid"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Prompt(_Strict):
    """What the user asked for."""

    event: Literal["prompt"]
    text: str


class Tool(BaseModel):
    """A tool as its server describes it; members beside these are the server's own."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    name: Text
    description: str = ""
    inputSchema: Mapping[str, Any] = Field(default_factory=dict)  # noqa: N815  # MCP's spelling


class Tools(_Strict):
    """The tools a server offers."""

    event: Literal["tools"]
    server: Text
    tools: tuple[Tool, ...]


class Call(_Strict):
    """One act: a tool call of a server, or a whole request."""

    event: Literal["call"]
    id: Text
    server: Text | None = None
    tool: Text | None = None
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    request: Mapping[str, Any] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Call:
        mcp = self.server is not None and self.tool is not None
        if mcp is (self.request is not None) or (self.request and self.server):
            raise ValueError("write server and tool, or request")
        return self

    def to_request(self) -> ActionRequest:
        """Return it as a door would hand it on; a request of the wrong shape is a malformed one."""
        if self.request is None:
            params: dict[str, Json] = {
                "server": self.server,
                "tool": self.tool,
                "arguments": dict(self.arguments),
            }
            return ActionRequest(tool="mcp.call", params=params, id=self.id)
        try:
            return parse_request(canon.dumps(dict(self.request)))
        except canon.JsonError as error:
            return ActionRequest(tool="", params={}, malformed=str(error))


class Result(_Strict):
    """What came back of a call; nothing, if the call was denied."""

    event: Literal["result"]
    id: Text
    content: tuple[Mapping[str, Any], ...] = ()
    isError: bool = False  # noqa: N815  # MCP's spelling


Event: TypeAlias = Annotated[Prompt | Tools | Call | Result, Field(discriminator="event")]
_EVENT: Final[TypeAdapter[Prompt | Tools | Call | Result]] = TypeAdapter(Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One session. `name` is None for a trace that stands alone."""

    name: str | None
    events: tuple[Prompt | Tools | Call | Result, ...]


def read_trace(stream: BinaryIO, source: str) -> Trace:
    """Read one session, an event a line.

    Raises:
        TraceError: with source and line.
    """
    lines = list(_lines(stream, source))
    places = [f"{source}:{number}" for number, _ in lines]
    return _trace(None, [value for _, value in lines], places)


def read_bundle(stream: BinaryIO, source: str) -> Iterator[Trace]:
    """Yield the sessions of a bundle, a session a line.

    Raises:
        TraceError: with source, line and event.
    """
    for number, value in _lines(stream, source):
        here = f"{source}:{number}"
        if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
            raise TraceError(f"{here}: a line of a bundle is an object with `name` and `events`")
        events = value.get("events")
        if not isinstance(events, Sequence) or isinstance(events, str):
            raise TraceError(f"{here}: events: write a list")
        places = [f"{here}: event {i + 1}" for i in range(len(events))]
        yield _trace(str(value["name"]), list(events), places)


def _trace(name: str | None, values: Sequence[object], places: Sequence[str]) -> Trace:
    events = []
    called: set[str] = set()
    for value, place in zip(values, places, strict=True):
        try:
            event = _EVENT.validate_python(value)
        except ValidationError as error:
            raise TraceError(f"{place}: {_said(error)}") from None
        if isinstance(event, Call):
            if event.id in called:
                raise TraceError(f"{place}: id: {event.id!r} stands twice")
            called.add(event.id)
        elif isinstance(event, Result) and event.id not in called:
            raise TraceError(f"{place}: id: no call {event.id!r} before this result")
        events.append(event)
    return Trace(name=name, events=tuple(events))


def _lines(stream: BinaryIO, source: str) -> Iterator[tuple[int, Json]]:
    number = 0
    plain = _unzipped(stream)
    try:
        while line := plain.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise TraceError(f"{source}:{number}: longer than {MAX_LINE} bytes")
            if line.strip():
                yield number, canon.loads(line, max_bytes=MAX_LINE)
    except canon.JsonError as error:
        raise TraceError(f"{source}:{number}: {error}") from None
    except (OSError, EOFError) as error:
        raise TraceError(f"{source}: {error}") from None


def _unzipped(stream: BinaryIO) -> BinaryIO:
    """Return the stream itself, or what is gzipped in it."""
    head = stream.peek(2)[:2] if isinstance(stream, io.BufferedReader) else b""
    return cast("BinaryIO", gzip.GzipFile(fileobj=stream)) if head == GZIP else stream


def _said(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    said = first["msg"].removeprefix("Value error, ")
    return f"{place}: {said}" if place else said
