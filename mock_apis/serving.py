"""Serve one application on a loopback socket until told to stop.

The ready line is written after the server has answered a real request, so whoever waits for it can
connect at once. SIGTERM and SIGINT end the process cleanly; they are waited for and not handled,
so none can interrupt what it is to end, and a process serves once. Refused: an address that is not
loopback, because one of the applications is insecure on purpose and the others hold no TLS.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import signal
import socket
import threading
from typing import TYPE_CHECKING, ClassVar

from werkzeug.serving import WSGIRequestHandler, make_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flask import Flask

REQUEST_TIMEOUT_S = 10

_PORTS = 65536
_POLL_S = 0.1
_STOP = {signal.SIGTERM, signal.SIGINT}


class _QuietHandler(WSGIRequestHandler):
    """Writes no access log (the journal is the log) and gives up on a silent client."""

    timeout: ClassVar[int] = REQUEST_TIMEOUT_S

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002
        """Write nothing."""


def listen(address: str) -> socket.socket:
    """Return a listening socket for HOST:PORT, loopback only; port 0 takes a free one."""
    host, _, port = address.rpartition(":")
    try:
        ip = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
        number = range(_PORTS).index(int(port))
    except ValueError:
        raise ValueError("listen: use HOST:PORT with an IP address, as 127.0.0.1:8101") from None
    if not ip.is_loopback:
        raise ValueError("listen: only a loopback address is served, as 127.0.0.1:8101")
    family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET  # noqa: PLR2004
    return socket.create_server((str(ip), number), family=family)


def adopt(descriptor: int) -> socket.socket:
    """Return the listening loopback socket that was inherited as this descriptor."""
    try:
        listener = socket.socket(fileno=descriptor)
    except (OSError, ValueError):
        raise ValueError("fd: not an inherited socket") from None
    internet = listener.family in {socket.AF_INET, socket.AF_INET6}
    if (
        not internet
        or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        or not ipaddress.ip_address(listener.getsockname()[0]).is_loopback
    ):
        listener.close()
        raise ValueError("fd: not a listening loopback socket")
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the base URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    app: Flask, listener: socket.socket, *, ready: dict[str, Any], say: Callable[[str], object]
) -> None:
    """Serve until SIGTERM or SIGINT; say the ready line once a request has been answered."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)  # before the threads, which inherit it
    host, port = listener.getsockname()[:2]
    server = make_server(
        host, port, app, threaded=True, request_handler=_QuietHandler, fd=listener.fileno()
    )
    thread = threading.Thread(target=server.serve_forever, args=[_POLL_S], name="serve")
    thread.start()
    try:
        _probe(host, port)
        say(json.dumps({"ready": True, **ready}) + "\n")
        signal.sigwait(_STOP)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        listener.close()


def _probe(host: str, port: int) -> None:
    connection = http.client.HTTPConnection(host, port, timeout=REQUEST_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        connection.getresponse().read()
    finally:
        connection.close()
