"""The mock APIs behind a real broker over HTTP, and a real gateway before them, on one clock.

with running_world(tmp_path) as world:
    handle = world.broker.handle("calendar.read")["access_token"]
    token = world.mint(handle, "calendar.read")
    world.call("calendar.read", token)            # a requests.Response; the decided call
    world.seen["calendar-api"]                    # every Authorization header the API received
    with running_gate(world, "calendar.read") as gate:
        gate.call("calendar-api", "events.read")  # the whole road; a gateway Answer
"""

from __future__ import annotations

import hashlib
import secrets
import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import requests
from cryptography.hazmat.primitives import serialization
from werkzeug.serving import WSGIRequestHandler, make_server

from broker.resource import ResourceConfig, assertion_source
from gateway.approve.none import NoApprover
from gateway.assembly.build import assemble_judge, log_settings, new_id, options_from
from gateway.assembly.places import Places, places, user_name
from gateway.assembly.setup import initialize
from gateway.execute.api import Api
from gateway.execute.credential import Broker
from gateway.execute.grants import Grant, Grants
from gateway.execute.secret import Secret
from gateway.execute.stage import Execute
from gateway.model.request import ActionRequest, Caller
from gateway.observe.stage import Observe
from gateway.pipeline import Pipeline
from gateway.record import keys
from gateway.record.stage import open_log
from mock_apis import calendar, files, mail, naive
from mock_apis.journal import Journal
from mock_apis.service import Wiring
from tests.support.broker_server import (
    AGENT,
    CALLS,
    REDIRECT_URI,
    VERIFIER,
    BrokerServer,
    Party,
    running_broker,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateway.model.outcome import Answer

APIS = {"calendar-api": calendar, "mail-api": mail, "files-api": files}
JSON = {"Content-Type": "application/json"}

POLICY = """\
version: 1
default: deny
roots: {{workspace: "{workspace}"}}
rules:
  - id: look
    effect: allow
    operations: [api.call]
    api: {{audience: calendar-api, operations: [events.read], scope: calendar.read}}
  - id: read-mail
    effect: allow
    operations: [api.call]
    api: {{audience: mail-api, operations: [messages.read, messages.delete]}}
  - id: send-mail
    effect: ask
    operations: [api.call]
    api: {{audience: mail-api, operations: [messages.send], scope: mail.send}}
"""
CONFIG = """\
apis:
  calendar-api:
    base_url: {calendar-api}
    operations:
      events.read:
        {{method: GET, path: /v1/events, scope: calendar.read, query: {{day: {{type: string}}}}}}
  mail-api:
    base_url: {mail-api}
    operations:
      messages.read: {{method: GET, path: /v1/messages, scope: mail.read}}
      messages.delete: {{method: DELETE, path: "/v1/messages/{{id}}", scope: mail.delete}}
      messages.send:
        method: POST
        path: /v1/messages/send
        scope: mail.send
        body:
          to: {{type: array, required: true}}
          subject: {{type: string, required: true}}
          body: {{type: string, required: true}}
broker:
  issuer: {issuer}
  client_id: counterfoil
  agent: {agent}
  users: {{{os_user}: alice}}
"""


@dataclass
class World:
    """Three APIs, their journals, what they received, and the broker they ask."""

    broker: BrokerServer
    urls: dict[str, str]
    folder: Path
    journals: dict[str, Journal] = field(default_factory=dict)
    seen: dict[str, list[str]] = field(default_factory=dict)

    def mint(self, handle: str, scope: str, /, **changes: str) -> str:
        """Exchange the handle for a token of the call that CALLS names, details changed."""
        details = self.broker.details(scope, **changes)
        answer = self.broker.exchange(handle, scope, authorization_details=details)
        assert answer.status_code == 200, answer.text
        token: str = answer.json()["access_token"]
        return token

    def call(
        self,
        scope: str,
        token: str | None,
        *,
        method: str | None = None,
        path: str | None = None,
        audience: str | None = None,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> requests.Response:
        """Make the call that CALLS names for this scope, or a changed one."""
        usual_audience, _, usual_method, usual_path = CALLS[scope]
        sent = {"Authorization": f"Bearer {token}"} if token is not None else {}
        url = self.urls[audience or usual_audience] + (path or usual_path)
        prepared = requests.Request(
            method or usual_method,
            url,
            data=body,
            headers=sent | (JSON if body is not None else {}) | (headers or {}),
        ).prepare()
        prepared.url = url  # as spelled: the library would rewrite percent-encodings
        with requests.Session() as session:
            return session.send(prepared, timeout=30)

    def last(self, audience: str) -> dict[str, Any]:
        """The newest journal entry of an API."""
        return self.journals[audience].entries()[-1]

    def accepted(self, audience: str) -> int:
        """How many calls an API served."""
        return sum(e["outcome"] == "accepted" for e in self.journals[audience].entries())

    def stolen(self, audience: str) -> str:
        """The last token an API received: what its log, or a proxy before it, would leak."""
        return self.seen[audience][-1].removeprefix("Bearer ")


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class Tap:
    """WSGI middleware that keeps the Authorization headers it sees."""

    def __init__(self, app: Any, seen: list[str]) -> None:
        self.app, self.seen = app, seen

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        if header := environ.get("HTTP_AUTHORIZATION"):
            self.seen.append(header)
        return self.app(environ, start_response)


@contextmanager
def served(app: Any, listener: socket.socket | None = None) -> Iterator[str]:
    """Serve a WSGI application in a thread until the block ends; gives its URL."""
    with listener or socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        server = make_server(
            "127.0.0.1", port, app, threaded=True, request_handler=_Quiet, fd=sock.fileno()
        )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def running_world(folder: Path) -> Iterator[World]:
    """Run broker and APIs in `folder` until the block ends."""
    with ExitStack() as stack:
        listeners = {
            name: stack.enter_context(socket.create_server(("127.0.0.1", 0))) for name in APIS
        }
        urls = {n: f"http://127.0.0.1:{one.getsockname()[1]}" for n, one in listeners.items()}
        broker = stack.enter_context(running_broker(folder, base_urls=urls))
        world = World(broker=broker, urls=urls, folder=folder)
        for name, module in APIS.items():
            world.journals[name] = Journal(folder / f"{name}.jsonl", api=name, clock=broker.clock)
            world.seen[name] = []
            app = module.create_app(wiring(world, name))
            stack.enter_context(served(Tap(app, world.seen[name]), listeners[name]))
        yield world


def wiring(world: World, audience: str) -> Wiring:
    """What an API needs to stand behind this broker."""
    broker = world.broker
    client_id = broker.config.catalogue[audience].resource_server
    return Wiring(
        config=ResourceConfig(
            audience=audience,
            base_url=world.urls[audience],
            issuer=broker.url,
            introspection_url=f"{broker.url}/introspect",
            client_id=client_id,
            timeout_s=20,
        ),
        assertion=assertion_source(
            write_key(world.folder / f"{audience}.pem", broker.servers[audience]),
            client_id=client_id,
            issuer=broker.url,
            clock=broker.clock,
            new_id=secrets.token_urlsafe,
        ),
        clock=broker.clock,
        journal=world.journals[audience],
    )


def write_key(path: Path, party: Party) -> Path:
    """Write a party's private key as PEM, mode 0600."""
    path.touch(mode=0o600)
    path.write_bytes(
        party.private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


@contextmanager
def running_naive(folder: Path, clock: Any) -> Iterator[tuple[str, Journal]]:
    """Run the insecure API on this clock until the block ends; its URL and journal."""
    journal = Journal(folder / "naive.jsonl", api="naive", clock=clock)
    issuer = naive.NaiveIssuer(
        key=secrets.token_bytes(32), clock=clock, new_secret=secrets.token_urlsafe
    )
    with served(naive.create_app(issuer=issuer, journal=journal)) as url:
        yield url, journal


@dataclass
class Gate:
    """A standing gateway pipeline whose agent holds one grant."""

    pipeline: Pipeline
    caller: Caller
    places: Places
    party: Party
    grant: Grant
    handle: str = field(repr=False)

    def call(self, audience: str, operation: str, /, **arguments: Any) -> Answer:
        """One `api.call` along the whole road."""
        params = {"audience": audience, "operation": operation, "arguments": arguments}
        return self.request(params)

    def request(self, params: dict[str, Any], **claims: Any) -> Answer:
        """An `api.call` with these very parameters, and what the agent claims to be."""
        asked = ActionRequest(tool="api.call", params=params, **claims)
        return self.pipeline.run(asked, self.caller)

    def kept(self) -> bytes:
        """Every byte of log, head, snapshots: the state directory without keys and grants file."""
        return b"".join(
            path.read_bytes()
            for path in sorted(self.places.state_dir.rglob("*"))
            if path.is_file()
            and path != self.places.grants
            and self.places.keys not in path.parents
        )


@contextmanager
def running_gate(world: World, scopes: str) -> Iterator[Gate]:
    """Set a gateway up with its own commands' code and give its agent a grant of `scopes`."""
    workspace = world.folder / "workspace"
    workspace.mkdir()
    where = places(
        config=str(world.folder / "config" / "config.yaml"),
        state_dir=str(world.folder / "gateway"),
    )
    where.config.parent.mkdir()
    policy = where.config.parent / "policy.yaml"
    policy.write_text(POLICY.format(workspace=workspace))
    initialize(where, workspace=workspace, policy=policy)
    with where.config.open("a") as file:
        words = {"issuer": world.broker.url, "agent": AGENT, "os_user": user_name()}
        file.write(CONFIG.format(**world.urls, **words))
    private = serialization.load_pem_private_key(where.gateway_key.read_bytes(), password=None)
    party = Party("counterfoil", private)
    world.broker.add_client(party)
    clock = world.broker.clock
    grants = Grants(directory=where.state, clock=clock)
    grant = _consent(world.broker, party, scopes)
    grants.add(grant)
    options = options_from(
        door="python", policy=None, config=str(where.config), state_dir=str(where.state_dir)
    )
    broker = Broker(
        issuer=world.broker.url, client_id=party.id, key_file=where.gateway_key, clock=clock
    )
    with ExitStack() as stack:
        judge = assemble_judge(options)
        stack.callback(judge.close)
        log = open_log(where.state_dir, keys.load(where.keys), log_settings())
        pipeline = Pipeline(
            normalizer=judge.normalizer,
            decider=judge.deciders[0],
            approver=NoApprover(),
            recorder=stack.enter_context(log),
            executor=Execute(api=Api(broker=broker, grants=grants, users={user_name(): "alice"})),
            observer=Observe(),
            new_id=new_id,
            timer_ns=time.monotonic_ns,
        )
        yield Gate(
            pipeline=pipeline,
            caller=judge.caller,
            places=where,
            party=party,
            grant=grant,
            handle=grant.handle.reveal(),
        )


def _consent(broker: BrokerServer, party: Party, scopes: str) -> Grant:
    code = broker.code(scopes, client_id=party.id)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT_URI,
        "code_verifier": VERIFIER,
    }
    answer = broker.post("/token", form, party).json()
    return Grant(
        grant_id=answer["grant_id"],
        user=answer["user"],
        agent=answer["agent"],
        audiences={name: tuple(names) for name, names in answer["audiences"].items()},
        expires_at=answer["expires_at"],
        handle=Secret(answer["access_token"]),
    )


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""
