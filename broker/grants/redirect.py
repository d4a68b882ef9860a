"""Redirect URIs: what may be registered, what fits a registration, how an answer is appended.

A request's URI must equal a registered one byte for byte; only for a loopback address may the port
differ, because a native client learns its port late. Nothing else is ever redirected to.

Source: RFC 6749 section 3.1.2, RFC 8252 sections 7.3 and 8.3, RFC 9700 section 4.1.3.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from broker.config import LOOPBACK_HOSTS

if TYPE_CHECKING:
    from collections.abc import Mapping

_URI = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?(?P<rest>/[A-Za-z0-9._~!$&'()*+,;=:@/%-]*(?:\?[A-Za-z0-9._~=&-]*)?)"
)
_FREE_PORT_HOSTS = LOOPBACK_HOSTS - {"localhost"}


def problem(uri: str) -> str | None:
    """Say why a URI may not be registered, or None when it may."""
    match = _URI.fullmatch(uri)
    if match is None:
        return "write https://host/path in lower-case host, without user or fragment"
    if match["scheme"] == "http" and match["host"] not in LOOPBACK_HOSTS:
        return "plain http is for loopback only; use https"
    return None


def fits(uri: str, registered: tuple[str, ...]) -> bool:
    """Tell whether `uri` is one of the registered ones."""
    return uri in registered or any(_same_but_port(uri, other) for other in registered)


def host(uri: str) -> str:
    """Name the host of a URI that fits, for the consent page."""
    match = _URI.fullmatch(uri)
    return "" if match is None else match["host"]


def is_loopback(uri: str) -> bool:
    """Tell whether the answer goes to a program on the person's own machine."""
    return host(uri) in LOOPBACK_HOSTS


def origin(uri: str) -> str:
    """Name the origin of a URI that fits, for the page's form-action."""
    match = _URI.fullmatch(uri)
    return "" if match is None else uri[: match.start("rest")]


def answer(uri: str, parameters: Mapping[str, str]) -> str:
    """Append the response parameters to a URI that fits."""
    return f"{uri}{'&' if '?' in uri else '?'}{urlencode(parameters)}"


def _same_but_port(uri: str, registered: str) -> bool:
    one, other = _URI.fullmatch(uri), _URI.fullmatch(registered)
    if one is None or other is None or one["host"] not in _FREE_PORT_HOSTS:
        return False
    return one.group("scheme", "host", "rest") == other.group("scheme", "host", "rest")
