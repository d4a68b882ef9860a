"""Asking the broker: one plain question, one whole answer in time, or a named fault."""

from __future__ import annotations

import gzip
import json
import threading
import time

import pytest

from broker.resource.introspection import ASSERTION_TYPE, MAX_ANSWER_BYTES, Introspector
from broker.resource.model import BrokerFaultError, Reason
from tests.broker.resource.support import TOKEN, FakeBroker, config, facts
from tests.gateway.execute import fakes
from tests.support.mock_world import served

SHORT_S = 0.3


@pytest.fixture(scope="module")
def place():
    fake = FakeBroker()
    with served(fake.app) as url:
        yield fake, url


@pytest.fixture
def broker(place):
    fake, url = place
    fake.answer, fake.status, fake.headers = facts(), 200, {"Content-Type": "application/json"}
    fake.asked.clear()
    fake.elsewhere = 0
    return fake, url


def asker(url, *, timeout_s=20, path="/introspect"):
    settings = config(introspection_url=url + path, timeout_s=timeout_s)
    return Introspector(settings, assertion=lambda: "the-assertion")


def fault(url, **more):
    with pytest.raises(BrokerFaultError) as caught:
        asker(url, **more).ask(TOKEN)
    assert TOKEN not in str(caught.value)
    assert "the-assertion" not in str(caught.value)
    return caught.value.reason


def test_one_form_with_token_and_client_assertion(broker, monkeypatch):
    fake, url = broker
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert json.loads(asker(url).ask(TOKEN)) == facts()
    (asked,) = fake.asked
    assert asked["form"] == {
        "token": [TOKEN],
        "client_assertion_type": [ASSERTION_TYPE],
        "client_assertion": ["the-assertion"],
    }
    assert asked["headers"]["Host"] == url.removeprefix("http://")
    assert asked["headers"]["Accept-Encoding"] == "identity"
    assert not {"Authorization", "Cookie"} & asked["headers"].keys()


def test_no_cookie_is_kept_and_nothing_is_cached(broker):
    fake, url = broker
    one = asker(url)
    fake.headers = {"Content-Type": "application/json", "Set-Cookie": "a=b"}
    assert json.loads(one.ask(TOKEN))["active"]
    fake.answer = {"active": False}
    assert json.loads(one.ask(TOKEN)) == {"active": False}
    assert not any("Cookie" in asked["headers"] for asked in fake.asked)


@pytest.mark.parametrize("status", [201, 204, 206, 400, 401, 403, 404, 429, 500, 503])
def test_only_200_is_an_answer(broker, status):
    fake, url = broker
    fake.status = status
    assert fault(url) is Reason.BROKER_STATUS


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(broker, status):
    fake, url = broker
    fake.status, fake.headers = status, {"Location": url + "/elsewhere"}
    assert fault(url) is Reason.BROKER_STATUS
    assert (len(fake.asked), fake.elsewhere) == (1, 0)


@pytest.mark.parametrize(
    "kind", [None, "", "text/html", "application/jwt", "application/json-seq", "text/json"]
)
def test_another_content_type_is_no_answer(broker, kind):
    fake, url = broker
    fake.headers = {} if kind is None else {"Content-Type": kind}
    assert fault(url) is Reason.BROKER_ANSWER


def test_a_charset_parameter_is_fine(broker):
    fake, url = broker
    fake.headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert json.loads(asker(url).ask(TOKEN)) == facts()


def test_a_compressed_answer_is_refused(broker):
    fake, url = broker
    fake.answer = gzip.compress(json.dumps(facts()).encode())
    fake.headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert fault(url) is Reason.BROKER_ANSWER


def test_the_answer_is_limited_in_size(broker):
    fake, url = broker
    fake.answer = b" " * MAX_ANSWER_BYTES
    assert len(asker(url).ask(TOKEN)) == MAX_ANSWER_BYTES
    fake.answer += b" "
    assert fault(url) is Reason.BROKER_ANSWER


def test_a_broker_that_is_not_there(broker):
    assert fault(fakes.closed_port()) is Reason.BROKER_UNREACHABLE


def endless(client):
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        client.sendall(b" " * 65_536)


def cut_short(client):
    whole = json.dumps(facts()).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(whole) + 1}"
    client.sendall(head.encode() + b"\r\n\r\n" + whole)


def cut_chunk(client):
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    client.sendall(head + b"2\r\n{}\r\n20\r\n{")


def many_headers(client):
    client.sendall(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 200 + b"\r\n")


def hang_up(client):
    client.close()


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (fakes.garbage, Reason.BROKER_UNREACHABLE),
        (hang_up, Reason.BROKER_UNREACHABLE),
        (cut_short, Reason.BROKER_UNREACHABLE),
        (cut_chunk, Reason.BROKER_UNREACHABLE),
        (many_headers, Reason.BROKER_UNREACHABLE),
        (endless, Reason.BROKER_ANSWER),
    ],
)
def test_what_is_not_a_whole_http_answer(behave, reason):
    with fakes.raw_server(behave) as url:
        assert fault(url) is reason


def dripping_body(client):
    """Send an answer a byte at a time: each read is quick, the whole never ends."""
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    client.settimeout(0.02)
    while True:
        client.sendall(b" ")
        try:
            if not client.recv(10):
                return
        except TimeoutError:
            continue


@pytest.mark.parametrize("behave", [fakes.silent, fakes.dripping, dripping_body])
def test_the_whole_answer_has_one_deadline(behave):
    start = time.monotonic()
    with fakes.raw_server(behave) as url:
        assert fault(url, timeout_s=SHORT_S) is Reason.BROKER_SLOW
    assert time.monotonic() - start < 10


def inactive_then_silent(client):
    """A complete JSON text, but the connection stays open: not a whole answer."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    client.sendall(head + b'{"active":true}')
    fakes.silent(client)


def test_an_answer_cut_by_the_deadline_is_never_taken_for_whole():
    with fakes.raw_server(inactive_then_silent) as url:
        assert fault(url, timeout_s=SHORT_S) is Reason.BROKER_SLOW


def test_a_plain_server_behind_an_https_address_is_unreachable():
    with fakes.raw_server(fakes.garbage) as url:
        assert fault(url.replace("http://", "https://")) is Reason.BROKER_UNREACHABLE


def test_a_silent_server_behind_an_https_address_is_slow():
    with fakes.raw_server(fakes.silent) as url:
        assert fault(url.replace("http://", "https://"), timeout_s=SHORT_S) is Reason.BROKER_SLOW


def test_no_thread_is_left(broker):
    _, url = broker
    asker(url).ask(TOKEN)
    assert not [one for one in threading.enumerate() if isinstance(one, threading.Timer)]
