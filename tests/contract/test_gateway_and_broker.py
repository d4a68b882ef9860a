"""The gateway's own client against the real broker: consent, exchange, one call, revocation."""

from __future__ import annotations

import re
import secrets
import threading
import urllib.parse

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from flask import Flask, Response, request

from gateway.errors import ExecutionError
from gateway.execute.api import Api
from gateway.execute.consent import connect
from gateway.execute.credential import Broker
from gateway.execute.grants import Grants
from gateway.model.names import Operation, Status
from gateway.model.plan import CallApi
from tests.gateway.execute import fakes
from tests.gateway.execute.permits import CALLER, permit
from tests.support.broker_server import BrokerServer, hidden_fields, running_broker

SCOPES = ["calendar.read", "calendar.write"]


class Calendar:
    """A resource server that serves a call only after introspection; keeps what it was shown."""

    def __init__(self) -> None:
        self.broker: BrokerServer | None = None
        self.served: list[dict] = []
        self.app = Flask("calendar")
        self.app.add_url_rule("/v1/events", view_func=self.events, methods=["GET", "POST"])

    def events(self) -> Response:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        facts = self.broker.introspect(token, "calendar-api")
        if not facts["active"]:
            return Response("{}", status=401)
        self.served.append({"method": request.method, **facts})
        return Response('{"ok": true}')


class Person(threading.Thread):
    """Opens the consent page it is shown, logs in, presses a button and follows the redirect."""

    def __init__(self, broker: BrokerServer, decision: str = "allow") -> None:
        super().__init__()
        self.broker = broker
        self.decision = decision
        self.url = ""

    def show(self, url: str) -> None:
        self.url = url
        self.start()

    def run(self) -> None:
        with requests.Session() as browser:
            page = browser.get(self.url, timeout=20)
            text = self.broker.log_in(browser, page, "alice")
            form = hidden_fields(text) | {"decision": self.decision}
            until = re.search(r'name="until" type="date" value="([^"]+)"', text)
            form |= {"until": until[1]} if until else {}
            answer = browser.post(
                self.broker.url + "/authorize", data=form, timeout=20, allow_redirects=False
            )
            requests.get(answer.headers["Location"], timeout=20)


@pytest.fixture
def world(tmp_path):
    calendar = Calendar()
    (tmp_path / "state").mkdir()
    with (
        fakes.serve(calendar.app) as url,
        running_broker(tmp_path, base_urls={"calendar-api": url}) as broker,
    ):
        calendar.broker = broker
        key_file = tmp_path / "client.pem"
        key_file.touch(mode=0o600)
        key_file.write_bytes(
            broker.gateway.private.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        client = Broker(
            issuer=broker.url, client_id="gateway", key_file=key_file, clock=broker.clock
        )
        grants = Grants(directory=tmp_path / "state", clock=broker.clock)
        api = Api(broker=client, grants=grants, users={"alice": "alice"})
        yield broker, client, grants, api, calendar, url


def consent(broker, client, decision="allow"):
    person = Person(broker, decision)
    try:
        return connect(
            client,
            agent="demo",
            scopes=SCOPES,
            purpose="plan the week",
            show=person.show,
            timeout_s=20,
        )
    finally:
        person.join()


def call(api: Api, url: str, method: str = "GET", scope: str = "calendar.read", **more):
    post = method == "POST"
    plan = CallApi(
        audience="calendar-api",
        api_operation="events.create" if post else "events.read",
        scope=scope,
        method=method,
        url=url + "/v1/events" + ("" if post else "?day=2026-11-30"),
        body=b'{"title":"x"}' if post else None,
        arguments={},
    )
    action_id = secrets.token_hex(16)
    allowed = permit(plan, operation=Operation.API_CALL, action_id=action_id, **more)
    return api.call(plan, allowed)


def test_consent_exchange_call_and_revocation(world):
    broker, client, grants, api, calendar, url = world
    grant = consent(broker, client)
    assert (grant.user, grant.agent) == ("alice", "demo")
    assert grant.audiences == {"calendar-api": ("calendar.read", "calendar.write")}
    grants.add(grant)

    read = call(api, url)
    assert (read.status, read.content) == (Status.DONE, b'{"ok": true}')
    write = call(api, url, "POST", "calendar.write")
    assert write.status is Status.DONE
    assert [one["scope"] for one in calendar.served] == SCOPES
    assert [one["act"] for one in calendar.served] == [{"sub": "demo"}] * 2
    assert [one["jti"] for one in calendar.served] == [read.data["jti"], write.data["jti"]]

    broker.revoke(grant.handle.reveal())
    with pytest.raises(ExecutionError) as caught:
        call(api, url)
    assert (caught.value.code, caught.value.status) == ("broker_refused", "not_started")
    assert len(calendar.served) == 2


def test_a_person_who_denies_gives_nothing(world):
    broker, client, *_ = world
    with pytest.raises(ExecutionError) as caught:
        consent(broker, client, "deny")
    assert caught.value.code == "broker_refused"
    assert "access_denied" in str(caught.value)


def test_the_broker_refuses_a_scope_the_operation_does_not_have(world):
    broker, client, grants, api, calendar, url = world
    grants.add(consent(broker, client))
    with pytest.raises(ExecutionError) as caught:
        call(api, url, scope="calendar.write")
    assert caught.value.code == "broker_refused"
    assert calendar.served == []


def test_the_broker_mints_once_for_one_decision(world):
    broker, client, _, _, _, url = world
    grant = consent(broker, client)
    plan = CallApi(
        audience="calendar-api",
        api_operation="events.read",
        scope="calendar.read",
        method="GET",
        url=url + "/v1/events",
        body=None,
        arguments={},
    )
    allowed = permit(plan, operation=Operation.API_CALL, action_id="one-decision", caller=CALLER)
    client.exchange(plan, allowed, handle=grant.handle, timeout_s=20)
    with pytest.raises(ExecutionError) as caught:
        client.exchange(plan, allowed, handle=grant.handle, timeout_s=20)
    assert caught.value.code == "broker_refused"


def test_the_authorization_url_is_the_issuers(world):
    broker, client, *_ = world
    person = Person(broker)
    try:
        connect(client, agent="demo", scopes=SCOPES, purpose=None, show=person.show, timeout_s=20)
    finally:
        person.join()
    assert person.url.startswith(broker.url + "/authorize?")
    query = dict(urllib.parse.parse_qsl(person.url.partition("?")[2]))
    assert "purpose" not in query
