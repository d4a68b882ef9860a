"""What a person is shown: the normalized action whole, one field per line, under our own labels.

Pure: a question in, text out. Nothing is left out and nothing is shortened; every value is quoted
and escaped (:mod:`gateway.kit.text`), every item of a list stands on a numbered line of its own,
multi-line values stand behind a bar, so that no value can pass for a label, an end or another
field. Two different actions never give the same text. `wrap` breaks long lines itself and marks
the break: a terminal would continue them at the left edge, where labels stand.

Refuses nothing; what cannot be shown in full is the terminal's to refuse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import ada_url

from gateway.kit import text
from gateway.model.approval import Question
from gateway.model.names import Json
from gateway.model.reasons import REASONS
from gateway.model.resource import PathResource, Resource

MIN_COLUMNS: Final = 20
_CONTINUED: Final = "  ... "
_PLAIN: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_LONG: Final = frozenset({"content", "body"})
_URL_PARTS: Final = {
    "scheme": "protocol",
    "host": "hostname",
    "port": "port",
    "path": "pathname",
    "query": "search",
    "fragment": "hash",
}


def render(question: Question) -> str:
    """Return the full text of a question; every line ends with a newline."""
    body = [*_question(question), "", "act", *_members(question.action.normalized, 1)]
    touches = question.action.resources
    if touches:
        body += ["touches", *(_resource(n, one) for n, one in enumerate(touches, 1))]
    return "\n".join([*_banner(question, body), *body]) + "\n"


def wrap(line: str, columns: int) -> list[str]:
    """Break one line into pieces of at most `columns` columns; later pieces carry a mark."""
    columns = max(columns, MIN_COLUMNS)
    pieces: list[str] = []
    current, width = "", 0
    for character in line:
        size = text.columns(character)
        if width + size > columns:
            pieces.append(current)
            current, width = _CONTINUED, len(_CONTINUED)
        current += character
        width += size
    pieces.append(current)
    return pieces


def _banner(question: Question, body: Sequence[str]) -> Iterator[str]:
    yield "counterfoil: an agent asks for an act; no answer is not consent"
    size = sum(len(line.encode()) + 1 for line in body)
    yield f"this question has {size} bytes in {len(body)} lines"
    count = sum(text.hidden_count(value) for value in _texts(question))
    if count:
        yield f"WARNING: {count} hidden characters, shown as \\u{{...}}"


def _question(question: Question) -> Iterator[str]:
    decision, caller = question.decision, question.caller
    fields: dict[str, str] = {
        "tool": question.action.tool,
        "operation": str(question.action.operation),
        "rule": decision.rule,
        "reason": decision.reason,
        "meaning": REASONS.get(decision.reason, "unknown reason"),
        "message": decision.message,
        "rides on it": decision.obligations.approval,
        "session taint": " ".join(decision.labels) or "none",
        "this act taints": " ".join(sorted(decision.taint)) or "no",
        "user": caller.user,
        "agent": caller.agent or "",
        "door": caller.door,
        "session": caller.session,
        "approval": question.approval_id,
        "action digest": question.action.digest,
    }
    yield "why"
    for label, value in fields.items():
        yield f"  {label}: {text.quote(value)}"
    yield f"  deadline: {question.timeout_s} s, then the answer is no"


def _texts(question: Question) -> Iterator[str]:
    """Give every text that others can influence."""
    decision, caller = question.decision, question.caller
    yield from (question.action.tool, decision.rule, decision.message, *decision.labels)
    yield from (caller.user, caller.agent or "", caller.door, caller.session)
    yield from _strings(question.action.normalized)


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield name
            yield from _strings(member)
    elif isinstance(value, Sequence):
        for member in value:
            yield from _strings(member)


def _members(members: Mapping[str, Json], depth: int) -> Iterator[str]:
    for name, value in members.items():
        label = name if _PLAIN.fullmatch(name) else text.quote(name)
        yield from _field(label, value, depth, long=name in _LONG)
        if name == "url" and isinstance(value, str):
            yield from _url(value, depth + 1)


def _field(label: str, value: Json, depth: int, *, long: bool = False) -> Iterator[str]:
    start = "  " * depth + label + ":"
    if isinstance(value, str):
        if long or "\n" in value:
            yield from _block(start, value, depth + 1)
        else:
            yield f"{start} {text.quote(value)}"
    elif isinstance(value, Mapping):
        yield start if value else f"{start} {{}}"
        yield from _members(value, depth + 1)
    elif isinstance(value, Sequence):
        yield start if value else f"{start} []"
        for number, item in enumerate(value, 1):
            yield from _field(str(number), item, depth + 1)
    else:
        yield f"{start} {json.dumps(value)}"


def _block(start: str, value: str, depth: int) -> Iterator[str]:
    """Show a text whole, line by line, with its size and whether its last line is ended."""
    lines = text.block(value)
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    size = len(value.encode("utf-8", "surrogatepass"))
    yield f"{start} {size} bytes, {len(lines)} lines" + ("" if ended else ", no newline at the end")
    for line in lines:
        yield "  " * depth + "| " + line


def _url(value: str, depth: int) -> Iterator[str]:
    try:
        url = ada_url.URL(value)
    except ValueError:
        yield "  " * depth + "(not a URL)"
        return
    for label, attribute in _URL_PARTS.items():
        yield "  " * depth + f"{label}: {text.quote(str(getattr(url, attribute)))}"


def _resource(number: int, resource: Resource) -> str:
    shown = f"  {number}: {resource.operation}"
    if isinstance(resource, PathResource):
        shown += f" {text.quote(resource.path)}"
        shown += "".join(f", also {text.quote(name)}" for name in resource.also)
        shown += f", in root {text.quote(resource.root)}" if resource.root else ", outside roots"
        if resource.links > 1:
            shown += f", {resource.links} hard links"
    return shown + (", can leave the machine" if resource.egress else "")
