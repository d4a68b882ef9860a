"""The strict way in: one reading of a request's parameters, or a refusal.

A POST carries an `application/x-www-form-urlencoded` body in UTF-8, at most 64 KiB and 32 fields,
each field once, nothing in the query, no content coding. Credentials come in the body only: an
Authorization header beside them is refused, since a request may not authenticate twice.

Source: RFC 6749 sections 2.3, 3.1 and 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from flask import request

from broker.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BODY = 64 * 1024
MAX_FIELDS = 32
_FORM = "application/x-www-form-urlencoded"


def form() -> Mapping[str, str]:
    """Read the form of a POST; raises InvalidRequestError."""
    if request.query_string:
        raise InvalidRequestError("query: parameters belong in the body")
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if request.mimetype != _FORM or charset != "utf-8":
        raise InvalidRequestError(f"Content-Type: must be {_FORM}")
    if request.headers.get("Content-Encoding"):
        raise InvalidRequestError("Content-Encoding: not accepted")
    return _once(request.get_data(cache=False))


def api_form() -> Mapping[str, str]:
    """Read the form of a client that authenticates in the body; raises InvalidRequestError."""
    if "Authorization" in request.headers:
        raise InvalidRequestError("Authorization: authenticate by client_assertion in the body")
    return form()


def query() -> Mapping[str, str]:
    """Read the query of a GET; raises InvalidRequestError."""
    return _once(request.query_string)


def _once(raw: bytes) -> Mapping[str, str]:
    try:
        pairs = parse_qsl(
            raw.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(raw),
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        raise InvalidRequestError(
            f"parameters: not form-encoded UTF-8, or more than {MAX_FIELDS} fields"
        ) from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise InvalidRequestError("parameters: each may stand once only")
    return fields
