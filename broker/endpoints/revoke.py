"""`POST /revoke`, for authenticated callers only; `token_type_hint` is ignored (RFC 7009)."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from broker.endpoints import ingress
from broker.endpoints.context import broker
from broker.errors import InvalidRequestError
from broker.grants import client_auth, revocation

blueprint = Blueprint("revoke", __name__)


@blueprint.post("/revoke")
def revoke() -> dict[str, Any]:
    """End a token, or the grant of a handle."""
    form = ingress.api_form()
    client = client_auth.authenticate(broker(), form)
    if "token" not in form:
        raise InvalidRequestError("token: required")
    revocation.revoke(broker(), client, form["token"])
    return {}
