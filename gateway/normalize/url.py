"""URLs by the WHATWG rules (ada), refused where two readers could see two URLs.

Refused before parsing: anything but printable ASCII (the standard silently drops tabs and line
breaks), a backslash, more than 8 KiB. After parsing: another scheme than http or https, a user
name or password, an empty host, a spelling of authority or path that is not already its normal
form (`..`, `%2e`, `%2f`, `%5c`, a letter written as `%61`, a path that begins with two slashes,
missing slashes). The fragment and one trailing dot of the host are dropped. Only the normal form
is ever handed on.

Source: WHATWG URL Standard; RFC 3986 section 6.2.2.2 (encoded unreserved characters);
CVE-2021-22946 class of disagreement between URL parsers (SSRF).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import ada_url

from gateway.model.action import Action, Refusal
from gateway.model.names import Json, Operation
from gateway.model.request import ActionRequest
from gateway.model.resource import UrlResource
from gateway.normalize.build import Param, accepted, check_params, refused, text
from gateway.normalize.settings import Settings

MAX_URL: Final = 8192
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_PORTS: Final = {"https:": 443, "http:": 80}
_PRINTABLE: Final = re.compile(r"[!-~]+")
# What another reader may decode into something else: separators, NUL, and the unreserved
# characters, which every reader may decode.
_ENCODED: Final = re.compile(
    r"%(?:00|2d|2e|2f|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9ae])", re.IGNORECASE
)
_SPELLED: Final = re.compile(r"[A-Za-z]+://([^/?#]+)([^?#]*)")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_VALUE: Final = re.compile(r"[\t -~]{0,4096}")
# They say where the request goes or how it is framed; the judged URL and the client say that.
_OWN_HEADERS: Final = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NET_REQUEST: Final = {
    "url": Param(max_length=MAX_URL * 2),
    "method": Param(required=False, max_length=16),
    "headers": Param(kind="object", required=False, max_length=64),
    "body": Param(required=False, max_length=1 << 20),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlParts:
    """A URL in normal form; `host` without trailing dot or brackets, `query` without `?`."""

    href: str
    scheme: str
    host: str
    port: int
    path: str
    query: str


def parse_url(spelled: str) -> UrlParts | Refusal:
    """Return the parts of an http or https URL, or why it is refused."""
    problem = _before(spelled)
    if problem is not None:
        return problem
    try:
        url = ada_url.URL(spelled)
    except ValueError:
        return Refusal(reason="url_invalid", message="url does not parse")
    protocol, path, port = url.protocol, url.pathname, url.port  # each is a call into the parser
    if protocol not in _PORTS:
        message = f"url has the scheme {protocol[:32]!r}; accepted are https: and http:"
        return Refusal(reason="url_scheme", message=message)
    written = _SPELLED.match(spelled)
    if url.username or url.password or (written and "@" in written[1]):
        return Refusal(reason="url_userinfo", message="url carries a user name or password")
    if written is None or _ENCODED.search(written[2]) or (written[2] or "/") != path:
        message = f"url's path is not in normal form; the normal form is {path[:256]!r}"
        return Refusal(reason="url_ambiguous", message=message)
    if path.startswith("//"):
        return Refusal(reason="url_ambiguous", message="url's path begins with two slashes")
    given = url.hostname
    name = given.removesuffix(".")
    number = int(port) if port else _PORTS[protocol]
    if not name or name.endswith(".") or number == 0:
        return Refusal(reason="url_invalid", message="url has no usable host or port")
    if "#" in spelled:
        url.hash = ""
    if name != given:
        url.hostname = name
        name = url.hostname
    return UrlParts(
        href=url.href,
        scheme=protocol[:-1],
        host=name.removeprefix("[").removesuffix("]"),
        port=number,
        path=path,
        query=url.search[1:],
    )


def net_request(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `net.request {url, method?, headers?, body?}`; nothing executes it yet."""
    del settings
    operation = Operation.NET_REQUEST
    params = request.params
    refusal = check_params(request.tool, params, _NET_REQUEST)
    if refusal is not None:
        return refused(request, operation, refusal)
    method = text(params, "method", "GET").upper()
    headers = params.get("headers", {})
    refusal = _method_or_headers(method, headers)
    if refusal is not None:
        return refused(request, operation, refusal)
    parts = parse_url(text(params, "url"))
    if isinstance(parts, Refusal):
        return refused(request, operation, parts)
    resource = UrlResource(
        href=parts.href,
        scheme=parts.scheme,
        host=parts.host,
        port=parts.port,
        method=method,
        path=parts.path,
        query=parts.query,
    )
    picture: dict[str, Json] = {
        "method": method,
        "url": parts.href,
        "host": parts.host,
        "port": parts.port,
        "headers": headers,
        "body": params.get("body"),
    }
    return accepted(request, operation, picture, resource)


def _before(spelled: str) -> Refusal | None:
    if len(spelled) > MAX_URL:
        return Refusal(reason="url_invalid", message=f"url is longer than {MAX_URL} characters")
    if not _PRINTABLE.fullmatch(spelled):
        message = "url is empty or has a character other than printable ASCII; encode it"
        return Refusal(reason="url_invalid", message=message)
    if "\\" in spelled:
        return Refusal(reason="url_invalid", message="url has a backslash")
    return None


def _method_or_headers(method: str, headers: Json) -> Refusal | None:
    if method not in METHODS:
        message = f"params.method is not one of {', '.join(METHODS)}"
        return Refusal(reason="params_invalid", message=message)
    seen: set[str] = set()
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        lower = name.lower()
        if not _TOKEN.fullmatch(name) or lower in _OWN_HEADERS or lower in seen:
            message = f"params.headers.{name[:64]!r} is not accepted, or is there twice"
            return Refusal(reason="params_invalid", message=message)
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            message = f"params.headers.{name} is not a string of printable ASCII"
            return Refusal(reason="params_invalid", message=message)
        seen.add(lower)
    return None
