"""The gateway's side of a user's consent: authorization code with PKCE on a loopback address.

`connect` gives the user a URL of the broker to open, waits on 127.0.0.1 for the browser to come
back, and redeems the code for the grant handle. What comes back counts only with the state of this
very attempt and the broker's own `iss`; anything else gets an error page and is otherwise ignored,
so that no page in the browser can end or take over an attempt. The code is used by whoever holds
verifier and client key, that is, by this process.

Source: RFC 6749 section 4.1, RFC 7636, RFC 8252 section 7.3, RFC 9207, `docs/wire.md`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import queue
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, cast

from gateway.errors import ExecutionError
from gateway.execute.credential import GRANT_HANDLE, Broker, oauth_code, unavailable
from gateway.execute.grants import Grant
from gateway.execute.secret import Secret
from gateway.model.names import Json, Status

CALLBACK: Final = "/callback"
_ADDRESS: Final = "127.0.0.1"
_MAX_QUERY: Final = 8192
_IDLE_S: Final = 5
_MEMBERS: Final = frozenset(
    {
        "access_token",
        "issued_token_type",
        "token_type",
        "grant_id",
        "user",
        "agent",
        "scope",
        "audiences",
        "expires_at",
    }
)
_DONE: Final = "Thank you. You can close this page and go back to counterfoil."
_DENIED: Final = "Access was not granted. You can close this page."
_WRONG: Final = "This is not an answer counterfoil is waiting for."


def connect(
    broker: Broker,
    *,
    agent: str,
    scopes: Sequence[str],
    purpose: str | None,
    show: Callable[[str], None],
    timeout_s: float,
    monotonic: Callable[[], float] = time.monotonic,
) -> Grant:
    """Have a user grant scopes to an agent; `show` is given the URL to open.

    Raises:
        ExecutionError: denied, not answered in time, or the broker does not answer as agreed.
        ConfigError: the gateway's key cannot be used.
    """
    deadline = monotonic() + timeout_s
    state, verifier = broker.random(), broker.random() + broker.random()
    with _listening(broker.issuer, state) as listener:
        query = {
            "client_id": broker.client_id,
            "redirect_uri": listener.redirect_uri,
            "state": state,
            "scope": " ".join(scopes),
            "agent": agent,
        }
        if purpose is not None:
            query["purpose"] = purpose
        show(authorize_url(broker.issuer, query, verifier))
        try:
            answer = listener.answers.get(timeout=max(deadline - monotonic(), 0))
        except queue.Empty:
            message = f"no consent within {timeout_s:g} s; start again"
            raise ExecutionError("timeout", message, status=Status.NOT_STARTED) from None
        redirect_uri = listener.redirect_uri
    if "error" in answer:
        raise ExecutionError(
            "broker_refused",
            f"the user or the broker refused: {oauth_code(answer['error']) or 'an error'}",
            status=Status.NOT_STARTED,
        )
    form = {
        "grant_type": "authorization_code",
        "code": answer["code"],
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    redeemed = broker.token(form, timeout_s=broker.timeout_s)
    return _grant(redeemed, agent=agent, scopes=scopes)


def authorize_url(issuer: str, query: Mapping[str, str], verifier: str) -> str:
    """Return the URL a user opens to consent: a code request with an S256 challenge."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
    fixed = {
        "response_type": "code",
        "code_challenge": challenge.rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    return f"{issuer}/authorize?{urllib.parse.urlencode({**query, **fixed})}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listener:
    """Where the browser comes back to, and the first answer that counts."""

    redirect_uri: str
    answers: queue.Queue[Mapping[str, str]] = field(repr=False)


@contextlib.contextmanager
def _listening(issuer: str, state: str) -> Iterator[_Listener]:
    answers: queue.Queue[Mapping[str, str]] = queue.Queue(maxsize=1)

    class Handler(_Callback):
        expected = {"iss": issuer, "state": state}  # noqa: RUF012 - never written
        inbox = answers

    server = _Server((_ADDRESS, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield _Listener(
            redirect_uri=f"http://{_ADDRESS}:{server.server_port}{CALLBACK}", answers=answers
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    """One thread per visitor, so that a silent one holds nobody up."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a visitor that breaks off is not our fault."""


class _Callback(BaseHTTPRequestHandler):
    """Takes the one answer of one attempt; everything else gets an error page."""

    timeout = _IDLE_S
    server_version = "counterfoil"
    sys_version = ""
    expected: Mapping[str, str]
    inbox: queue.Queue[Mapping[str, str]]

    def do_GET(self) -> None:
        """Take the answer if it is the one waited for."""
        answer = self._answer()
        if answer is None:
            self._page(400, _WRONG)
            return
        try:
            self._page(200, _DONE if "code" in answer else _DENIED)
        finally:
            with contextlib.suppress(queue.Full):  # the first answer counts
                self.inbox.put_nowait(answer)

    def _answer(self) -> Mapping[str, str] | None:
        path, _, query = self.path.partition("?")
        here = f"{_ADDRESS}:{cast('_Server', self.server).server_port}"
        if path != CALLBACK or len(query) > _MAX_QUERY or self.headers.get("Host") != here:
            return None
        try:
            pairs = urllib.parse.parse_qsl(query, strict_parsing=True, max_num_fields=16)
        except ValueError:
            return None
        answer = dict(pairs)
        if len(answer) != len(pairs) or ("code" in answer) is ("error" in answer):
            return None
        for name, wanted in self.expected.items():
            if not hmac.compare_digest(answer.get(name, "").encode(), wanted.encode()):
                return None
        return answer

    def _page(self, status: int, text: str) -> None:
        body = f"<!doctype html><title>counterfoil</title><p>{text}</p>\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Log nothing: the request line holds the code."""


def _grant(answer: Mapping[str, Json], *, agent: str, scopes: Sequence[str]) -> Grant:
    """Believe an answer only if it is a grant handle for this agent and these scopes at most."""
    if answer.keys() != _MEMBERS:
        raise unavailable("answered with other members than agreed")
    if (answer["issued_token_type"], answer["token_type"]) != (GRANT_HANDLE, "N_A"):
        raise unavailable("answered with something else than a grant handle")
    texts = {name: answer[name] for name in ("access_token", "grant_id", "user", "agent", "scope")}
    if not all(isinstance(value, str) and value for value in texts.values()):
        raise unavailable("answered with an empty or wrong member")
    audiences = _audiences(answer["audiences"])
    given = sorted(scope for some in audiences.values() for scope in some)
    if (
        answer["agent"] != agent
        or sorted(str(answer["scope"]).split(" ")) != given
        or not set(given) <= set(scopes)
    ):
        raise unavailable("answered with a grant that was not asked for")
    if type(answer["expires_at"]) is not int:
        raise unavailable("answered without an end of the grant")
    return Grant(
        grant_id=str(answer["grant_id"]),
        user=str(answer["user"]),
        agent=agent,
        audiences=audiences,
        expires_at=answer["expires_at"],
        handle=Secret(str(answer["access_token"])),
    )


def _audiences(value: Json) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise unavailable("answered without audiences")
    audiences: dict[str, tuple[str, ...]] = {}
    for name, scopes in value.items():
        if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
            raise unavailable("answered with audiences that are not lists of scopes")
        audiences[name] = tuple(map(str, scopes))
    return audiences
