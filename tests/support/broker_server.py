"""A real broker over HTTP on loopback, in this process, with a clock the test owns.

    with running_broker(tmp_path) as broker:
        handle = broker.handle("calendar.read")["access_token"]     # drives the consent page
        answer = broker.exchange(handle, "calendar.read")           # a requests.Response
        token = answer.json()["access_token"]
        broker.introspect(token, "calendar-api")                    # {"active": True, ...}
        broker.clock.advance(301)                                   # now it is not

Registered: user `alice` (PASSWORD), gateway client `gateway` (`broker.gateway`), and one resource
server per audience of the demo catalogue (`broker.servers["calendar-api"]`). Pass `base_urls` when
APIs of your own stand behind the audiences. `broker.random.secrets` holds every secret drawn.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import socket
import threading
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import jwt
import requests
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from cryptography.hazmat.primitives.asymmetric import ec
from werkzeug.serving import WSGIRequestHandler, make_server

from broker.app import broker_of, create_app
from broker.cli.init import demo_config
from broker.config import Config, load, write_private
from broker.grants.client_auth import ASSERTION_TYP, ASSERTION_TYPE
from broker.grants.token_exchange import ACTOR_TYP, ACTOR_TYPE, GRANT_TYPE
from broker.store import clients, users
from broker.store.clients import Client
from broker.store.database import Store
from broker.tokens.keys import new_signing_key, public_jwk, thumbprint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HANDLE_TYPE = "urn:counterfoil:token-type:grant-handle"
START = 1_800_000_000
PASSWORD = "correct horse battery"
REDIRECT_URI = "http://127.0.0.1/callback"
VERIFIER = "v" * 64
AGENT = "demo-agent"
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
# scope -> (audience, operation, method, path and query)
CALLS = {
    "calendar.read": ("calendar-api", "events.read", "GET", "/v1/events?day=2026-11-30"),
    "calendar.write": ("calendar-api", "events.create", "POST", "/v1/events"),
    "mail.read": ("mail-api", "messages.read", "GET", "/v1/messages"),
    "mail.send": ("mail-api", "messages.send", "POST", "/v1/messages/send"),
    "mail.delete": ("mail-api", "messages.delete", "DELETE", "/v1/messages/7"),
    "files.read": ("files-api", "files.read", "GET", "/v1/files/notes.txt"),
    "files.write": ("files-api", "files.write", "PUT", "/v1/files/notes.txt"),
}
_HASHES: dict[str, str] = {}


class Clock:
    """Integer seconds that move only when told."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: int) -> None:
        self.now += seconds


class Random:
    """Real randomness that remembers every 32-byte secret it gave."""

    def __init__(self) -> None:
        self.secrets: list[bytes] = []

    def __call__(self, size: int) -> bytes:
        value = secrets.token_bytes(size)
        if size == 32:
            self.secrets.append(value)
        return value


@dataclass(frozen=True)
class Party:
    """A client with its private key."""

    id: str
    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1()), repr=False
    )

    @property
    def jwk(self) -> dict[str, str]:
        return public_jwk(self.private.public_key())

    def sign(self, claims: dict[str, Any], *, typ: str, **header: Any) -> str:
        headers = {"typ": typ, "kid": thumbprint(self.jwk), **header}
        payload = json.dumps(claims).encode()
        return jwt.PyJWS().encode(payload, self.private, algorithm="ES256", headers=headers)


@dataclass
class BrokerServer:
    """A running broker and short ways to talk to it."""

    url: str
    config: Config
    clock: Clock
    random: Random
    store: Store
    folder: Path
    gateway: Party
    servers: dict[str, Party]

    # -- as a client ------------------------------------------------------------------------

    def assertion(self, party: Party, **claims: Any) -> str:
        """A client assertion; override claims by keyword."""
        base = {"iss": party.id, "sub": party.id, "aud": self.url, "jti": uuid.uuid4().hex}
        times = {"iat": self.clock(), "exp": self.clock() + 60}
        return party.sign(base | times | claims, typ=ASSERTION_TYP)

    def actor(self, agent: str = AGENT, party: Party | None = None, **claims: Any) -> str:
        """An actor assertion."""
        party = party or self.gateway
        base = {"iss": party.id, "sub": agent, "aud": self.url, "jti": uuid.uuid4().hex}
        base |= {"session": "session-1"}
        times = {"iat": self.clock(), "exp": self.clock() + 60}
        return party.sign(base | times | claims, typ=ACTOR_TYP)

    def post(
        self, path: str, form: dict[str, str], party: Party | None = None
    ) -> requests.Response:
        """POST a form with a fresh client assertion (the gateway's unless told otherwise)."""
        auth = {
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": self.assertion(party or self.gateway),
        }
        return requests.post(self.url + path, data=auth | form, timeout=30)

    def details(self, scope: str, /, **changes: str) -> str:
        """The authorization_details of the call that CALLS names for this scope."""
        audience, operation, method, path = CALLS[scope]
        call = {
            "type": "counterfoil_call",
            "decision_id": str(uuid.uuid4()),
            "action_digest": "sha256:" + "a" * 64,
            "operation": operation,
            "method": method,
            "uri": self.config.catalogue[audience].base_url + path,
            "content_sha256": EMPTY_SHA256,
        }
        return json.dumps([call | changes])

    def exchange_form(self, handle: str, scope: str, /, **changes: str) -> dict[str, str]:
        """The exchange's fields without client authentication; override by keyword."""
        form = {
            "grant_type": GRANT_TYPE,
            "subject_token": handle,
            "subject_token_type": HANDLE_TYPE,
            "actor_token": self.actor(),
            "actor_token_type": ACTOR_TYPE,
            "audience": CALLS[scope][0],
            "scope": scope,
            "authorization_details": self.details(scope),
        }
        return form | changes

    def exchange(self, handle: str, scope: str, /, **changes: str) -> requests.Response:
        """Exchange a handle for an access token."""
        return self.post("/token", self.exchange_form(handle, scope, **changes))

    def introspect(self, token: str, audience: str) -> dict[str, Any]:
        """Introspect as this audience's resource server."""
        answer = self.post("/introspect", {"token": token}, self.servers[audience])
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()
        return result

    def revoke(self, token: str) -> requests.Response:
        """Revoke a token or handle as the gateway."""
        return self.post("/revoke", {"token": token})

    # -- as a person ------------------------------------------------------------------------

    def authorize_query(self, scope: str, /, **changes: str) -> dict[str, str]:
        """The authorization request's parameters."""
        query = {
            "response_type": "code",
            "client_id": self.gateway.id,
            "redirect_uri": REDIRECT_URI,
            "state": "state-1",
            "code_challenge": create_s256_code_challenge(VERIFIER),
            "code_challenge_method": "S256",
            "scope": scope,
            "agent": AGENT,
            "purpose": "plan the week",
        }
        return query | changes

    def log_in(self, browser: requests.Session, page: requests.Response, user: str) -> str:
        """Fill in a login page; the text of the page it leads to."""
        form = hidden_fields(page.text) | {"user": user, "password": PASSWORD}
        answer = browser.post(f"{self.url}/login", data=form, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.text

    def open_consent(
        self, browser: requests.Session, scope: str, *, user: str = "alice", **changes: str
    ) -> str:
        """Open the consent page, logging in first if asked to; its HTML."""
        page = browser.get(
            f"{self.url}/authorize", params=self.authorize_query(scope, **changes), timeout=30
        )
        return self.log_in(browser, page, user) if 'action="/login"' in page.text else page.text

    def decide(
        self, browser: requests.Session, page: str, decision: str = "allow", **changes: str
    ) -> requests.Response:
        """Press a button of a consent page; the redirect, not followed."""
        until = re.search(r'name="until" type="date" value="([^"]+)"', page)
        form = hidden_fields(page) | {"decision": decision}
        form |= {"until": until[1]} if until else {}
        return browser.post(
            f"{self.url}/authorize", data=form | changes, timeout=30, allow_redirects=False
        )

    def code(self, scope: str, *, user: str = "alice", until: str = "", **changes: str) -> str:
        """Consent as a person and return the code from the redirect."""
        with requests.Session() as browser:
            page = self.open_consent(browser, scope, user=user, **changes)
            chosen = {"until": until} if until else {}
            answer = self.decide(browser, page, **chosen)
        assert answer.status_code == 303, answer.text
        return redirect_parameters(answer)["code"]

    def redeem(self, code: str, /, **changes: str) -> requests.Response:
        """Redeem a code as the gateway."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT_URI,
            "code_verifier": VERIFIER,
        }
        return self.post("/token", form | changes)

    def handle(self, scope: str, **changes: str) -> dict[str, Any]:
        """Consent and redeem; the whole answer, the handle is its `access_token`."""
        answer = self.redeem(self.code(scope, **changes))
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()
        return result

    def add_user(self, name: str) -> None:
        """Add another person with the same PASSWORD."""
        if PASSWORD not in _HASHES:
            _HASHES[PASSWORD] = users.hash_password(PASSWORD)
        with self.store.write() as connection:
            users.add(connection, name=name, password_hash=_HASHES[PASSWORD], now=START)

    def add_client(self, party: Party, *, audience: str | None = None) -> None:
        """Register another gateway, or the resource server of an audience."""
        client = Client(
            id=party.id,
            kind="gateway" if audience is None else "resource",
            audience=audience,
            jwk=json.dumps(party.jwk),
            redirect_uris=(REDIRECT_URI,) if audience is None else (),
            enabled=True,
        )
        with self.store.write() as connection:
            assert clients.add(connection, client, now=START)


@contextmanager
def running_broker(
    folder: Path, *, base_urls: dict[str, str] | None = None, random: Any = None
) -> Iterator[BrokerServer]:
    """Set a broker up in `folder` and serve it until the block ends."""
    clock, random = Clock(), random or Random()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        config = make_config(folder, port=port, base_urls=base_urls or {})
        app = create_app(config, clock=clock, random=random)
        server = make_server(
            "127.0.0.1",
            port,
            app,
            threaded=True,
            request_handler=_QuietHandler,
            fd=listener.fileno(),
        )
    broker = BrokerServer(
        url=config.issuer,
        config=config,
        clock=clock,
        random=random,
        store=broker_of(app).store,
        folder=folder,
        gateway=Party("gateway"),
        servers={name: Party(a.resource_server) for name, a in config.catalogue.items()},
    )
    broker.add_user("alice")
    broker.add_client(broker.gateway)
    for name, party in broker.servers.items():
        broker.add_client(party, audience=name)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield broker
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        broker.store.close()


def make_config(folder: Path, *, port: int, base_urls: dict[str, str]) -> Config:
    """Write the demo configuration, keys and database into `folder`, and load them."""
    path = folder / "broker.toml"
    path.write_text(demo_config(port=port, base_urls=base_urls))
    config = load(path)
    write_private(folder / "broker-keys" / "signing.pem", new_signing_key())
    write_private(folder / "broker-keys" / "seal.key", secrets.token_bytes(32))
    store = Store(folder / "broker.db")
    store.create()
    store.close()
    return config


def hidden_fields(page: str) -> dict[str, str]:
    """The hidden inputs of the first form of a page."""
    form = page.partition("<form")[2].partition("</form>")[0]
    found = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form)
    return {name: value.replace("&amp;", "&") for name, value in found}


def redirect_parameters(answer: requests.Response) -> dict[str, str]:
    """The parameters a redirect hands to the client."""
    return dict(parse_qsl(answer.headers["Location"].partition("?")[2]))


class _QuietHandler(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""
