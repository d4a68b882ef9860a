"""One request on a real socket: exactly as given, bounded whatever the server does."""

from __future__ import annotations

import contextlib
import json
import time
import traceback

import pytest
from flask import Flask, Response, redirect, request

from gateway.execute.bounded import Failure, Request, is_safe_place, send
from tests.gateway.execute import fakes

MARK = "MARK-IN-HEADER"


def call(url: str, *, method: str = "GET", body: bytes | None = None, **more):
    options = {"max_bytes": 1000, "timeout_s": 20.0, **more}
    made = Request(method=method, url=url, headers={"Authorization": MARK}, body=body)
    return send(made, **options)


@pytest.fixture(scope="module")
def place():
    app = Flask("echo")

    @app.route("/<path:rest>", methods=["GET", "POST"])
    def echo(rest: str):
        return {
            "target": request.environ["RAW_URI"],
            "headers": {name.lower(): value for name, value in request.headers.items()},
            "body": request.get_data().decode(),
        }

    @app.get("/big")
    def big():
        return Response(b"x" * 5000, mimetype="text/plain")

    @app.get("/away")
    def away():
        return redirect("/somewhere")

    @app.get("/zip")
    def zipped():
        return Response(b"x", headers={"Content-Encoding": "gzip"})

    with fakes.serve(app) as url:
        yield url


@pytest.mark.parametrize(
    "target", ["/a", "/a/b?x=1&y=%2F", "/a%2Fb", "/%7Ea", "/a?", "/a?q=a+b", "/a;b=c", "/a?x='%22"]
)
def test_the_target_is_sent_as_it_is_or_not_at_all(place, target):
    sent = None
    with contextlib.suppress(Failure):
        sent = json.loads(call(place + target).body)["target"]
    assert sent in {target, None}


def test_ordinary_targets_are_sent(place):
    for target in ("/v1/events?day=2026-11-30", "/v1/files/a%20b.txt", "/v1/messages/send"):
        assert json.loads(call(place + target).body)["target"] == target


def test_nothing_of_the_environment_is_used(place, monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login u password p\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, fakes.closed_port())
    headers = json.loads(call(place + "/a").body)["headers"]
    assert headers["authorization"] == MARK
    assert set(headers) == {
        "host", "user-agent", "accept", "accept-encoding", "connection", "authorization",
    }  # fmt: skip


def test_a_body_is_sent_as_it_is(place):
    reply = call(place + "/a", method="POST", body=b'{"a": "\xc3\xbc"}')
    assert json.loads(reply.body)["body"] == '{"a": "ü"}'


def test_a_redirect_is_an_answer_and_is_not_followed(place):
    reply = call(place + "/away")
    assert reply.status == 302


def test_a_body_over_the_limit_is_cut(place):
    reply = call(place + "/big")
    assert reply.body == b"x" * 1000
    assert not reply.whole
    assert call(place + "/big", max_bytes=5000).whole


def test_an_encoding_nobody_asked_for_is_no_answer(place):
    with pytest.raises(Failure) as caught:
        call(place + "/zip")
    assert caught.value.sent


@pytest.mark.parametrize("behave", [fakes.garbage, fakes.cut_short, lambda client: None])
def test_broken_answers_fail_after_sending(behave):
    with fakes.raw_server(behave) as url, pytest.raises(Failure) as caught:
        call(url + "/")
    assert caught.value.sent
    assert not caught.value.timeout


@pytest.mark.parametrize("behave", [fakes.silent, fakes.dripping])
def test_the_time_limit_is_for_the_whole_exchange(behave):
    started = time.monotonic()
    with fakes.raw_server(behave) as url, pytest.raises(Failure) as caught:
        call(url + "/", timeout_s=0.5)
    assert caught.value.sent
    assert caught.value.timeout
    assert time.monotonic() - started < 15


def test_nobody_there_means_nothing_was_sent():
    with pytest.raises(Failure) as caught:
        call(fakes.closed_port() + "/")
    assert not caught.value.sent


def test_a_failure_holds_nothing_of_the_request():
    with fakes.raw_server(fakes.cut_short) as url, pytest.raises(Failure) as caught:
        call(url + "/secret-path")
    error: BaseException | None = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    shown = "".join(traceback.format_exception(error))
    assert MARK not in shown
    assert MARK not in repr(Request(method="GET", url="http://x/", headers={"A": MARK}))


def test_no_time_left_sends_nothing():
    with pytest.raises(Failure) as caught:
        call("http://127.0.0.1:9/", timeout_s=0)
    assert caught.value.timeout
    assert not caught.value.sent


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://api.example/", True),
        ("http://127.0.0.1:8101/v1", True),
        ("http://[::1]:8101/", True),
        ("http://localhost/", True),
        ("http://api.example/", False),
        ("http://127.0.0.1.evil.example/", False),
        ("http://10.0.0.1/", False),
        ("https://user:pass@api.example/", False),
        ("ftp://127.0.0.1/", False),
        ("not a url", False),
    ],
)
def test_credentials_go_over_tls_or_stay_on_this_machine(url, safe):
    assert is_safe_place(url) is safe
    if not safe:
        with pytest.raises(Failure) as caught:
            call(url)
        assert not caught.value.sent
