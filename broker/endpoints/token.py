"""`POST /token`: a table of two grant types, each for a gateway that proved who it is.

Source: RFC 6749 section 3.2, RFC 8693 section 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Blueprint

from broker.endpoints import ingress
from broker.endpoints.context import broker
from broker.errors import (
    InvalidRequestError,
    UnauthorizedClientError,
    UnsupportedGrantTypeError,
)
from broker.grants import authorization_code, client_auth, token_exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker.grants.context import Broker
    from broker.store.clients import Client

    _Grant = Callable[[Broker, Client, Mapping[str, str]], dict[str, Any]]

blueprint = Blueprint("token", __name__)

_GRANTS: dict[str, _Grant] = {
    "authorization_code": authorization_code.redeem,
    token_exchange.GRANT_TYPE: token_exchange.exchange,
}


@blueprint.post("/token")
def token() -> dict[str, Any]:
    """Give a handle for a code, or an access token for a handle and a decision."""
    form = ingress.api_form()
    client = client_auth.authenticate(broker(), form)
    if client.kind != "gateway":
        raise UnauthorizedClientError("only a gateway is given anything here")
    if "grant_type" not in form:
        raise InvalidRequestError("grant_type: required")
    grant = _GRANTS.get(form["grant_type"])
    if grant is None:
        raise UnsupportedGrantTypeError(f"grant_type: must be one of {', '.join(_GRANTS)}")
    return grant(broker(), client, form)
