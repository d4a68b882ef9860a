"""Take a Flask request apart into exactly what is compared with the decided call.

The URI is our configured base URL plus the request target as received; `Host`, `Forwarded` and
their kin are never read. The body is read once, with a limit, and the view gets these same bytes.
Refused: no token (another scheme is none), more than one `Authorization` (servers join repeated
headers with a comma, which no Bearer token holds), a token in query or form, an absolute request
target, a body without one plain length.

Source: RFC 6750 §2, §3.1 (no error code for another scheme) and §5.3, RFC 9110 §11.4, RFC 9112
§3.2 (target forms), §6.1 (Transfer-Encoding) and §6.3 (Content-Length).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from werkzeug.exceptions import BadRequest, RequestEntityTooLarge

from broker.resource.model import Reason, Received

if TYPE_CHECKING:
    from flask import Request

MAX_TOKEN_CHARS = 8192

_SCHEME = re.compile(r"bearer(?![A-Za-z0-9._~+/-])", re.IGNORECASE | re.ASCII)
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] ([A-Za-z0-9._~+/-]+=*)")
_LENGTH = re.compile(r"[0-9]{0,15}")
_TARGET = re.compile(r"/(?!/)[\x21\x22\x24-\x7e]*")
_FORM = "application/x-www-form-urlencoded"
_PARAMETER = "access_token"


def read(request: Request, *, base_url: str, max_body_bytes: int) -> Received | Reason:
    """Return the request in hand, or the reason why it cannot be looked at."""
    token = _token(request.environ.get("HTTP_AUTHORIZATION"))
    if isinstance(token, Reason):
        return token
    target = request.environ.get("RAW_URI")
    if not isinstance(target, str) or not _TARGET.fullmatch(target):
        return Reason.TARGET_FORM
    body = _body(request, max_body_bytes)
    if isinstance(body, Reason):
        return body
    query = target.partition("?")[2]
    form = body.decode("latin-1") if request.mimetype == _FORM else ""
    if any(_names_token(text) for text in (query, form)):
        return Reason.TOKEN_IN_REQUEST
    return Received(method=request.method, uri=base_url + target, body=body, token=token)


def _token(header: object) -> str | Reason:
    if not isinstance(header, str) or not _SCHEME.match(header.lstrip(" \t")):
        return Reason.NO_TOKEN
    match = _BEARER.fullmatch(header)
    if match is None or len(match[1]) > MAX_TOKEN_CHARS:
        return Reason.MALFORMED_AUTHORIZATION
    return match[1]


def _body(request: Request, limit: int) -> bytes | Reason:
    plain = _LENGTH.fullmatch(request.environ.get("CONTENT_LENGTH") or "")
    if plain is None or "HTTP_TRANSFER_ENCODING" in request.environ:
        return Reason.LENGTH_REQUIRED
    request.max_content_length = limit
    try:
        body = request.get_data(cache=True, parse_form_data=False)
    except RequestEntityTooLarge:
        return Reason.BODY_TOO_LARGE
    except BadRequest:
        return Reason.BODY_INCOMPLETE
    return body


def _names_token(encoded: str) -> bool:
    pairs = parse_qsl(encoded, keep_blank_values=True)
    return any(name.casefold() == _PARAMETER for name, _ in pairs)
