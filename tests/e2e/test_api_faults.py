"""A broker or an API that is down, slow or talks nonsense: said clearly, recorded, never retried."""

from __future__ import annotations

import re
import time

import pytest
from flask import Flask, Response, request

from tests.gateway.execute import fakes
from tests.support.gate import HANDLE, POLICY, Door

READ = {"audience": "calendar-api", "operation": "events.read", "arguments": {}}
SEND = {"audience": "mail-api", "operation": "messages.send", "arguments": {"subject": "s"}}
JWT = re.compile(r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}")


class FakeApi:
    """Counts what reaches it and answers as told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.answer: Response = Response('{"ok": true}')
        self.app = Flask("api")
        self.app.add_url_rule("/<path:path>", view_func=self.serve, methods=["GET", "POST"])

    def serve(self, path: str) -> Response:
        self.calls.append((request.method, request.headers["Authorization"]))
        return self.answer


@pytest.fixture
def api():
    fake = FakeApi()
    with fakes.serve(fake.app) as url:
        fake.url = url
        yield fake


def allow_mail(gate, timeout_s: int = 20) -> None:
    text = POLICY.replace("mail-send, effect: ask", "mail-send, effect: allow")
    gate.register(text.replace("call_timeout_s: 20", f"call_timeout_s: {timeout_s}"))


def page(status: int, body: str, kind: str = "text/html", **headers: str):
    app = Flask("page")

    @app.post("/token")
    def token() -> Response:
        return Response(body, status=status, mimetype=kind, headers=headers)

    return fakes.serve(app)


@pytest.mark.parametrize(
    "behave", [None, fakes.silent, fakes.dripping, fakes.garbage, fakes.cut_short]
)
def test_a_broker_that_is_no_broker(gate, door, api, behave):
    allow_mail(gate, timeout_s=1)
    began = time.monotonic()
    if behave is None:
        gate.with_apis(calendar=api.url, issuer=fakes.closed_port())
        seen = door.run("api.call", READ)
    else:
        with fakes.raw_server(behave) as url:
            gate.with_apis(calendar=api.url, issuer=url)
            seen = door.run("api.call", READ)
    assert time.monotonic() - began < 15
    _not_started(gate, seen, "broker_unavailable")
    assert "broker" in seen.result["message"]
    assert api.calls == []


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, "<html>hello</html>", "text/html"),
        (200, "{}", "application/json"),
        (200, '{"access_token":"x","access_token":"y"}', "application/json"),
        (200, "[" * 5000, "application/json"),
        (200, "x" * 200_000, "application/json"),
        (302, "", "text/html"),
        (500, "Traceback: secret-of-the-broker", "text/html"),
    ],
)
def test_a_broker_that_answers_garbage(gate, api, status, body, kind):
    with page(status, body, kind, Location=f"{api.url}/v1/events") as url:
        gate.with_apis(calendar=api.url, issuer=url)
        seen = Door(gate=gate, name="cli").run("api.call", READ)
    _not_started(gate, seen, "broker_unavailable")
    assert "secret-of-the-broker" not in str(seen)
    assert api.calls == []


def test_a_broker_that_refuses(gate, door, api):
    body = '{"error": "invalid_grant", "error_description": "handle ' + HANDLE + '"}'
    with page(400, body, "application/json") as url:
        gate.with_apis(calendar=api.url, issuer=url)
        seen = door.run("api.call", READ)
    _not_started(gate, seen, "broker_refused")
    assert "invalid_grant" in seen.result["message"]
    assert HANDLE not in str(seen)
    assert api.calls == []


def _not_started(gate, seen, reason):
    """Allowed, and honest about what came of it: an intent, and an outcome that says so."""
    assert seen.effect == "allow"
    assert (seen.result["status"], seen.result["reason"]) == ("not_started", reason)
    assert seen.status in {None, 1}
    intent, outcome = gate.records()
    assert (intent["kind"], outcome["kind"]) == ("intent", "outcome")
    assert (outcome["status"], outcome["result_code"]) == ("not_started", reason)
    assert gate.cli("audit", "verify")[0] == 0


@pytest.fixture
def broker():
    fake = fakes.FakeBroker()
    with fakes.serve(fake.app) as url:
        fake.url = url
        yield fake


def test_a_call_that_works_shows_no_token(gate, door, broker, api):
    gate.with_apis(calendar=api.url, issuer=broker.url)
    seen = door.run("api.call", READ)
    assert (seen.effect, seen.result["content"]) == ("allow", '{"ok": true}')
    assert api.calls == [("GET", f"Bearer {broker.tokens[0]}")]
    _nothing_told(gate, broker, seen)


def test_an_api_that_echoes_the_token_is_redacted(gate, door, broker, api):
    gate.with_apis(calendar=api.url, issuer=broker.url)

    def echo() -> str:
        return f"you sent {request.headers['Authorization']}"

    api.app.view_functions["serve"] = lambda path: echo()
    seen = door.run("api.call", READ)
    assert seen.result["content"] == "you sent Bearer [redacted]"
    _nothing_told(gate, broker, seen)


def test_an_api_that_refuses_or_fails(gate, door, broker, api):
    gate.with_apis(calendar=api.url, issuer=broker.url)
    for status, reason in [
        (403, "api_refused"),
        (500, "api_unavailable"),
        (302, "api_unavailable"),
    ]:
        api.answer = Response("no", status=status, headers={"Location": api.url + "/elsewhere"})
        before = len(api.calls)
        seen = door.run("api.call", READ)
        assert (seen.result["status"], seen.result["reason"]) == ("failed", reason)
        assert seen.status in {None, 1}
        assert len(api.calls) == before + 1
    _nothing_told(gate, broker, seen)


def test_an_ambiguous_outcome_is_never_retried_automatically(gate, door, broker):
    """The request was sent and no whole answer came: it may have happened, so it is `unknown`."""
    allow_mail(gate)
    reached = []

    def drop(client) -> None:
        reached.append(client)
        fakes.cut_short(client)

    with fakes.raw_server(drop) as url:
        gate.with_apis(mail=url, issuer=broker.url)
        seen = door.run("api.call", SEND)
        assert (seen.result["status"], seen.result["reason"]) == ("unknown", "api_unavailable")
        assert "may have had an effect; it is not retried" in seen.result["message"]
        assert seen.status in {None, 1}
        # Neither the next act, nor the next start, nor a repair sends it again.
        door.run("fs.read", path="src/a.py")
        gate.cli("audit", "recover")
        gate.cli("status")
    assert len(reached) == 1
    assert len(broker.tokens) == 1
    outcome = next(record for record in gate.records() if record["kind"] == "outcome")
    assert outcome["status"] == "unknown"


def test_a_denied_or_unanswered_call_reaches_neither_broker_nor_api(gate, door, broker, api):
    gate.with_apis(calendar=api.url, mail=api.url, issuer=broker.url)
    assert door.run("api.call", SEND).reason == "approval_unavailable"
    delete = {"audience": "mail-api", "operation": "messages.delete", "arguments": {"id": "m-1"}}
    assert door.run("api.call", delete).reason == "default_decision"
    assert door.run("api.call", {**READ, "arguments": {"surprise": 1}}).reason == "api_arguments"
    assert door.run("api.call", {**READ, "audience": "other"}).reason == "api_unknown_operation"
    assert door.check("api.call", READ).effect == "allow"
    assert door.run("fs.read", path=".env").effect == "deny"
    assert door.run("api.call", READ).reason == "taint_session"
    assert (broker.forms, api.calls) == ([], [])


def test_a_grant_that_is_missing_starts_nothing(gate, door, broker, api):
    gate.with_apis(calendar=api.url, issuer=broker.url)
    (gate.state_dir / "state/grants.json").unlink()
    seen = door.run("api.call", READ)
    _not_started(gate, seen, "grant_missing")
    assert (broker.forms, api.calls) == ([], [])


def _nothing_told(gate, broker, seen):
    """No token and no handle anywhere but in the one file that keeps the handle."""
    texts = [str(seen), gate.cli("audit", "tail", "--json")[1], gate.cli("status", "--json")[1]]
    for path in gate.top.rglob("*"):
        if path.is_file() and path.name != "grants.json":
            texts.append(path.read_bytes().decode("latin-1"))
    for text in texts:
        assert HANDLE not in text
        assert not JWT.search(text)
        assert not [token for token in broker.tokens if token.rpartition(".")[2] in text]
    assert HANDLE in (gate.state_dir / "state/grants.json").read_text()
