"""Servers on loopback: a broker, an API, and ones that break HTTP."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from flask import Flask, Response, request
from werkzeug.serving import make_server

from gateway.execute.credential import ACCESS_TOKEN, Broker
from gateway.execute.grants import Grant, Grants
from gateway.execute.secret import Secret

NOW = 1_800_000_000
HANDLE = "handle-" + "h" * 40
SIGNER = ec.generate_private_key(ec.SECP256R1())


@contextlib.contextmanager
def serve(app: Flask) -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def raw_server(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that takes one request's bytes and then does as it is told with the socket."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def run() -> None:
        while not done.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, contextlib.suppress(OSError):
                client.settimeout(20)
                client.recv(65_536)
                behave(client)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        done.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def silent(client: socket.socket) -> None:
    """Say nothing until the other side gives up."""
    while client.recv(65_536):
        pass


def dripping(client: socket.socket) -> None:
    """Send header bytes for ever, slowly enough to pass every single read's timeout."""
    client.settimeout(0.02)
    client.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        client.sendall(b"X-A: b\r\n")
        with contextlib.suppress(TimeoutError):
            if not client.recv(10):
                return


def garbage(client: socket.socket) -> None:
    client.sendall(b"\x00\xff not HTTP at all\r\n\r\n")


def cut_short(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def make_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return key


class FakeBroker:
    """Keeps the forms it got; answers an exchange as the wire says unless told otherwise."""

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []
        self.tokens: list[str] = []
        self.alter: Callable[[dict], object] = lambda answer: answer
        self.claims: dict = {}
        self.respond: Callable[[], Response | None] = lambda: None
        self.app = Flask("broker")
        self.app.post("/token")(self.token)

    def token(self) -> Response:
        assert not request.args
        assert request.mimetype == "application/x-www-form-urlencoded"
        form = dict(request.form.items(multi=True))
        assert len(form) == len(list(request.form.items(multi=True)))
        self.forms.append(form)
        response = self.respond()
        if response is not None:
            return response
        claims = {
            "aud": form["audience"],
            "scope": form["scope"],
            "jti": f"jti-{len(self.forms)}",
            "exp": NOW + 300,
            **self.claims,
        }
        self.tokens.append(jwt.encode(claims, SIGNER, algorithm="ES256"))
        answer = self.alter(
            {
                "access_token": self.tokens[-1],
                "issued_token_type": ACCESS_TOKEN,
                "token_type": "Bearer",
                "expires_in": 300,
                "scope": form["scope"],
                "authorization_details": json.loads(form["authorization_details"]),
            }
        )
        return Response(json.dumps(answer), mimetype="application/json")


def make_broker(issuer: str, directory: Path, **more) -> Broker:
    key_file = directory / "client.pem"
    if not key_file.exists():
        make_key(key_file)
    counter = iter(range(1000))
    return Broker(
        issuer=issuer,
        client_id="gateway",
        key_file=key_file,
        clock=lambda: NOW,
        random=lambda: f"random-{next(counter):032}",
        **more,
    )


def make_grants(directory: Path) -> Grants:
    grants = Grants(directory=directory, clock=lambda: NOW)
    grants.add(
        Grant(
            grant_id="g-1",
            user="alice-at-broker",
            agent="demo",
            audiences={"calendar-api": ("calendar.read", "calendar.write")},
            expires_at=NOW + 1000,
            handle=Secret(HANDLE),
        )
    )
    return grants
