"""`POST /introspect`, for authenticated callers only (RFC 7662)."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from broker.endpoints import ingress
from broker.endpoints.context import broker
from broker.errors import InvalidRequestError
from broker.grants import client_auth, introspection

blueprint = Blueprint("introspect", __name__)


@blueprint.post("/introspect")
def introspect() -> dict[str, Any]:
    """Tell the audience's resource server about a token."""
    form = ingress.api_form()
    client = client_auth.authenticate(broker(), form)
    if "token" not in form:
        raise InvalidRequestError("token: required")
    return introspection.introspect(broker(), client, form["token"])
