"""Ask the broker about one token, over HTTP, as an authenticated client.

One fresh connection and one fresh client assertion per question; no proxy, no redirect, no cookie,
no retry, no compressed answer, at most 64 KiB. Connecting is limited; then sending and the whole
answer, head and body, have one deadline, also against a broker that sends a byte at a time.
Whatever goes wrong is a BrokerFaultError, never an answer.

`http.client` is used alone because it does nothing of itself: nothing here has to be turned off.

Source: RFC 7662 §2.1, RFC 7523 §2.2 and §3 (client assertion).
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from broker.resource.model import BrokerFaultError, Reason, ResourceConfig, parse_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_ANSWER_BYTES = 64 * 1024
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "close",
    "Content-Type": "application/x-www-form-urlencoded",
}


class Introspector:
    """The way to one broker's introspection endpoint."""

    def __init__(self, config: ResourceConfig, *, assertion: Callable[[], str]) -> None:
        self._place = parse_url("introspection_url", config.introspection_url)
        self._timeout_s = config.timeout_s
        self._assertion = assertion
        self._tls = ssl.create_default_context() if self._place.tls else None

    def ask(self, token: str) -> bytes:
        """Return the broker's JSON answer about this token, or raise BrokerFaultError."""
        form = {
            "token": token,
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": self._assertion(),
        }
        expired = threading.Event()
        answer, fault = b"", None
        try:
            address = (self._place.host, self._place.port)
            with (
                socket.create_connection(address, timeout=self._timeout_s) as plain,
                _deadline(plain, self._timeout_s, expired),
            ):
                answer = self._exchange(plain, urlencode(form).encode("ascii"))
        except TimeoutError:
            expired.set()
        except BrokerFaultError as error:
            fault = error
        except (OSError, http.client.HTTPException):
            fault = BrokerFaultError(Reason.BROKER_UNREACHABLE, "no HTTP answer")
        if expired.is_set():  # what was read by then may be cut anywhere
            raise BrokerFaultError(Reason.BROKER_SLOW, "no whole answer in time")
        if fault is not None:
            raise fault
        return answer

    def _exchange(self, plain: socket.socket, form: bytes) -> bytes:
        place = self._place
        connection = http.client.HTTPConnection(place.host, place.port)
        with contextlib.closing(connection):
            connection.sock = (
                self._tls.wrap_socket(plain, server_hostname=place.host) if self._tls else plain
            )
            connection.request("POST", place.path, body=form, headers=_HEADERS)
            with connection.getresponse() as response:
                _check_head(response)
                return _whole(response)


@contextlib.contextmanager
def _deadline(sock: socket.socket, seconds: float, expired: threading.Event) -> Iterator[None]:
    """Shut the connection down after so many seconds; `expired` says that it was."""
    handle = sock.dup()  # wrapping for TLS takes the first handle apart

    def end() -> None:
        expired.set()
        with contextlib.suppress(OSError):
            handle.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        handle.close()


def _check_head(response: http.client.HTTPResponse) -> None:
    if response.status != http.client.OK:
        raise BrokerFaultError(Reason.BROKER_STATUS, f"status {response.status}")
    kind = response.getheader("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BrokerFaultError(Reason.BROKER_ANSWER, "Content-Type is not application/json")
    if response.getheader("Content-Encoding") is not None:
        raise BrokerFaultError(Reason.BROKER_ANSWER, "Content-Encoding is not accepted")


def _whole(response: http.client.HTTPResponse) -> bytes:
    answer = response.read(MAX_ANSWER_BYTES + 1)
    if len(answer) > MAX_ANSWER_BYTES:
        raise BrokerFaultError(Reason.BROKER_ANSWER, f"over {MAX_ANSWER_BYTES} bytes")
    if response.length:  # what Content-Length promised and the connection did not bring
        raise http.client.IncompleteRead(answer, response.length)
    return answer
