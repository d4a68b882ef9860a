"""The guard over real HTTP: what is served, what is refused, and in which words."""

from __future__ import annotations

import logging
import re

import pytest
from flask import Flask

from broker.resource import Reason, ResourceServer
from tests.broker.resource.support import BEARER, PATH, TOKEN, config, digest, facts, send, the_call
from tests.broker.resource.test_answer import CALL_TEXTS, TEXTS
from tests.support.mock_world import served

WRONG = [None, 1, True, 1.5, "", [], {}, ["calendar-api"], "a b"]


def test_the_decided_call_is_served_with_what_was_verified(kit):
    fake, guarded, url = kit
    body = b'{"title":"x"}'
    fake.answer = facts(
        authorization_details=[the_call(method="POST", content_sha256=digest(body))]
    )
    answer = send(url, BEARER, method="POST", body=body)
    assert (answer.status, answer.json) == (200, {"ok": True})
    (call,) = guarded.served
    assert (call.sub, call.agent, call.client_id, call.grant_id) == (
        "alice",
        "demo-agent",
        "gateway",
        "grant-1",
    )
    assert (call.jti, call.scope, call.operation) == ("jti-1", "calendar.read", "events.read")
    assert (call.decision_id, call.action_digest, call.body) == (
        "0197-1",
        "sha256:" + "a" * 64,
        body,
    )
    assert fake.asked[0]["form"]["token"] == [TOKEN]
    assert guarded.refused == []


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:1", "calendar-api", ""])
def test_the_host_header_and_its_kin_change_nothing(kit, host):
    fake, guarded, url = kit
    kin = [
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "https"),
        ("Forwarded", "host=evil.example"),
        ("X-Original-URL", "/v1/other"),
        ("X-HTTP-Method-Override", "DELETE"),
    ]
    assert send(url, BEARER, *kin, host=host or "x").status == 200
    # A call decided for another host is not served because the header names that host.
    fake.answer = facts(authorization_details=[the_call(uri=f"http://evil.example{PATH}")])
    answer = send(url, BEARER, *kin, host="evil.example")
    assert answer.status == 403
    assert guarded.refused[-1].reason is Reason.WRONG_URI


REFUSALS = [
    ({"active": False}, 401, "invalid_token", Reason.TOKEN_INACTIVE),
    (facts(aud="mail-api"), 401, "invalid_token", Reason.WRONG_AUDIENCE),
    (facts(cnf={"jkt": "x"}), 401, "invalid_token", Reason.SENDER_CONSTRAINED),
    (facts(scope="calendar.write"), 403, "insufficient_scope", Reason.WRONG_SCOPE),
    (facts(authorization_details=[the_call(operation="events.create")]), 403,
     "insufficient_scope", Reason.WRONG_OPERATION),
    (facts(authorization_details=[the_call(method="POST")]), 403,
     "insufficient_scope", Reason.WRONG_METHOD),
    (facts(authorization_details=[the_call(uri="http://127.0.0.1:8101/v1/events")]), 403,
     "insufficient_scope", Reason.WRONG_URI),
    (facts(authorization_details=[the_call(content_sha256=digest(b"x"))]), 403,
     "insufficient_scope", Reason.WRONG_CONTENT),
]  # fmt: skip


@pytest.mark.parametrize(("told", "status", "error", "reason"), REFUSALS)
def test_a_token_for_something_else_is_refused_in_the_words_of_the_rfc(
    kit, told, status, error, reason
):
    fake, guarded, url = kit
    fake.answer = told
    answer = send(url, BEARER)
    assert (answer.status, answer.json["error"]) == (status, error)
    challenge = answer.headers["WWW-Authenticate"]
    assert challenge.startswith('Bearer realm="calendar-api", ')
    assert f'error="{error}"' in challenge
    assert challenge.endswith('scope="calendar.read"')
    assert re.fullmatch(r'Bearer (\w+="[^"\\]*"(, )?)+', challenge)
    assert answer.headers["Cache-Control"] == "no-store"
    assert guarded.served == []
    assert guarded.refused[0].reason is reason


def test_the_own_clock_decides_too(kit):
    _, guarded, url = kit
    guarded.now += 300
    answer = send(url, BEARER)
    assert (answer.status, answer.json["error"]) == (401, "invalid_token")
    assert guarded.refused[0].reason is Reason.TOKEN_EXPIRED
    assert guarded.refused[0].token.jti == "jti-1"


def test_without_a_token_the_challenge_has_no_error(kit):
    _, _, url = kit
    answer = send(url)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == (
        'Bearer realm="calendar-api", scope="calendar.read"'
    )
    assert answer.json["error"] == "no_token"


def test_a_malformed_request_has_its_error_code(kit):
    _, _, url = kit
    answer = send(url, BEARER, BEARER)
    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
    assert 'error="invalid_request"' in answer.headers["WWW-Authenticate"]


def unavailable(kit, reason):
    _, guarded, url = kit
    answer = send(url, BEARER)
    assert (answer.status, answer.json["error"]) == (503, "temporarily_unavailable")
    assert answer.headers["Retry-After"] == "1"
    assert "WWW-Authenticate" not in answer.headers
    assert guarded.served == []
    assert guarded.refused[0].reason is reason


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"not json",
        b"<html>",
        b"null",
        b"[]",
        b"\xff",
        b'{"active":false,"active":true}',
        {},
        facts(active="true"),
        facts(active=1),
        facts(iss="http://127.0.0.1:9"),
        facts(exp=facts()["iat"] + 301),
        facts(authorization_details=[]),
        facts(authorization_details=[the_call(), the_call()]),
        facts(authorization_details=[the_call(extra="x")]),
        {k: v for k, v in facts().items() if k != "authorization_details"},
        b" " * 70_000,
    ],
)
def test_an_answer_that_is_none_is_503(kit, told):
    kit[0].answer = told
    unavailable(kit, Reason.BROKER_ANSWER)


@pytest.mark.parametrize(
    "member", [*TEXTS, "token_type", "act", "iat", "exp", "authorization_details"]
)
def test_a_member_of_a_wrong_type_is_503(kit, member):
    for value in WRONG:
        kit[0].answer = facts(**{member: value})
        assert send(kit[2], BEARER).status == 503, value
    assert kit[1].served == []


@pytest.mark.parametrize("member", CALL_TEXTS)
def test_a_member_of_the_call_of_a_wrong_type_is_503(kit, member):
    for value in WRONG:
        kit[0].answer = facts(authorization_details=[the_call(**{member: value})])
        assert send(kit[2], BEARER).status == 503, value
    assert kit[1].served == []


def test_a_redirecting_broker_is_503(kit):
    kit[0].status, kit[0].headers = 302, {"Location": "/elsewhere"}
    unavailable(kit, Reason.BROKER_STATUS)
    assert kit[0].elsewhere == 0


def test_a_broker_that_refuses_the_resource_server_is_503(kit):
    kit[0].status = 401
    unavailable(kit, Reason.BROKER_STATUS)


def test_a_fault_is_logged_without_the_token(kit, caplog):
    caplog.set_level(logging.WARNING, logger="broker.resource")
    kit[0].answer = facts(jti="s3cret with space")
    unavailable(kit, Reason.BROKER_ANSWER)
    assert "member jti" in caplog.text
    assert TOKEN not in caplog.text
    assert "s3cret" not in caplog.text


def failing(*_):
    raise RuntimeError


@pytest.mark.parametrize("broken", ["assertion", "clock", "on_refusal"])
def test_a_fault_of_the_server_itself_is_never_a_pass(kit, broken):
    fake, *_ = kit
    if broken == "on_refusal":
        fake.answer = {"active": False}
    served_calls = []
    parts = {"assertion": lambda: "a", "clock": lambda: facts()["iat"], "on_refusal": print}
    settings = config(introspection_url=introspection_of(kit))
    server = ResourceServer(settings, **parts | {broken: failing})
    guard = server.requires(operation="events.read", scope="calendar.read")
    app = Flask("broken")
    app.add_url_rule("/v1/events", view_func=guard(lambda call: served_calls.append(call) or "ok"))
    with served(app) as place:
        assert send(place, BEARER).status == 500
    assert served_calls == []


def test_the_guard_keeps_the_views_name_and_its_arguments(kit):
    fake, guarded, _ = kit
    fake.answer = facts(authorization_details=[the_call(uri=config().base_url + "/v1/events/e-1")])
    settings = config(introspection_url=introspection_of(kit))
    server = ResourceServer(settings, assertion=lambda: "a", clock=lambda: guarded.now)

    @server.requires(operation="events.read", scope="calendar.read")
    def one_event(call, event):
        return {"sub": call.sub, "event": event}

    app = Flask("named")
    app.add_url_rule("/v1/events/<event>", view_func=one_event)
    assert one_event.__name__ == "one_event"
    with served(app) as place:
        answer = send(place, BEARER, target="/v1/events/e-1")
    assert answer.json == {"sub": "alice", "event": "e-1"}


def introspection_of(kit):
    return kit[1].server.config.introspection_url
