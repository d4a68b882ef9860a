"""One API call over real HTTP: broker and API as Flask servers, every fault, and the token."""

from __future__ import annotations

import contextlib
import json
import logging
import traceback
from dataclasses import replace

import pytest
from flask import Flask, Response, redirect, request

from gateway.errors import ExecutionError
from gateway.execute.api import Api, redact
from gateway.execute.secret import Secret
from gateway.model.decision import Obligations
from gateway.model.names import Operation, Status
from gateway.model.plan import CallApi
from tests.gateway.execute import fakes
from tests.gateway.execute.permits import CALLER, permit


class World:
    """A broker, an API and a state directory; `respond` is what the API does."""

    def __init__(self, tmp_path) -> None:
        self.directory = tmp_path
        self.broker = fakes.FakeBroker()
        self.seen: list[dict] = []
        self.respond = lambda: Response('{"events": []}', mimetype="application/json")
        self.app = Flask("api")
        self.app.add_url_rule("/v1/events", view_func=self.events, methods=["GET", "POST"])
        self.stack = contextlib.ExitStack()
        self.api_url = self.stack.enter_context(fakes.serve(self.app))
        self.broker_url = self.stack.enter_context(fakes.serve(self.broker.app))

    def events(self) -> Response:
        self.seen.append(
            {
                "method": request.method,
                "target": request.environ["RAW_URI"],
                "body": request.get_data(),
                "headers": dict(request.headers),
            }
        )
        return self.respond()

    def api(self, **more) -> Api:
        options = {
            "broker": fakes.make_broker(self.broker_url, self.directory),
            "grants": fakes.make_grants(self.directory),
            "users": {"alice": "alice-at-broker"},
            **more,
        }
        return Api(**options)

    def plan(self, method: str = "GET", url: str | None = None) -> CallApi:
        post = method == "POST"
        return CallApi(
            audience="calendar-api",
            api_operation="events.create" if post else "events.read",
            scope="calendar.write" if post else "calendar.read",
            method=method,
            url=(url or self.api_url) + "/v1/events?day=2026-11-30",
            body=b'{"a":1}' if post else None,
            arguments={},
        )

    def call(self, method: str = "GET", *, url: str | None = None, seconds: int = 20, **more):
        api = more.pop("api", None) or self.api()
        plan = self.plan(method, url)
        owed = Obligations(call_timeout_s=seconds, read_bytes=more.pop("read_bytes", 10_000))
        allowed = permit(plan, operation=Operation.API_CALL, obligations=owed, **more)
        return api.call(plan, allowed)


@pytest.fixture
def world(tmp_path):
    one = World(tmp_path)
    with one.stack:
        yield one


def test_the_decided_request_is_made_once_with_the_minted_token(world):
    result = world.call("POST")
    assert result.status is Status.DONE
    assert result.content == b'{"events": []}'
    (seen,) = world.seen
    assert (seen["method"], seen["target"]) == ("POST", "/v1/events?day=2026-11-30")
    assert seen["body"] == b'{"a":1}'
    assert seen["headers"]["Authorization"] == "Bearer " + world.broker.tokens[0]
    assert seen["headers"]["Content-Type"] == "application/json"
    assert "Cookie" not in seen["headers"]
    (form,) = world.broker.forms
    assert form["subject_token"] == fakes.HANDLE
    assert result.data == {
        "jti": "jti-1",
        "audience": "calendar-api",
        "scope": "calendar.write",
        "expires_at": fakes.NOW + 300,
        "http_status": 200,
    }


def test_every_call_gets_a_credential_of_its_own(world):
    api = world.api()
    world.call(api=api)
    world.call(api=api)
    assert len(set(world.broker.tokens)) == 2


@pytest.mark.parametrize("status", [401, 403, 404, 409])
def test_a_refusal_of_the_api_is_told_with_its_answer(world, status):
    world.respond = lambda: Response('{"error": "no"}', status=status)
    result = world.call("POST")
    assert (result.status, result.reason) == (Status.FAILED, "api_refused")
    assert result.data["http_status"] == status
    assert result.content == b'{"error": "no"}'
    assert len(world.seen) == 1


@pytest.mark.parametrize("status", [500, 502, 503])
def test_an_api_in_trouble_is_unavailable_and_not_asked_again(world, status):
    world.respond = lambda: Response("trouble", status=status)
    result = world.call("POST")
    assert (result.status, result.reason) == (Status.FAILED, "api_unavailable")
    assert result.content == b""
    assert len(world.seen) == 1


def test_a_redirect_is_not_followed(world):
    world.respond = lambda: redirect("/v1/events", 307)
    result = world.call("POST")
    assert (result.status, result.reason) == (Status.FAILED, "api_unavailable")
    assert len(world.seen) == 1


def test_a_huge_answer_is_cut_and_the_act_is_done(world):
    world.respond = lambda: Response(b"x" * 5_000_000)
    result = world.call("POST", read_bytes=1000)
    assert result.status is Status.DONE
    assert result.content == b"x" * 1000
    assert result.truncated


@pytest.mark.parametrize("lead", [0, 1, 500, 900, 990, 999, 1000])
def test_a_token_that_is_echoed_is_replaced_wherever_it_is_cut(world, lead):
    def echo() -> Response:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        return Response(b"." * lead + token.encode() + b"|" + token.encode() * 3)

    world.respond = echo
    result = world.call(read_bytes=1000)
    token = world.broker.tokens[0]
    assert lead > 900 or b"[redacted]" in result.content
    for start in range(0, len(token) - 24, 8):
        assert token[start : start + 24].encode() not in result.content


def test_redacting_takes_the_signature_too():
    token = Secret("head.body.signature")
    assert redact(b"a head.body.signature b signature c", token) == b"a [redacted] b [redacted] c"
    assert redact(b"a head.body.signatur", token) == b"a [redacted]"
    assert redact(b"a signatur", token) == b"a [redacted]"
    assert redact(b"a head.body", token) == b"a [redacted]"
    assert redact(b"a head", token) == b"a head"


def test_an_api_that_is_down_was_sent_nothing(world):
    result = world.call("POST", url=fakes.closed_port())
    assert (result.status, result.reason) == (Status.NOT_STARTED, "api_unavailable")
    assert result.data["jti"] == "jti-1"


@pytest.mark.parametrize("behave", [fakes.garbage, fakes.cut_short, lambda client: None])
@pytest.mark.parametrize(("method", "status"), [("GET", Status.FAILED), ("POST", Status.UNKNOWN)])
def test_an_answer_that_breaks_leaves_an_unsafe_call_unknown(world, behave, method, status):
    with fakes.raw_server(behave) as url:
        result = world.call(method, url=url)
    assert (result.status, result.reason) == (status, "api_unavailable")


@pytest.mark.parametrize("behave", [fakes.silent, fakes.dripping])
@pytest.mark.parametrize(("method", "status"), [("GET", Status.FAILED), ("POST", Status.UNKNOWN)])
def test_a_slow_api_ends_at_the_time_limit(world, behave, method, status):
    with fakes.raw_server(behave) as url:
        result = world.call(method, url=url, seconds=1)
    assert (result.status, result.reason) == (status, "timeout")


@pytest.mark.parametrize(
    "more",
    [
        {"caller": replace(CALLER, user="bob")},
        {"caller": replace(CALLER, agent=None)},
        {"caller": replace(CALLER, agent="other")},
    ],
)
def test_without_a_grant_for_this_user_and_agent_nobody_is_asked(world, more):
    with pytest.raises(ExecutionError) as caught:
        world.call(**more)
    assert (caught.value.code, caught.value.status) == ("grant_missing", "not_started")
    assert world.broker.forms == []
    assert world.seen == []


def test_a_broker_that_refuses_means_the_api_sees_nothing(world):
    world.broker.respond = lambda: Response('{"error": "invalid_request"}', status=400)
    with pytest.raises(ExecutionError) as caught:
        world.call("POST")
    assert (caught.value.code, caught.value.status) == ("broker_refused", "not_started")
    assert world.seen == []


def test_a_key_that_cannot_be_used_is_a_configuration_fault(world):
    api = world.api()
    (world.directory / "client.pem").chmod(0o644)
    with pytest.raises(ExecutionError) as caught:
        world.call(api=api)
    assert (caught.value.code, caught.value.status) == ("config_invalid", "not_started")


def test_a_token_is_not_sent_in_the_clear_to_another_machine(world):
    with pytest.raises(ExecutionError) as caught:
        world.call(url="http://calendar.example")
    assert (caught.value.code, caught.value.status) == ("config_invalid", "not_started")
    assert world.broker.forms == []


def test_the_token_is_in_no_result_log_or_traceback(world, caplog):
    caplog.set_level(logging.DEBUG)
    shown = []
    for respond in (
        lambda: Response(json.dumps({"sent": dict(request.headers)})),
        lambda: Response(request.headers["Authorization"], status=403),
        lambda: Response(request.headers["Authorization"], status=500),
    ):
        world.respond = respond
        shown.append(repr(world.call("POST")))
    with fakes.raw_server(fakes.cut_short) as url:
        shown.append(repr(world.call("POST", url=url)))
    world.broker.alter = lambda answer: {**answer, "scope": "other"}
    with pytest.raises(ExecutionError) as caught:
        world.call()
    shown += traceback.format_exception(caught.value)
    everything = "".join(shown) + caplog.text
    for token in (*world.broker.tokens, fakes.HANDLE):
        assert token not in everything
        assert token.rpartition(".")[2] not in everything
