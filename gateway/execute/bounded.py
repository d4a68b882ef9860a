"""One HTTP request, exactly as given, bounded in time and size.

The request line is the given URL's own path and query: whatever a library would make of it, what
is not the same is not sent. Nothing of the environment is used (no proxy, no .netrc, no cookies),
no redirect is followed, nothing is retried. The time limit is for the whole exchange, also against
a server that sends a byte at a time; the size limit is for the body. Only https, or http to this
machine, since what is sent carries credentials.

A `Failure` says whether anything was sent. It holds neither URL nor headers, and no exception that
does. Name resolution is bounded by the resolver's own limits only.

Source: RFC 9112 section 3.2 (request target), RFC 6750 section 5.3 (bearer tokens and TLS).
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import ada_url
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_CHUNK: Final = 65_536
_LOCAL: Final = frozenset({"127.0.0.1", "[::1]", "localhost"})
_HEADERS: Final = {
    "User-Agent": "counterfoil",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "close",
}


class Failure(Exception):  # noqa: N818 - a value with a stack
    """No whole answer came. `sent`: the request may have reached the server."""

    def __init__(self, *, sent: bool, timeout: bool) -> None:
        super().__init__("timeout" if timeout else "no usable answer")
        self.sent = sent
        self.timeout = timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent, as it stands; the fixed headers of this module are added."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer. `whole` is False when the body was longer than the limit and was cut."""

    status: int
    content_type: str
    body: bytes = field(repr=False)
    whole: bool


def is_safe_place(url: str) -> bool:
    """Whether credentials may be sent there: https, or http to this machine, no user in it."""
    try:
        parts = ada_url.URL(url)
    except ValueError:
        return False
    if parts.username or parts.password:
        return False
    return parts.protocol == "https:" or (parts.protocol == "http:" and parts.hostname in _LOCAL)


def send(request: Request, *, max_bytes: int, timeout_s: float) -> Reply:
    """Send one request and return the answer.

    Raises:
        Failure: no whole answer within the limits, or the request could not be sent as it stands.
    """
    attempt = _Attempt(target=_target(request.url))
    if timeout_s <= 0 or not is_safe_place(request.url):
        raise Failure(sent=False, timeout=timeout_s <= 0)
    timer = threading.Timer(timeout_s, attempt.expire)
    timer.daemon = True
    timer.start()
    reply = None
    # The library's exceptions hold the request and its headers: none may become a context.
    with contextlib.suppress(
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        http.client.HTTPException,
        OSError,
        ValueError,
    ):
        reply = _exchange(attempt, request, max_bytes, timeout_s)
    timer.cancel()
    timer.join()
    attempt.close()
    if reply is None or attempt.expired:
        raise Failure(sent=attempt.sent, timeout=attempt.expired)
    return reply


def _exchange(
    attempt: _Attempt, request: Request, max_bytes: int, timeout_s: float
) -> Reply | None:
    headers = {**_HEADERS, **request.headers}
    prepared = requests.Request(
        request.method, request.url, headers=headers, data=request.body
    ).prepare()
    asked = (request.method, request.url, request.body or b"")
    if (prepared.method, prepared.url, prepared.body or b"") != asked:
        return None
    adapter = _Adapter(attempt)
    response = None
    try:
        response = adapter.send(prepared, stream=True, timeout=timeout_s, verify=True)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            return None
        content = bytearray()
        while len(content) <= max_bytes:
            chunk = response.raw.read(min(_CHUNK, max_bytes + 1 - len(content)))
            if not chunk:
                break
            content += chunk
        return Reply(
            status=response.status_code,
            content_type=response.headers.get("Content-Type", ""),
            body=bytes(content[:max_bytes]),
            whole=len(content) <= max_bytes,
        )
    finally:
        if response is not None:
            response.close()
        adapter.close()


@dataclass(slots=True, kw_only=True)
class _Attempt:
    """What became of one request, and the way to end it from the timer's thread."""

    target: str
    sent: bool = False
    expired: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    handle: socket.socket | None = None

    def connected(self, sock: socket.socket) -> None:
        """Keep a second handle: wrapping for TLS takes the first one apart."""
        with self.lock:
            self.handle = sock.dup()
            if self.expired:
                self._shut()

    def expire(self) -> None:
        with self.lock:
            self.expired = True
            self._shut()

    def close(self) -> None:
        with self.lock:
            if self.handle is not None:
                self.handle.close()

    def _shut(self) -> None:
        if self.handle is not None:
            with contextlib.suppress(OSError):
                self.handle.shutdown(socket.SHUT_RDWR)


class _Adapter(HTTPAdapter):
    """Connects through connections that tell the attempt what they do."""

    def __init__(self, attempt: _Attempt) -> None:
        self._attempt = attempt
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        attempt = self._attempt

        class Plain(_Watched, HTTPConnection):
            watched = attempt

        class Tls(_Watched, HTTPSConnection):
            watched = attempt

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class TlsPool(HTTPSConnectionPool):
            ConnectionCls = Tls

        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": TlsPool}


class _Watched(HTTPConnection):
    """A connection that refuses another target and says when it connected and when it sent."""

    watched: _Attempt

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        self.watched.connected(sock)
        return sock

    def putrequest(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        if url != self.watched.target:
            raise ValueError("the request target is not the given one")
        super().putrequest(method, url, *args, **kwargs)

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        self.watched.sent = True
        super().send(data)


def _target(url: str) -> str:
    """Return what stands after the authority, as it is spelled."""
    rest = url.partition("://")[2]
    slash = rest.find("/")
    return rest[slash:] if slash >= 0 else "/"
