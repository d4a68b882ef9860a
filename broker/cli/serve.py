"""`serve`: run the broker under gunicorn, one worker with threads, until SIGTERM or SIGINT.

One JSON line on stdout, `{"ready": true, "url": ...}`, is printed by the worker when it has loaded
the application and its socket listens. The socket is opened here (or inherited with `--fd`), so a
taken port is reported at once. Headers from a proxy are not believed: the issuer is configured.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication

from broker.app import create_app
from broker.cli import options
from broker.config import load
from broker.errors import AdminError

if TYPE_CHECKING:
    import argparse

    from flask import Flask

THREADS = 8
_MAX_PORT = 65_535
_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9.-]+|\[[0-9a-f:]+\]):(?P<port>[0-9]{1,5})")
_SETTINGS: dict[str, Any] = {
    "worker_class": "gthread",
    "workers": 1,
    "threads": THREADS,
    "timeout": 30,
    "graceful_timeout": 5,
    "loglevel": "warning",
    "limit_request_line": 8190,
    "forwarded_allow_ips": "",
    "forwarder_headers": "",
    "control_socket_disable": True,
}


def add(commands: options.Commands) -> None:
    """Add the command."""
    parser = options.add_command(
        commands,
        "serve",
        run,
        text="serve until SIGTERM or SIGINT; prints one JSON line when it accepts",
        example="serve --listen 127.0.0.1:8100",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--listen", metavar="HOST:PORT", help="listen here instead of where [listen] says"
    )
    where.add_argument(
        "--fd", type=int, metavar="N", help="serve an inherited listening TCP socket"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve; returns when told to stop."""
    config = load(arguments.config)
    app = create_app(config)
    if arguments.fd is not None:
        listener = _inherited(arguments.fd)
    elif arguments.listen is not None:
        listener = _listen(*_parse(arguments.listen))
    else:
        listener = _listen(config.listen.host, config.listen.port)
    _Server(app, listener).run()
    return 0


class _Server(BaseApplication):
    """Gunicorn with our settings only: no file, no environment, no command line."""

    def __init__(self, app: Flask, listener: socket.socket) -> None:
        self._app = app
        self._url = _url(listener)
        self._descriptor = listener.detach()
        super().__init__()

    def load_config(self) -> None:
        """Apply the settings."""
        for name, value in _SETTINGS.items():
            self.cfg.set(name, value)
        self.cfg.set("bind", f"fd://{self._descriptor}")
        self.cfg.set("post_worker_init", self._ready)

    def load(self) -> Flask:  # type: ignore[override]  # the stub knows no WSGI object
        """Give gunicorn the application."""
        return self._app

    def _ready(self, worker: Any) -> None:
        if worker.age == 1:
            sys.stdout.write(json.dumps({"ready": True, "url": self._url}) + "\n")
            sys.stdout.flush()


def _parse(address: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match["port"]) > _MAX_PORT:
        raise AdminError("--listen: write HOST:PORT")
    return match["host"].strip("[]"), int(match["port"])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise AdminError(f"cannot listen on {host} port {port}: {error}") from None


def _inherited(descriptor: int) -> socket.socket:
    try:
        listener = socket.socket(fileno=descriptor)
        listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except (OSError, ValueError) as error:
        raise AdminError(f"--fd {descriptor}: not a socket: {error}") from None
    if not listening or listener.family not in {socket.AF_INET, socket.AF_INET6}:
        listener.detach()
        raise AdminError(f"--fd {descriptor}: not a listening TCP socket")
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
