"""A fake introspection endpoint that answers what it is told, and one small guarded API."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from flask import Flask, Response, jsonify, request

from broker.resource import Refusal, ResourceConfig, ResourceServer

NOW = 1_800_000_000
BASE = "http://127.0.0.1:8101"
PATH = "/v1/events?day=2026-11-30"
ISSUER = "http://127.0.0.1:8100"
TOKEN = "header.claims.signature"


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def the_call(**changes: Any) -> dict[str, Any]:
    """The decided call of an answer."""
    usual = {
        "type": "counterfoil_call",
        "decision_id": "0197-1",
        "action_digest": "sha256:" + "a" * 64,
        "operation": "events.read",
        "method": "GET",
        "uri": BASE + PATH,
        "content_sha256": digest(b""),
    }
    return usual | changes


def facts(**changes: Any) -> dict[str, Any]:
    """An answer about an active token, as docs/wire.md has it."""
    usual = {
        "active": True,
        "token_type": "Bearer",
        "iss": ISSUER,
        "aud": "calendar-api",
        "sub": "alice",
        "act": {"sub": "demo-agent"},
        "client_id": "gateway",
        "scope": "calendar.read",
        "jti": "jti-1",
        "gid": "grant-1",
        "iat": NOW,
        "exp": NOW + 300,
        "authorization_details": [the_call()],
    }
    return usual | changes


def config(**changes: Any) -> ResourceConfig:
    usual = {
        "audience": "calendar-api",
        "base_url": BASE,
        "issuer": ISSUER,
        "introspection_url": ISSUER + "/introspect",
        "client_id": "calendar-api",
        "timeout_s": 20,
    }
    return ResourceConfig(**usual | changes)


class FakeBroker:
    """Keeps what it was asked; answers `answer` (a value, or bytes as they are)."""

    def __init__(self) -> None:
        self.answer: Any = facts()
        self.status = 200
        self.headers: dict[str, str] = {"Content-Type": "application/json"}
        self.asked: list[dict[str, Any]] = []
        self.elsewhere = 0
        self.app = Flask("fake-broker")
        self.app.add_url_rule("/introspect", view_func=self.introspect, methods=["POST"])
        self.app.add_url_rule("/elsewhere", view_func=self.other, methods=["GET", "POST"])

    def introspect(self) -> Response:
        self.asked.append(
            {"headers": dict(request.headers), "form": request.form.to_dict(flat=False)}
        )
        raw = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()
        return Response(raw, status=self.status, headers=self.headers)

    def other(self) -> Response:
        self.elsewhere += 1
        return jsonify(facts())


@dataclass
class Guarded:
    """An API with one guarded operation per method; what it served and what it refused."""

    server: ResourceServer | None = None
    served: list[Any] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    now: int = NOW

    def app(self, settings: ResourceConfig) -> Flask:
        self.server = ResourceServer(
            settings,
            assertion=lambda: "the-assertion",
            clock=lambda: self.now,
            on_refusal=self.refused.append,
        )
        guard = self.server.requires(operation="events.read", scope="calendar.read")
        app = Flask("guarded")
        app.add_url_rule("/v1/events", view_func=guard(self.view), methods=["GET", "POST", "PUT"])
        return app

    def view(self, call: Any) -> Response:
        self.served.append(call)
        return jsonify(ok=True)


@dataclass
class Reply:
    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def send(
    url: str,
    *headers: tuple[str, str],
    method: str = "GET",
    target: str = PATH,
    body: bytes = b"",
    host: str | None = None,
) -> Reply:
    """Send exactly these header lines, repeated ones too, to exactly this target."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", host or url.removeprefix("http://"))
        for name, value in headers:
            connection.putheader(name, value)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        response = connection.getresponse()
        return Reply(response.status, response.headers, response.read())
    finally:
        connection.close()


BEARER = ("Authorization", f"Bearer {TOKEN}")
