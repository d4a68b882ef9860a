"""The three APIs behind a real broker: one decided call is served, anything else is not."""

from __future__ import annotations

import json
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mock_apis import calendar, service
from mock_apis.journal import Journal
from tests.support.broker_server import CALLS, Party
from tests.support.mock_world import APIS, served, sha256, wiring

EVENT = json.dumps({"day": "2026-11-30", "start": "10:00", "title": "Talk"}).encode()
MAIL = json.dumps({"to": ["bob@example.com"], "subject": "Hi", "body": "Text"}).encode()
FILE = json.dumps({"content": "new"}).encode()
BODIES = {"calendar.write": EVENT, "mail.send": MAIL, "files.write": FILE}
PATHS = {"mail.delete": "/v1/messages/m-1"}


def decided(world, handle, scope):
    """A token for the usual call of this scope, with its real body and path."""
    changes = {"content_sha256": sha256(BODIES.get(scope, b""))}
    if scope in PATHS:
        changes["uri"] = world.urls[CALLS[scope][0]] + PATHS[scope]
    return world.mint(handle, scope, **changes)


def make(world, scope, token, **changes):
    return world.call(
        scope, token, **{"path": PATHS.get(scope), "body": BODIES.get(scope)} | changes
    )


@pytest.mark.parametrize("scope", CALLS)
def test_the_decided_call_is_served_and_its_effect_is_in_the_journal(shared, handle, scope):
    token = decided(shared, handle, scope)
    answer = make(shared, scope, token)
    assert answer.status_code // 100 == 2, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    audience, operation, method, _ = CALLS[scope]
    entry = shared.last(audience)
    facts = shared.broker.introspect(token, audience)
    assert entry | {"effect": None} == {
        "at": shared.broker.clock(),
        "api": audience,
        "outcome": "accepted",
        "status": answer.status_code,
        "reason": None,
        "operation": operation,
        "sub": "alice",
        "agent": "demo-agent",
        "jti": facts["jti"],
        "decision_id": facts["authorization_details"][0]["decision_id"],
        "effect": None,
    }
    assert (entry["effect"] == "none") == (method == "GET")


@pytest.mark.parametrize(
    ("scope", "change", "status", "reason"),
    [
        ("calendar.read", {"path": "/v1/events?day=2026-12-01"}, 403, "wrong_uri"),
        ("calendar.read", {"path": "/v1/events"}, 403, "wrong_uri"),
        ("calendar.read", {"path": "/v1/events?day=2026-11-30&"}, 403, "wrong_uri"),
        ("calendar.read", {"path": "/v1/events?day=2026%2D11-30"}, 403, "wrong_uri"),
        ("calendar.read", {"path": "/v1/%65vents?day=2026-11-30"}, 403, "wrong_uri"),
        ("calendar.read", {"method": "HEAD"}, 403, "wrong_method"),
        ("calendar.read", {"body": b"{}"}, 403, "wrong_content"),
        ("calendar.read", {"method": "POST", "body": EVENT}, 403, "wrong_scope"),
        ("calendar.write", {"body": EVENT + b" "}, 403, "wrong_content"),
        ("calendar.write", {"body": EVENT.replace(b"Talk", b"Walk")}, 403, "wrong_content"),
        ("calendar.write", {"path": "/v1/events?x=1"}, 403, "wrong_uri"),
        ("mail.send", {"body": MAIL.replace(b"bob", b"eve")}, 403, "wrong_content"),
        ("mail.delete", {"path": "/v1/messages/m-2"}, 403, "wrong_uri"),
        ("files.read", {"path": "/v1/files/budget.csv"}, 403, "wrong_uri"),
        ("files.read", {"path": "/v1/files"}, 403, "wrong_operation"),
        ("files.read", {"method": "PUT", "body": FILE}, 403, "wrong_scope"),
        ("files.write", {"path": "/v1/files/other.txt"}, 403, "wrong_uri"),
    ],
)
def test_any_other_call_is_refused_and_has_no_effect(shared, handle, scope, change, status, reason):
    token = decided(shared, handle, scope)
    audience = CALLS[scope][0]
    before = shared.accepted(audience)
    answer = make(shared, scope, token, **change)
    assert answer.status_code == status
    assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
    entry = shared.last(audience)
    assert (entry["outcome"], entry["reason"], entry["effect"]) == ("refused", reason, "none")
    assert (entry["sub"], entry["agent"]) == ("alice", "demo-agent")
    assert shared.accepted(audience) == before
    assert make(shared, scope, token).status_code // 100 == 2 or scope == "mail.delete"


@pytest.mark.parametrize("audience", ["mail-api", "files-api"])
def test_a_token_of_another_audience_is_inactive(shared, handle, audience):
    token = decided(shared, handle, "calendar.read")
    answer = shared.call("calendar.read", token, audience=audience, path="/v1/messages")
    if audience == "files-api":
        answer = shared.call("files.read", token)
    assert answer.status_code == 401
    assert shared.last(audience)["reason"] == "token_inactive"


def test_without_a_token_nothing_is_served_and_nothing_is_told(shared):
    for scope, (audience, *_) in CALLS.items():
        answer = make(shared, scope, None)
        assert (answer.status_code, answer.json()["error"]) == (401, "no_token")
        assert "error=" not in answer.headers["WWW-Authenticate"]
        assert shared.last(audience)["reason"] == "no_token"


def test_a_token_ends_after_300_seconds(world):
    token = decided(world, world.broker.handle("calendar.read")["access_token"], "calendar.read")
    world.broker.clock.advance(299)
    assert make(world, "calendar.read", token).status_code == 200
    world.broker.clock.advance(2)
    assert make(world, "calendar.read", token).status_code == 401
    assert [e["reason"] for e in world.journals["calendar-api"].entries()] == [
        None,
        "token_inactive",
    ]


def test_revoking_the_token_or_its_grant_bites_at_the_next_request(world):
    handle = world.broker.handle("calendar.read")["access_token"]
    one, other = (decided(world, handle, "calendar.read") for _ in range(2))
    assert world.broker.revoke(one).status_code == 200
    assert make(world, "calendar.read", one).status_code == 401
    assert make(world, "calendar.read", other).status_code == 200
    assert world.broker.revoke(handle).status_code == 200
    assert make(world, "calendar.read", other).status_code == 401


def test_a_broker_that_rejects_the_api_is_503_and_never_a_pass(world):
    """The API's key is no longer the registered one."""
    token = decided(world, world.broker.handle("calendar.read")["access_token"], "calendar.read")
    usual = world.broker.servers["calendar-api"]
    world.broker.servers["calendar-api"] = Party(usual.id)
    with served(service_of(world, "calendar-api")) as url:
        world.urls["calendar-api"] = url
        answer = make(world, "calendar.read", token)
    assert (answer.status_code, answer.json()["error"]) == (503, "temporarily_unavailable")
    assert answer.headers["Retry-After"] == "1"
    assert world.last("calendar-api")["reason"] == "broker_status"


def test_a_broker_that_is_gone_is_503(world):
    token = decided(world, world.broker.handle("calendar.read")["access_token"], "calendar.read")
    wired = wiring(world, "calendar-api")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    config = replace(wired.config, introspection_url=f"http://127.0.0.1:{port}/introspect")
    gone = replace(wired, config=config)
    with served(calendar.create_app(gone)) as url:
        world.urls["calendar-api"] = url
        assert make(world, "calendar.read", token).status_code == 503
    assert world.last("calendar-api")["reason"] == "broker_unreachable"


def test_no_journal_and_no_answer_holds_a_token_a_body_or_a_query(world):
    handle = world.broker.handle("calendar.read mail.send")["access_token"]
    tokens = [decided(world, handle, "calendar.read"), decided(world, handle, "mail.send")]
    answers = [
        make(world, "calendar.read", tokens[0]),
        make(world, "mail.send", tokens[1]),
        make(world, "mail.send", tokens[1], body=b"{}"),
        make(world, "calendar.read", tokens[0], path="/v1/events?day=1999-01-01"),
    ]
    held = b"".join(path.read_bytes() for path in world.folder.glob("*-api.jsonl"))
    held += b"".join(answer.content + str(answer.headers).encode() for answer in answers)
    for secret in (*tokens, handle, "bob@example.com", "1999-01-01"):
        assert secret.encode() not in held


def test_after_a_revoke_returns_no_token_of_that_grant_is_ever_active_again(world):
    """Mints, introspections and calls race the revocation; whatever begins after it is refused."""
    rounds = 60 if os.environ.get("COUNTERFOIL_SOAK") else 4
    for _ in range(rounds):
        handle = world.broker.handle("calendar.read")["access_token"]
        _race(world, handle, decided(world, handle, "calendar.read"))


def _race(world, handle, token):
    revoked = threading.Event()
    tokens = [token]

    def mint_and_use():
        for _ in range(4):
            late = revoked.is_set()
            answer = world.broker.exchange(handle, "calendar.read")
            if answer.status_code == 200:
                assert not late
                tokens.append(answer.json()["access_token"])

    def use():
        for _ in range(6):
            late = revoked.is_set()
            active = world.broker.introspect(token, "calendar-api")["active"]
            status = world.call("calendar.read", token).status_code
            assert not late or (active, status) == (False, 401)

    with ThreadPoolExecutor(4) as pool:
        racing = [pool.submit(work) for work in (mint_and_use, use, mint_and_use)]
        assert world.broker.revoke(handle).status_code == 200
        revoked.set()
        for one in racing:
            one.result()
    for one in tokens:
        assert world.broker.introspect(one, "calendar-api") == {"active": False}
        assert world.call("calendar.read", one).status_code == 401
    assert world.broker.exchange(handle, "calendar.read").status_code == 400


# -- what the service itself refuses --------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "change", "status", "reason"),
    [
        ("calendar.read", {"path": "/v1/events?day=2026-11-30&day=2026-12-01"}, 400, "bad_query"),
        ("calendar.read", {"path": "/v1/events?user=bob"}, 400, "bad_query"),
        ("calendar.read", {"body": b"{}"}, 400, "bad_body"),
        ("calendar.write", {"body": b"not json"}, 400, "bad_body"),
        ("calendar.write", {"body": EVENT[:-1] + b', "user": "bob"}'}, 400, "bad_body"),
        ("calendar.write", {"headers": {"Content-Type": "text/plain"}}, 415, "bad_content_type"),
    ],
)
def test_a_decided_call_the_api_cannot_serve_is_refused_by_name(
    shared, handle, scope, change, status, reason
):
    audience = CALLS[scope][0]
    changes = {"content_sha256": sha256(change.get("body", BODIES.get(scope, b"")))}
    if "path" in change:
        changes["uri"] = shared.urls[audience] + change["path"]
    answer = make(shared, scope, shared.mint(handle, scope, **changes), **change)
    assert (answer.status_code, answer.json()["error"]) == (status, reason)
    entry = shared.last(audience)
    assert (entry["outcome"], entry["reason"], entry["effect"]) == ("refused", reason, "none")


def test_unknown_paths_and_methods_are_json_and_in_the_journal(shared, handle):
    for path in ("/", "/v1/events/", "//v1", "/v1/files", "/static/x"):
        answer = shared.call("calendar.read", "x", path=path)
        assert (answer.status_code, answer.json()["error"]) == (404, "http_404"), path
        assert shared.last("calendar-api")["reason"] == "http_404"
    answer = shared.call("calendar.read", "x", method="DELETE")
    assert (answer.status_code, answer.json()["error"]) == (405, "http_405")
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_health_and_journal_need_no_token(shared):
    assert shared.call("calendar.read", None, path="/health").json() == {
        "status": "ok",
        "api": "calendar-api",
    }
    entries = shared.call("calendar.read", None, path="/journal").json()["entries"]
    assert entries == shared.journals["calendar-api"].entries()


def test_the_journal_is_shown_to_loopback_only(tmp_path):
    app = service.plain_app("x", Journal(tmp_path / "x.jsonl", api="x", clock=lambda: 0))
    for address, status in (("127.0.0.1", 200), ("::1", 200), ("192.0.2.1", 403), (None, 403)):
        answer = app.test_client().get("/journal", environ_base={"REMOTE_ADDR": address})
        assert answer.status_code == status


def test_a_fault_of_an_operation_is_an_error_without_details(tmp_path, caplog):
    app = service.plain_app("x", Journal(tmp_path / "x.jsonl", api="x", clock=lambda: 0))

    def fail():
        raise RuntimeError("inside")

    app.add_url_rule("/fail", view_func=fail)
    answer = app.test_client().get("/fail")
    assert (answer.status_code, answer.json["error"]) == (500, "http_500")
    assert "inside" not in answer.text


def service_of(world, audience):
    return APIS[audience].create_app(wiring(world, audience))
