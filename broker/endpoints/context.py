"""How an endpoint reaches the broker it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flask import current_app

if TYPE_CHECKING:
    from broker.grants.context import Broker

EXTENSION = "counterfoil-broker"


def broker() -> Broker:
    """Fetch the broker of the application that handles this request."""
    return cast("Broker", current_app.extensions[EXTENSION])
