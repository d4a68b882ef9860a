"""An introspection answer: every member as the wire types it, or no verdict."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.resource.answer import parse
from broker.resource.model import BrokerFaultError, Reason
from tests.broker.resource.support import NOW, facts, the_call

TEXTS = ["iss", "aud", "sub", "client_id", "scope", "jti", "gid"]
NOT_TEXT = [
    None,
    1,
    True,
    1.5,
    "",
    "two words",
    "new\nline",
    "ümlaut",
    "x" * 257,
    ["x"],
    {"x": "y"},
]
NOT_TIME = [None, True, "1800000000", 1800000000.5, -1, [NOW], {}, 1 << 54]
CALL_TEXTS = [
    "type",
    "decision_id",
    "action_digest",
    "operation",
    "method",
    "uri",
    "content_sha256",
]


def refuse(value):
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    with pytest.raises(BrokerFaultError) as caught:
        parse(raw)
    assert caught.value.reason is Reason.BROKER_ANSWER
    return str(caught.value)


def test_an_active_token_is_read_member_by_member():
    token = parse(json.dumps(facts()).encode())
    assert (token.issuer, token.audience, token.sub) == (
        "http://127.0.0.1:8100",
        "calendar-api",
        "alice",
    )
    assert (token.agent, token.client_id, token.grant_id) == ("demo-agent", "gateway", "grant-1")
    assert (token.jti, token.scope) == ("jti-1", "calendar.read")
    assert (token.issued_at, token.expires_at) == (NOW, NOW + 300)
    assert not token.sender_constrained
    call = the_call()
    assert {name: getattr(token.call, name) for name in call if name != "type"} == {
        name: value for name, value in call.items() if name != "type"
    }


def test_inactive_is_no_token_whatever_else_is_said():
    assert parse(b'{"active":false}') is None
    assert parse(json.dumps(facts(active=False)).encode()) is None


@pytest.mark.parametrize("value", ["true", 1, None, "false", 0, [], {}, [True], 1.0])
def test_active_is_a_boolean_or_nothing(value):
    refuse(facts(active=value))


def test_active_must_be_there():
    refuse({})


@pytest.mark.parametrize("member", TEXTS)
@pytest.mark.parametrize("value", NOT_TEXT)
def test_a_text_member_of_another_type_or_form_is_refused(member, value):
    assert member in refuse(facts(**{member: value})) or isinstance(value, float)


@pytest.mark.parametrize("member", ["iat", "exp"])
@pytest.mark.parametrize("value", NOT_TIME)
def test_a_time_of_another_type_is_refused(member, value):
    refuse(facts(**{member: value}))


@pytest.mark.parametrize("value", ["bearer", "DPoP", "N_A", None, 1, ["Bearer"]])
def test_the_token_type_is_bearer(value):
    refuse(facts(token_type=value))


@pytest.mark.parametrize(
    "value",
    [None, "demo-agent", [], {}, {"sub": 1}, {"sub": ""}, {"sub": "a", "act": {"sub": "b"}}],
)
def test_the_actor_is_exactly_one_agent(value):
    refuse(facts(act=value))


@pytest.mark.parametrize("life", [0, -1, 301, 86_400])
def test_a_life_of_more_than_300_seconds_is_not_ours(life):
    assert "exp - iat" in refuse(facts(exp=NOW + life))


@pytest.mark.parametrize(
    "value", [None, {}, [], "x", [None], [[]], ["counterfoil_call"], [the_call(), the_call()]]
)
def test_exactly_one_decided_call(value):
    refuse(facts(authorization_details=value))


@pytest.mark.parametrize("member", CALL_TEXTS)
@pytest.mark.parametrize("value", [None, 1, True, "", [], {}, "with space", "\x7f"])
def test_each_member_of_the_call_is_typed(member, value):
    refuse(facts(authorization_details=[the_call(**{member: value})]))


@pytest.mark.parametrize("member", CALL_TEXTS)
def test_each_member_of_the_call_is_required(member):
    call = the_call()
    del call[member]
    refuse(facts(authorization_details=[call]))


@pytest.mark.parametrize("member", [name for name in facts() if name != "active"])
def test_each_member_is_required(member):
    answer = facts()
    del answer[member]
    assert member in refuse(answer)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("type", "other_call"),
        ("action_digest", "sha256:" + "A" * 64),
        ("action_digest", "a" * 64),
        ("content_sha256", "a" * 63),
        ("content_sha256", "a" * 64 + "\n"),
        ("uri", "http://127.0.0.1:8101/v1/events\n"),
    ],
)
def test_each_member_of_the_call_has_its_form(member, value):
    refuse(facts(authorization_details=[the_call(**{member: value})]))


def test_an_unknown_member_of_the_call_is_refused_and_one_of_the_answer_ignored():
    refuse(facts(authorization_details=[the_call(limit="1")]))
    assert parse(json.dumps(facts(username="alice", nbf=NOW)).encode()).sub == "alice"


@pytest.mark.parametrize("value", [None, {}, {"jkt": "x"}])
def test_a_bound_token_is_marked(value):
    assert parse(json.dumps(facts(cnf=value)).encode()).sender_constrained


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b'"active"',
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"active":true',
        b'{"active":false,"active":true}',
        b'{"active":false}{"active":true}',
        b'{"active":false,"exp":NaN}',
        b'{"active":false,"x":"\\ud800"}',
        b'{"active":false,"x":' + b"[" * 9 + b"]" * 9 + b"}",
        b"[" * 60_000,
        json.dumps(facts()).encode("utf-16"),
    ],
)
def test_what_is_not_one_strict_object_is_refused(raw):
    refuse(raw)


def test_a_repeated_member_deep_inside_is_refused():
    raw = json.dumps(facts()).replace('"method": "GET"', '"method": "GET", "method": "GET"')
    assert raw != json.dumps(facts())
    refuse(raw.encode())


def test_a_refusal_never_quotes_a_value():
    assert "s3cret" not in refuse(facts(jti="s3cret value"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(raw=st.binary(max_size=200))
def test_any_bytes_are_inactive_or_refused(raw):
    try:
        token = parse(raw)
    except BrokerFaultError:
        return
    assert token is None


@settings(max_examples=150, deadline=None)
@given(member=st.sampled_from(sorted(facts())), value=JSON)
def test_any_value_in_any_member_is_read_as_typed_or_refused(member, value):
    try:
        token = parse(json.dumps(facts(**{member: value})).encode())
    except BrokerFaultError:
        return
    assert token is None or type(value) in {str, int, bool, dict, list}
    if token is not None:
        assert all(type(getattr(token, name)) is int for name in ("issued_at", "expires_at"))
        assert all(isinstance(getattr(token, n), str) for n in ("audience", "scope", "sub", "jti"))
