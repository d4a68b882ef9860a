"""One decided call: the `authorization_details` of an exchange, held against the catalogue.

The caller names an operation; the catalogue says which scope, method, base URL and path that
operation has, and the URI must be exactly those. Refused: an unknown, missing or repeated member;
another type; a URI with user, fragment, dot segment, encoded slash or backslash, control character,
a percent sign that would decode twice, an empty query. A template variable is one segment.

The base URL is compared as a prefix byte by byte, so no URL parser can be talked into another host.

Source: RFC 9396 sections 2 and 5, RFC 3986 section 3.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from broker.errors import InvalidDetailsError
from broker.tokens import strict_json

if TYPE_CHECKING:
    from broker.config import Audience, Operation

TYPE = "counterfoil_call"
MAX_URI = 4096
_MAX_BYTES = 8 * 1024
_DIGEST = r"[0-9a-f]{64}"
_MEMBERS = {
    "type": re.compile(re.escape(TYPE)),
    "decision_id": re.compile(r"[A-Za-z0-9-]{1,64}"),
    "action_digest": re.compile(f"sha256:{_DIGEST}"),
    "operation": re.compile(r"[a-z0-9][a-z0-9._-]{0,63}"),
    "method": re.compile(r"[A-Z]{3,10}"),
    "uri": re.compile(r"[\x21-\x7e]{1,4096}"),
    "content_sha256": re.compile(_DIGEST),
}
_CHARACTER = r"[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}"
_PATH = re.compile(rf"(?:/(?:{_CHARACTER})*)+")
_QUERY = re.compile(rf"(?:{_CHARACTER}|[/?])+")
_TWICE = re.compile(r"%25[0-9A-Fa-f]{2}")
_VARIABLE = re.compile(r"\{[a-z0-9_]+\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The one call a token is good for."""

    decision_id: str
    operation: str
    details: dict[str, str]


def parse(text: str) -> Call:
    """Read a JSON array of exactly one `counterfoil_call`."""
    try:
        value = strict_json.loads(text.encode(), max_bytes=_MAX_BYTES)
    except ValueError as error:
        raise InvalidDetailsError(f"authorization_details: {error}") from None
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], dict):
        raise InvalidDetailsError("authorization_details: must be an array of exactly one object")
    details = value[0]
    if details.keys() != _MEMBERS.keys():
        names = ", ".join(_MEMBERS)
        raise InvalidDetailsError(f"authorization_details: the members must be exactly {names}")
    for name, form in _MEMBERS.items():
        if not isinstance(details[name], str) or not form.fullmatch(details[name]):
            raise InvalidDetailsError(f"authorization_details.{name}: not in the form required")
    return Call(decision_id=details["decision_id"], operation=details["operation"], details=details)


def check(call: Call, *, audience: Audience, scope: str) -> None:
    """Refuse a call that is not what the catalogue says about its operation."""
    operation = audience.operations.get(call.operation)
    if operation is None:
        raise InvalidDetailsError(
            "authorization_details.operation: not an operation of this audience"
        )
    if operation.scope != scope:
        raise InvalidDetailsError(
            f"authorization_details.operation: needs scope {operation.scope}, not the one asked for"
        )
    if call.details["method"] != operation.method:
        raise InvalidDetailsError(
            f"authorization_details.method: this operation is {operation.method}"
        )
    problem = _uri_problem(call.details["uri"], audience=audience, operation=operation)
    if problem is not None:
        raise InvalidDetailsError(f"authorization_details.uri: {problem}")


def _uri_problem(uri: str, *, audience: Audience, operation: Operation) -> str | None:
    if not uri.startswith(audience.base_url + "/"):
        return f"must begin with {audience.base_url}/"
    path, mark, query = uri[len(audience.base_url) :].partition("?")
    if not _PATH.fullmatch(path) or (mark and not _QUERY.fullmatch(query)):
        return "has a character a path or query may not have, a fragment or an empty query"
    wanted, given = operation.path.split("/"), path.split("/")
    if len(wanted) != len(given):
        return f"does not fit {operation.path}"
    for template, segment in zip(wanted, given, strict=True):
        if not _VARIABLE.fullmatch(template):
            if segment != template:
                return f"does not fit {operation.path}"
        elif not _is_plain_segment(segment):
            return "a variable must be one plain segment: no slash, dot segment or control"
    return None


def _is_plain_segment(segment: str) -> bool:
    if not segment or _TWICE.search(segment):
        return False
    try:
        text = unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return text not in {".", ".."} and text.isprintable() and not set(text) & {"/", "\\"}
