"""What the three resource servers share: routes from a table, the guard, the journal, plain errors.

Every operation of an API is a row; the only routes without a token are `GET /health` and, for
loopback callers, `GET /journal`. An operation runs under one lock together with its journal entry,
so the journal's order is the order of effects. Refused besides what the guard refuses: repeated or
unknown query parameters, a body that is not expected, not JSON or not of the operation's schema.
"""

from __future__ import annotations

import ipaddress
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from flask import Flask, Response, jsonify, request
from pydantic import BaseModel, ConfigDict, ValidationError
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from broker.resource import Refusal, ResourceConfig, ResourceServer, VerifiedCall
from mock_apis.journal import NO_EFFECT, Entry, Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

M = TypeVar("M", bound=BaseModel)

_JSON = "application/json"


class Body(BaseModel):
    """The base of every request body: strict types, no unknown member."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What an operation did: the answer, and the effect in words."""

    status: int
    body: Mapping[str, Any]
    effect: str = NO_EFFECT


class RejectedError(Exception):
    """A permitted call the API itself cannot serve (bad argument, nothing there)."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a call, all covered by the decided URI and body."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes

    def parse(self, model: type[M]) -> M:
        """Return the body as this model or reject the call, naming the member."""
        try:
            return model.model_validate_json(self.body)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "body"
            raise RejectedError(400, "bad_body", f"{where}: {first['msg']}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One row of the catalogue in docs/wire.md, with the function that does it."""

    name: str
    scope: str
    method: str
    path: str
    handler: Callable[[VerifiedCall, Arguments], Served]
    query: frozenset[str] = frozenset()
    has_body: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """What an API is given from outside."""

    config: ResourceConfig
    assertion: Callable[[], str]
    clock: Callable[[], int]
    journal: Journal


def create_service(wiring: Wiring, operations: tuple[Operation, ...]) -> Flask:
    """Return the Flask application of one API."""
    app = plain_app(wiring.config.audience, wiring.journal)
    server = ResourceServer(
        wiring.config,
        assertion=wiring.assertion,
        clock=wiring.clock,
        on_refusal=lambda refusal: wiring.journal.write(_refused(refusal)),
    )
    lock = threading.Lock()
    for operation in operations:
        guard = server.requires(operation=operation.name, scope=operation.scope)
        app.add_url_rule(
            operation.path,
            endpoint=operation.name,
            view_func=guard(_view(operation, wiring.journal, lock)),
            methods=[operation.method],
            provide_automatic_options=False,
        )
    return app


def plain_app(name: str, journal: Journal) -> Flask:
    """Return an application with health, journal, JSON errors and no redirects of its own."""
    app = Flask(f"mock_apis.{name}", static_folder=None)
    app.url_map.merge_slashes = False
    app.register_error_handler(HTTPException, lambda error: _http_error(error, journal))
    app.add_url_rule("/health", view_func=lambda: jsonify(status="ok", api=name), endpoint="health")
    app.add_url_rule("/journal", view_func=lambda: _journal(journal), endpoint="journal")
    return app


def _view(operation: Operation, journal: Journal, lock: threading.Lock) -> Callable[..., Response]:
    def view(call: VerifiedCall, **path: str) -> Response:
        with lock:
            try:
                served = operation.handler(call, _arguments(operation, call, path))
            except RejectedError as error:
                journal.write(
                    _entry(call, outcome="refused", status=error.status, reason=error.reason)
                )
                return _error(error.status, error.reason, str(error))
            journal.write(
                _entry(call, outcome="accepted", status=served.status, effect=served.effect)
            )
        response = jsonify(served.body)
        response.status_code = served.status
        response.headers["Cache-Control"] = "no-store"
        return response

    return view


def _arguments(operation: Operation, call: VerifiedCall, path: Mapping[str, str]) -> Arguments:
    query: dict[str, str] = {}
    for name, value in request.args.items(multi=True):
        if name not in operation.query or name in query:
            raise RejectedError(
                400, "bad_query", f"query: each of {sorted(operation.query)} at most once"
            )
        query[name] = value
    if not operation.has_body and call.body:
        raise RejectedError(400, "bad_body", "body: this operation takes none")
    if operation.has_body and request.mimetype != _JSON:
        raise RejectedError(415, "bad_content_type", f"Content-Type: send {_JSON}")
    return Arguments(path=path, query=query, body=call.body)


def _entry(call: VerifiedCall, **outcome: Any) -> Entry:
    return Entry(
        operation=call.operation,
        sub=call.sub,
        agent=call.agent,
        jti=call.jti,
        decision_id=call.decision_id,
        **outcome,
    )


def _refused(refusal: Refusal) -> Entry:
    token = refusal.token
    return Entry(
        outcome="refused",
        status=refusal.reason.status,
        reason=refusal.reason.code,
        operation=refusal.endpoint.operation,
        sub=token.sub if token else None,
        agent=token.agent if token else None,
        jti=token.jti if token else None,
        decision_id=token.call.decision_id if token else None,
    )


def _http_error(error: HTTPException, journal: Journal) -> Response:
    status = error.code or 500
    journal.write(Entry(outcome="refused", status=status, reason=f"http_{status}"))
    response = _error(status, f"http_{status}", error.name)
    if isinstance(error, MethodNotAllowed):
        response.allow.update(error.valid_methods or ())
    return response


def _error(status: int, reason: str, message: str) -> Response:
    response = jsonify(error=reason, error_description=message)
    response.status_code = status
    response.headers["Cache-Control"] = "no-store"
    return response


def _journal(journal: Journal) -> Response:
    if not ipaddress.ip_address(request.remote_addr or "0.0.0.0").is_loopback:  # noqa: S104
        return _error(403, "not_loopback", "the journal is shown to loopback callers only")
    return jsonify(entries=journal.entries())
