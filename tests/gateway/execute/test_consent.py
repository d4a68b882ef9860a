"""Consent over real HTTP: a browser that comes back, and everything that only looks like it."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
import traceback
import urllib.parse

import pytest
import requests
from flask import Response

from gateway.errors import ExecutionError
from gateway.execute.consent import connect
from gateway.execute.credential import GRANT_HANDLE
from tests.gateway.execute import fakes

SCOPES = ["calendar.read", "mail.send"]


def answer(**more) -> dict:
    base = {
        "access_token": fakes.HANDLE,
        "issued_token_type": GRANT_HANDLE,
        "token_type": "N_A",
        "grant_id": "g-9",
        "user": "alice",
        "agent": "demo",
        "scope": "calendar.read mail.send",
        "audiences": {"calendar-api": ["calendar.read"], "mail-api": ["mail.send"]},
        "expires_at": fakes.NOW + 1000,
    }
    return {**base, **more}


class Browser:
    """Opens the URL it is shown, in its own thread, and follows a script of visits."""

    def __init__(self, visits) -> None:
        self.visits = visits
        self.statuses: list[int] = []
        self.pages: list[requests.Response] = []
        self.url = ""
        self.query: dict[str, str] = {}
        self.thread = threading.Thread(target=self.run)

    def show(self, url: str) -> None:
        self.url = url
        self.query = dict(urllib.parse.parse_qsl(url.partition("?")[2], strict_parsing=True))
        self.thread.start()

    def run(self) -> None:
        for visit in self.visits:
            options = {
                "params": {},
                "headers": {},
                "method": "GET",
                "path": "",
                **visit(self.query),
            }
            page = requests.request(
                options["method"],
                self.query["redirect_uri"] + options["path"],
                params=options["params"],
                headers=options["headers"],
                timeout=20,
            )
            self.statuses.append(page.status_code)
            self.pages.append(page)


@pytest.fixture
def world(tmp_path):
    fake = fakes.FakeBroker()
    fake.reply = answer()
    fake.respond = lambda: Response(json.dumps(fake.reply), mimetype="application/json")
    with fakes.serve(fake.app) as url:
        fake.url = url
        fake.broker = fakes.make_broker(url, tmp_path)
        yield fake


def good(issuer: str, **more):
    def visit(query):
        return {"params": {"code": "c-1", "state": query["state"], "iss": issuer, **more}}

    return visit


def run(world, *visits, timeout_s: float = 20, purpose=None):
    browser = Browser(visits)
    try:
        grant = connect(
            world.broker,
            agent="demo",
            scopes=SCOPES,
            purpose=purpose,
            show=browser.show,
            timeout_s=timeout_s,
        )
    finally:
        browser.thread.join()
    return grant, browser


def test_a_consent_gives_the_grant_and_its_handle(world):
    grant, browser = run(world, good(world.url), purpose="planning")
    assert browser.statuses == [200]
    assert grant.handle.reveal() == fakes.HANDLE
    assert (grant.grant_id, grant.user, grant.agent) == ("g-9", "alice", "demo")
    assert grant.audiences == {"calendar-api": ("calendar.read",), "mail-api": ("mail.send",)}
    assert browser.url.startswith(world.url + "/authorize?")
    query = browser.query
    assert (query["response_type"], query["client_id"]) == ("code", "gateway")
    assert (query["scope"], query["agent"]) == ("calendar.read mail.send", "demo")
    assert query["purpose"] == "planning"
    assert query["redirect_uri"].startswith("http://127.0.0.1:")
    (form,) = world.forms
    assert form["grant_type"] == "authorization_code"
    assert (form["code"], form["redirect_uri"]) == ("c-1", query["redirect_uri"])
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    assert query["code_challenge"] == base64.urlsafe_b64encode(digest).decode().rstrip("=")
    assert query["code_challenge_method"] == "S256"
    assert form["code_verifier"] not in browser.url
    assert 43 <= len(form["code_verifier"]) <= 128
    assert form["client_assertion"]


def test_the_page_is_ours_and_holds_nothing_of_the_request(world):
    _, browser = run(world, good(world.url, more="<script>"))
    page = browser.pages[0]
    assert "<script>" not in page.text
    assert "c-1" not in page.text
    assert page.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Server"].strip() == "counterfoil"


@pytest.mark.parametrize(
    "change",
    [
        {"params": {"state": "wrong"}},
        {"params": {"state": ""}},
        {"params": {"iss": "http://127.0.0.1:1"}},
        {"params": {"iss": None}},
        {"params": {"code": None}},
        {"params": {"error": "access_denied"}},
        {"params": {"state": ["x", "y"]}},
        {"headers": {"Host": "evil.example"}},
        {"path": "/more"},
        {"method": "POST"},
        {"params": {"pad": "x" * 9000}},
    ],
)
def test_what_only_looks_like_the_answer_is_ignored(world, change):
    def wrong(query):
        visit = good(world.url)(query)
        return {**visit, **change, "params": {**visit["params"], **change.get("params", {})}}

    grant, browser = run(world, wrong, good(world.url))
    assert grant.grant_id == "g-9"
    assert browser.statuses[0] >= 400
    assert browser.statuses[1] == 200
    assert len(world.forms) == 1


def test_a_denial_is_told(world):
    def denied(query):
        return {"params": {"error": "access_denied", "state": query["state"], "iss": world.url}}

    with pytest.raises(ExecutionError) as caught:
        run(world, denied)
    assert (caught.value.code, caught.value.status) == ("broker_refused", "not_started")
    assert "access_denied" in str(caught.value)
    assert world.forms == []


def test_nobody_coming_back_is_a_timeout(world):
    with pytest.raises(ExecutionError) as caught:
        run(world, timeout_s=0.2)
    assert (caught.value.code, caught.value.status) == ("timeout", "not_started")
    assert world.forms == []


def test_a_silent_visitor_holds_nobody_up(world):
    with socket.socket() as silent:

        def visit(query):
            port = urllib.parse.urlencode({}) or query["redirect_uri"].split(":")[2].split("/")[0]
            silent.connect(("127.0.0.1", int(port)))
            return good(world.url)(query)

        grant, _ = run(world, visit)
    assert grant.grant_id == "g-9"


@pytest.mark.parametrize(
    "change",
    [
        {"token_type": "Bearer"},
        {"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"},
        {"agent": "other"},
        {"user": ""},
        {"access_token": None},
        {"scope": "calendar.read"},
        {"scope": "calendar.read mail.send mail.delete"},
        {"audiences": {"mail-api": ["mail.send", "calendar.read", "mail.delete"]}},
        {"audiences": []},
        {"audiences": {"mail-api": "mail.send"}},
        {"expires_at": "soon"},
        {"refresh_token": "r"},
    ],
)
def test_a_grant_that_was_not_asked_for_is_not_believed(world, change):
    world.reply = answer(**change)
    with pytest.raises(ExecutionError) as caught:
        run(world, good(world.url))
    assert caught.value.code == "broker_unavailable"
    assert fakes.HANDLE not in "".join(traceback.format_exception(caught.value))


def test_fewer_scopes_than_asked_for_are_a_grant(world):
    world.reply = answer(scope="mail.send", audiences={"mail-api": ["mail.send"]})
    grant, _ = run(world, good(world.url))
    assert grant.audiences == {"mail-api": ("mail.send",)}


def test_a_code_the_broker_refuses(world):
    world.respond = lambda: Response('{"error": "invalid_grant"}', status=400)
    with pytest.raises(ExecutionError) as caught:
        run(world, good(world.url))
    assert caught.value.code == "broker_refused"
