"""The Flask application: endpoints put together, answers made safe, faults turned into answers.

Every answer is `no-store`; every fault is JSON with an OAuth code, or a page where a person asked;
no traceback and no exception text of a library ever reaches a client.
"""

from __future__ import annotations

import logging
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, jsonify
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from broker.endpoints import account, authorize, context, introspect, metadata, pages, revoke, token
from broker.endpoints.ingress import MAX_BODY
from broker.errors import OAuthError, PageError, StoreError
from broker.grants.context import Broker
from broker.store.database import Store
from broker.store.sealed import load_sealer
from broker.tokens.keys import load_signing_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker.config import Config

SIGNING_KEY_FILE = "signing.pem"
SEAL_KEY_FILE = "seal.key"
_BLUEPRINTS = (metadata, authorize, account, token, introspect, revoke)
_log = logging.getLogger(__name__)


def create_app(
    config: Config,
    *,
    clock: Callable[[], int] | None = None,
    random: Callable[[int], bytes] = secrets.token_bytes,
) -> Flask:
    """Build the application; raises ConfigError when keys or database cannot be used.

    It holds no open connection when this returns, so a server may fork afterwards.
    """
    store = Store(Path(config.database))
    store.check()
    keys = Path(config.keys)
    app = Flask(__name__, static_folder="endpoints/static", template_folder="endpoints/templates")
    app.extensions[context.EXTENSION] = Broker(
        config=config,
        store=store,
        signing_key=load_signing_key(keys / SIGNING_KEY_FILE),
        sealer=load_sealer(keys / SEAL_KEY_FILE),
        clock=clock or _now,
        random=random,
    )
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.json.sort_keys = False  # type: ignore[attr-defined]
    for module in _BLUEPRINTS:
        app.register_blueprint(module.blueprint)
    app.after_request(_protect)
    app.register_error_handler(OAuthError, _oauth_error)
    app.register_error_handler(PageError, _page_error)
    app.register_error_handler(StoreError, _store_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _fault)
    return app


def broker_of(app: Flask) -> Broker:
    """Fetch the broker an application serves, to close its store or look into it."""
    broker: Broker = app.extensions[context.EXTENSION]
    return broker


def _now() -> int:
    return int(time.time())


def _protect(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _json(status: int, error: str, description: str, **headers: str) -> Response:
    response = jsonify(error=error, error_description=description)
    response.status_code = status
    response.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    return response


def _oauth_error(error: OAuthError) -> Response:
    _log.info("refused error=%s reason=%s", error.error, error)
    headers = {"WWW_Authenticate": "private_key_jwt"} if error.error == "invalid_client" else {}
    return _json(error.status, error.error, str(error), **headers)


def _page_error(error: PageError) -> Response:
    _log.info("page refused reason=%s", error)
    return pages.page("error.html", status=error.status, message=str(error))


def _store_error(error: StoreError) -> Response:
    _log.error("database: %s", error)
    return _json(503, "temporarily_unavailable", "try again", Retry_After="1")


def _http_error(error: HTTPException) -> Response:
    status = error.code or 500
    headers: dict[str, Any] = {}
    if allow := getattr(error, "valid_methods", None):
        headers["Allow"] = ", ".join(sorted(allow))
    limit = f"body: at most {MAX_BODY} bytes"
    text = limit if isinstance(error, RequestEntityTooLarge) else error.name
    return _json(status, "invalid_request", text, **headers)


def _fault(error: Exception) -> Response:
    _log.error("fault type=%s", type(error).__name__, exc_info=error)
    return _json(500, "server_error", "the broker failed; its log says why")
