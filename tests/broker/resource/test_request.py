"""What is taken from a request: one Bearer token, the target as received, the body's own bytes."""

from __future__ import annotations

import socket

import pytest
from flask import Request
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.test import EnvironBuilder

from broker.resource.model import Reason, Received
from broker.resource.request import MAX_TOKEN_CHARS, read
from tests.broker.resource.support import BASE, BEARER, PATH, TOKEN, send

FORM = ("Content-Type", "application/x-www-form-urlencoded")


def taken(authorization=f"Bearer {TOKEN}", *, target=PATH, body=b"", limit=1000, **environ):
    builder = EnvironBuilder(method="POST", path="/v1/events", data=body)
    built = builder.get_environ() | {"RAW_URI": target} | environ
    if authorization is not None:
        built["HTTP_AUTHORIZATION"] = authorization
    return read(Request(built), base_url=BASE, max_body_bytes=limit)


def test_method_uri_body_and_token():
    assert taken(body=b"the body") == Received(
        method="POST", uri=BASE + PATH, body=b"the body", token=TOKEN
    )


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_has_no_case(scheme):
    assert taken(f"{scheme} {TOKEN}").token == TOKEN


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic dXNlcjpwdw==",
        f"DPoP {TOKEN}",
        TOKEN,
        f"Bearer-Token {TOKEN}",
        f"Bearer{TOKEN}",
    ],
)
def test_another_scheme_is_no_token(header):
    assert taken(header) is Reason.NO_TOKEN


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        f"Bearer  {TOKEN}",
        f"Bearer\t{TOKEN}",
        f"Bearer {TOKEN} ",
        f" Bearer {TOKEN}",
        f"Bearer {TOKEN} x",
        f"Bearer {TOKEN},Bearer {TOKEN}",
        f"Bearer {TOKEN}, Basic x",
        f"Bearer {TOKEN};a=b",
        f'Bearer "{TOKEN}"',
        f"Bearer {TOKEN}\n",
        f"Bearer\u00a0{TOKEN}",
        "Bearer =x",
        "Bearer tökén",
        "Bearer " + "x" * (MAX_TOKEN_CHARS + 1),
    ],
)
def test_anything_but_one_plain_bearer_token_is_malformed(header):
    assert taken(header) is Reason.MALFORMED_AUTHORIZATION


def test_a_token_of_the_greatest_length_is_taken():
    token = "x" * MAX_TOKEN_CHARS
    assert taken(f"Bearer {token}").token == token


@pytest.mark.parametrize(
    "query",
    [
        "access_token=x",
        "day=1&access_token=x",
        "ACCESS_TOKEN=x",
        "access%5Ftoken=x",
        "access_token",
    ],
)
def test_a_token_in_the_query_is_refused(query):
    assert taken(target=f"/v1/events?{query}") is Reason.TOKEN_IN_REQUEST


def test_a_token_in_a_form_is_refused():
    for body in (b"access_token=x", b"a=b&%61ccess_token=x"):
        assert taken(body=body, CONTENT_TYPE=FORM[1]) is Reason.TOKEN_IN_REQUEST
        typed = f"{FORM[1]}; charset=utf-8"
        assert taken(body=body, CONTENT_TYPE=typed) is Reason.TOKEN_IN_REQUEST
    assert taken(body=b"access_token=x", CONTENT_TYPE="text/plain").body == b"access_token=x"


@pytest.mark.parametrize(
    "target",
    [
        None,
        "",
        "*",
        "v1/events",
        "//evil.example/v1/events",
        "http://127.0.0.1:8101/v1/events",
        "/v1/events#x",
        "/v1/events x",
        "/v1/evénts",
        "/v1/events\n",
        "/v1/ev\x7fents",
    ],
)
def test_a_target_of_another_form_is_refused(target):
    assert taken(target=target) is Reason.TARGET_FORM


def test_without_the_target_as_received_nothing_is_judged():
    environ = EnvironBuilder(path="/v1/events").get_environ()
    for name in ("RAW_URI", "REQUEST_URI"):
        environ.pop(name, None)
    environ["HTTP_AUTHORIZATION"] = f"Bearer {TOKEN}"
    found = read(Request(environ), base_url=BASE, max_body_bytes=10)
    assert found is Reason.TARGET_FORM


@pytest.mark.parametrize(
    "target", ["/", "/a//b", "/a/../b", "/%2e%2e/%2F?x=%00&y=/?", "/a?", "/?a?b"]
)
def test_a_target_is_compared_as_it_was_received(target):
    assert taken(target=target).uri == BASE + target


def test_the_body_has_a_limit():
    assert taken(body=b"x" * 10, limit=10).body == b"x" * 10
    assert taken(body=b"x" * 11, limit=10) is Reason.BODY_TOO_LARGE
    assert taken(body=b"", limit=0).body == b""


@pytest.mark.parametrize("length", ["5, 5", "5,5", "-1", "+5", "0x5", "5 5", "9" * 16, "\u0665"])
def test_a_length_that_is_not_one_number_is_refused(length):
    assert taken(body=b"12345", CONTENT_LENGTH=length) is Reason.LENGTH_REQUIRED


def test_a_transfer_encoding_is_refused():
    assert taken(HTTP_TRANSFER_ENCODING="chunked") is Reason.LENGTH_REQUIRED


def test_a_body_without_a_length_is_an_empty_body():
    found = taken(body=b"12345", CONTENT_LENGTH="")
    assert found.body == b""


@settings(max_examples=200, deadline=None)
@given(
    header=st.text(max_size=40) | st.text("Bearer abc=,. \t", max_size=20).map("Bearer {}".format)
)
def test_a_header_yields_a_plain_token_or_a_refusal(header):
    found = taken(header)
    if isinstance(found, Received):
        assert header[:7].lower() == "bearer "
        assert found.token == header[7:]
        assert not set(found.token) & set(" ,;\t\r\n")
    else:
        assert found in {Reason.NO_TOKEN, Reason.MALFORMED_AUTHORIZATION}


@settings(max_examples=200, deadline=None)
@given(target=st.text(max_size=30) | st.text("/?&#=%access_token", max_size=20).map("/{}".format))
def test_a_target_is_kept_as_it_is_or_refused(target):
    found = taken(target=target)
    if isinstance(found, Received):
        assert found.uri == BASE + target
        assert target.isascii()
        assert not set(target) & set(" #\r\n\t")
    else:
        assert found in {Reason.TARGET_FORM, Reason.TOKEN_IN_REQUEST}


# -- the same over real HTTP, where a server stands between -----------------------------------------


@pytest.mark.parametrize(
    ("headers", "more", "status"),
    [
        ([], {}, 401),
        ([("Authorization", "Basic x")], {}, 401),
        ([BEARER, BEARER], {}, 400),
        ([BEARER, ("authorization", "Basic x")], {}, 400),
        ([("Authorization", "Basic x"), BEARER], {}, 401),
        ([("Authorization", f"Bearer  {TOKEN}")], {}, 400),
        ([("Authorization", f"Bearer {TOKEN} ")], {}, 400),
        ([BEARER], {"target": PATH + "&access_token=x"}, 400),
        ([BEARER], {"target": "http://127.0.0.1:8101" + PATH}, 400),
        ([], {"target": f"{PATH}&access_token={TOKEN}"}, 401),
        ([BEARER, FORM], {"method": "POST", "body": b"access_token=x"}, 400),
        ([BEARER, ("Transfer-Encoding", "chunked")], {"method": "POST"}, 411),
        ([BEARER, ("Content-Length", "0,0")], {"method": "POST"}, 411),
        ([BEARER, ("Content-Length", str(1 << 21))], {"method": "POST"}, 413),
        ([("Cookie", f"access_token={TOKEN}")], {}, 401),
        ([("X-Forwarded-Authorization", f"Bearer {TOKEN}")], {}, 401),
    ],
)
def test_refused_over_http_before_the_broker_is_asked(kit, headers, more, status):
    fake, guarded, url = kit
    answer = send(url, *headers, **more)
    assert answer.status == status
    assert (fake.asked, guarded.served) == ([], [])
    assert guarded.refused[0].token is None


def test_a_body_shorter_than_it_says_is_refused(kit):
    fake, guarded, url = kit
    host, _, port = url.removeprefix("http://").partition(":")
    lines = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        sock.sendall(lines.encode() + b"Content-Length: 5\r\n\r\nab")
        sock.shutdown(socket.SHUT_WR)
        assert b" 400 " in sock.recv(200)
    assert guarded.refused[0].reason is Reason.BODY_INCOMPLETE
    assert (fake.asked, guarded.served) == ([], [])
