"""The table of comparisons: each one alone stops a call, and their order is the order of telling."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.resource.answer import parse
from broker.resource.check import Case, first_failure
from broker.resource.model import Endpoint, Reason, Received
from tests.broker.resource.support import BASE, NOW, PATH, TOKEN, config, digest, facts, the_call

ENDPOINT = Endpoint(operation="events.read", scope="calendar.read")
RECEIVED = Received(method="GET", uri=BASE + PATH, body=b"", token=TOKEN)


def case(answer=None, *, endpoint=ENDPOINT, received=RECEIVED, now=NOW):
    token = parse(json.dumps(answer or facts()).encode())
    return Case(config=config(), endpoint=endpoint, received=received, token=token, now=now)


def test_the_decided_call_has_no_failure():
    assert first_failure(case()) is None
    assert first_failure(case(now=NOW + 299)) is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (case(facts(iss="http://127.0.0.1:1")), Reason.BROKER_ANSWER),
        (case(facts(aud="mail-api")), Reason.WRONG_AUDIENCE),
        (case(facts(aud="calendar-api2")), Reason.WRONG_AUDIENCE),
        (case(now=NOW + 300), Reason.TOKEN_EXPIRED),
        (case(now=NOW + 301), Reason.TOKEN_EXPIRED),
        (case(facts(cnf={"jkt": "x"})), Reason.SENDER_CONSTRAINED),
        (case(facts(scope="calendar.write")), Reason.WRONG_SCOPE),
        (case(facts(scope="calendar.read.all")), Reason.WRONG_SCOPE),
        (case(facts(authorization_details=[the_call(operation="events.create")])),
         Reason.WRONG_OPERATION),
        (case(facts(authorization_details=[the_call(method="POST")])), Reason.WRONG_METHOD),
        (case(facts(authorization_details=[the_call(method="get")])), Reason.WRONG_METHOD),
        (case(facts(authorization_details=[the_call(uri=BASE + "/v1/events")])), Reason.WRONG_URI),
        (case(facts(authorization_details=[the_call(uri=BASE + PATH + "#x")])), Reason.WRONG_URI),
        (case(facts(authorization_details=[the_call(content_sha256=digest(b"x"))])),
         Reason.WRONG_CONTENT),
        (case(received=dataclasses.replace(RECEIVED, body=b"x")), Reason.WRONG_CONTENT),
        (case(received=dataclasses.replace(RECEIVED, uri=BASE.upper() + PATH)), Reason.WRONG_URI),
        (case(received=dataclasses.replace(RECEIVED, method="HEAD")), Reason.WRONG_METHOD),
        (case(endpoint=Endpoint(operation="events.list", scope="calendar.read")),
         Reason.WRONG_OPERATION),
        (case(endpoint=Endpoint(operation="events.read", scope="calendar")), Reason.WRONG_SCOPE),
    ],
)  # fmt: skip
def test_one_difference_is_the_failure(changed, reason):
    assert first_failure(changed) is reason


def test_of_several_differences_the_first_is_told():
    everything = facts(aud="mail-api", scope="x", authorization_details=[the_call(method="PUT")])
    assert first_failure(case(everything, now=NOW + 400)) is Reason.WRONG_AUDIENCE


@settings(max_examples=100, deadline=None)
@given(
    target=st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=30),
    body=st.binary(max_size=20),
)
def test_only_the_same_uri_and_body_pass(target, body):
    received = Received(method="GET", uri=BASE + "/" + target, body=body, token=TOKEN)
    same = (received.uri, body) == (BASE + PATH, b"")
    assert (first_failure(case(received=received)) is None) == same
