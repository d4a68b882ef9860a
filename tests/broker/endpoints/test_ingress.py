"""The strict way in: one reading of a request or none."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
import requests
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.endpoints import ingress
from broker.errors import InvalidRequestError
from broker.grants.client_auth import ASSERTION_TYPE

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer

FORM = "application/x-www-form-urlencoded"


def send(
    broker: BrokerServer, body: str | bytes, path: str = "/revoke", **headers: str
) -> requests.Response:
    names = {"Content-Type": FORM} | {k.replace("_", "-"): v for k, v in headers.items()}
    return requests.post(f"{broker.url}{path}", data=body, headers=names, timeout=30)


def good(broker: BrokerServer) -> str:
    assertion = broker.assertion(broker.gateway)
    fields = {"client_assertion_type": ASSERTION_TYPE, "client_assertion": assertion}
    return urlencode(fields | {"token": "x"})


def refused(answer: requests.Response, status: int = 400) -> bool:
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Traceback" not in answer.text
    return answer.status_code == status and answer.json()["error"] == "invalid_request"


def test_a_plain_form_is_read(shared: BrokerServer) -> None:
    assert send(shared, good(shared)).status_code == 200
    charset = f"{FORM}; charset=UTF-8"
    assert send(shared, good(shared), Content_Type=charset).status_code == 200


def test_a_repeated_parameter_is_refused(shared: BrokerServer) -> None:
    for extra in ("&token=x", "&token=y", "&%74oken=y", "&grant_type=a&grant_type=b"):
        assert refused(send(shared, good(shared) + extra))


def test_a_parameter_in_the_query_is_refused(shared: BrokerServer) -> None:
    for query in ("?token=x", "?x", "?grant_type=authorization_code"):
        assert refused(send(shared, good(shared), f"/revoke{query}"))
        assert refused(send(shared, good(shared), f"/token{query}"))


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/json",
        "text/plain",
        "multipart/form-data; boundary=x",
        f"{FORM}; charset=utf-7",
    ],
)
def test_another_content_type_is_refused(shared: BrokerServer, content_type: str) -> None:
    assert refused(send(shared, good(shared), Content_Type=content_type))


def test_a_coded_body_is_refused(shared: BrokerServer) -> None:
    assert refused(send(shared, good(shared), Content_Encoding="gzip"))


@pytest.mark.parametrize("body", ["token", "&&", "a=%ff", "=x&=x", b"a=\xff", "a=b&c"])
def test_a_malformed_body_is_refused(shared: BrokerServer, body: str | bytes) -> None:
    assert refused(send(shared, body))


def test_size_and_number_of_fields_are_capped(shared: BrokerServer) -> None:
    many = "&".join(f"f{number}=1" for number in range(ingress.MAX_FIELDS + 1))
    assert refused(send(shared, many))
    assert refused(send(shared, "a=" + "b" * ingress.MAX_BODY), 413)


def test_the_other_methods_are_refused(shared: BrokerServer) -> None:
    for path in ("/token", "/introspect", "/revoke"):
        for method in ("GET", "PUT", "DELETE"):
            answer = requests.request(method, shared.url + path, timeout=30)
            assert refused(answer, 405)
            assert "POST" in answer.headers["Allow"]
    assert refused(requests.get(f"{shared.url}/nothing", timeout=30), 404)


def test_a_spoofed_host_changes_nothing(shared: BrokerServer) -> None:
    port = int(shared.url.rpartition(":")[2])
    request = "GET /.well-known/oauth-authorization-server HTTP/1.0\r\nHost: evil.example\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"{request}X-Forwarded-Host: evil.example\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert shared.url.encode() in answer
    assert b"evil" not in answer


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=5))
def test_what_was_encoded_is_read_back(fields: dict[str, str]) -> None:
    app = Flask("test")
    with app.test_request_context("/", method="POST", data=urlencode(fields), content_type=FORM):
        if len(urlencode(fields)) == 0 or "" not in fields:
            assert ingress.form() == fields


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_form_or_refused(raw: bytes) -> None:
    app = Flask("test")
    with app.test_request_context("/", method="POST", data=raw, content_type=FORM):
        try:
            fields = ingress.form()
        except InvalidRequestError:
            return
        assert len(fields) == (raw.count(b"&") + 1 if raw else 0)
