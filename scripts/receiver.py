"""The attacker's receiver: a real HTTP server on loopback that keeps what arrives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

_MOST_BYTES: Final = 65_536


@dataclass(slots=True)
class Receiver:
    """`address` is HOST:PORT; `arrived` the bodies, in order."""

    address: str = ""
    arrived: list[str] = field(default_factory=list)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Keep a receiver up until the block ends."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        """Keeps every body."""

        def do_POST(self) -> None:
            """Keep the body, say thanks."""
            length = min(int(self.headers.get("Content-Length", "0")), _MOST_BYTES)
            receiver.arrived.append(self.rfile.read(length).decode("utf-8", "replace"))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"thanks\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.address = f"127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
