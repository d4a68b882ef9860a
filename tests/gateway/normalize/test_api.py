from __future__ import annotations

import dataclasses
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.model.action import Action
from gateway.model.names import Json
from gateway.model.plan import CallApi
from gateway.model.request import ActionRequest
from gateway.model.resource import ApiResource
from gateway.normalize.api import api_call
from gateway.normalize.settings import Settings

from .conftest import EVENTS_CREATE, EVENTS_READ, Place


def _act(spot: Place, operation: str, arguments: Json, audience: str = "calendar-api") -> Action:
    params: dict[str, Json] = {
        "audience": audience,
        "operation": operation,
        "arguments": arguments,
    }
    return spot.normalize.normalize(ActionRequest(tool="api.call", params=params))


def test_a_call_is_the_exact_request(spot: Place) -> None:
    arguments: dict[str, Json] = {
        "calendar": "wörk & co",
        "tags": ["a b", "c&d"],
        "limit": 5,
        "full": True,
    }
    action = _act(spot, "events.read", arguments)
    assert action.refusal is None
    assert isinstance(action.plan, CallApi)
    assert action.plan.url == (
        "http://127.0.0.1:8001/calendars/w%C3%B6rk%20%26%20co/events"
        "?full=true&limit=5&tags=a%20b&tags=c%26d"
    )
    assert (action.plan.method, action.plan.scope, action.plan.body) == (
        "GET",
        "calendar.read",
        None,
    )
    assert action.normalized == {
        "operation": "api.call",
        "audience": "calendar-api",
        "api_operation": "events.read",
        "scope": "calendar.read",
        "method": "GET",
        "url": action.plan.url,
        "arguments": arguments,
    }
    (resource,) = action.resources
    assert isinstance(resource, ApiResource)
    assert resource.arguments == arguments


def test_a_body_is_canonical_json(spot: Place) -> None:
    action = _act(spot, "events.create", {"title": "é", "extra": {"b": 1, "a": []}})
    assert isinstance(action.plan, CallApi)
    assert action.plan.body == '{"extra":{"a":[],"b":1},"title":"é"}'.encode()
    again = _act(spot, "events.create", {"extra": {"a": [], "b": 1}, "title": "é"})
    assert again.digest == action.digest


@pytest.mark.parametrize(
    ("operation", "arguments", "says"),
    [
        ("events.read", {}, "arguments.calendar is missing"),
        ("events.read", {"calendar": 5}, "arguments.calendar is not of type string"),
        ("events.read", {"calendar": "a" * 65}, "arguments.calendar is longer than 64"),
        ("events.read", {"calendar": "a", "limit": True}, "arguments.limit is not of type integer"),
        ("events.read", {"calendar": "a", "limit": 1.5}, "arguments.limit is not of type integer"),
        ("events.read", {"calendar": "a", "full": 1}, "arguments.full is not of type boolean"),
        ("events.read", {"calendar": "a", "scope": "x"}, "arguments.'scope' is not known"),
        ("events.read", {"calendar": ""}, "arguments.calendar stands in the URL's path"),
        ("events.read", {"calendar": "."}, "arguments.calendar stands in the URL's path"),
        ("events.read", {"calendar": ".."}, "arguments.calendar stands in the URL's path"),
        ("events.read", {"calendar": "a/../b"}, "arguments.calendar stands in the URL's path"),
        ("events.read", {"calendar": "a\\b"}, "arguments.calendar stands in the URL's path"),
        ("events.read", {"calendar": "a\r\nb"}, "arguments.calendar stands in the URL's path"),
        ("events.create", {"title": "x" * 21}, "arguments.title is longer than 20"),
        ("events.create", {"title": "x", "extra": []}, "arguments.extra is not of type object"),
    ],
)
def test_a_wrong_argument_is_named(
    spot: Place, operation: str, arguments: dict[str, Json], says: str
) -> None:
    action = _act(spot, operation, arguments)
    assert action.refusal is not None
    assert action.refusal.reason == "api_arguments"
    assert action.refusal.message.startswith(says)
    assert action.plan is None


@pytest.mark.parametrize(
    ("audience", "operation", "says"),
    [
        ("mail-api", "x", "known are calendar-api"),
        ("calendar-api", "events.delete", "known are events.create, events.read"),
    ],
)
def test_an_unknown_operation_lists_the_known_ones(
    spot: Place, audience: str, operation: str, says: str
) -> None:
    action = _act(spot, operation, {}, audience)
    assert action.refusal is not None
    assert action.refusal.reason == "api_unknown_operation"
    assert says in action.refusal.message


def test_parameters_are_strict(spot: Place) -> None:
    for params in (
        {"audience": "calendar-api", "operation": "events.read", "scope": "all"},
        {"audience": "calendar-api", "operation": "events.read", "arguments": []},
        {"operation": "events.read"},
    ):
        action = spot.normalize.normalize(ActionRequest(tool="api.call", params=params))
        assert action.refusal is not None
        assert action.refusal.reason == "params_invalid"


def test_a_catalogue_url_that_is_refused_sends_nothing(spot: Place) -> None:
    for base in ("ftp://h", "http://h/a/..", "http://user@h"):
        broken = dataclasses.replace(EVENTS_CREATE, base_url=base)
        settings = dataclasses.replace(spot.settings, apis={"a": {"o": broken}})
        params: dict[str, Json] = {"audience": "a", "operation": "o", "arguments": {"title": "x"}}
        action = api_call(ActionRequest(tool="api.call", params=params), settings)
        assert action.refusal is not None
        assert action.refusal.reason == "api_arguments"


@given(segment=st.text(max_size=20), tags=st.lists(st.text(max_size=10), max_size=3))
@settings(max_examples=100, deadline=None)
def test_an_argument_never_leaves_its_place_in_the_url(segment: str, tags: list[str]) -> None:
    settings_ = Settings(roots=None, guard=None, apis={"c": {"r": EVENTS_READ}})  # type: ignore[arg-type]
    params: dict[str, Json] = {
        "audience": "c",
        "operation": "r",
        "arguments": {"calendar": segment, "tags": tags},
    }
    action = api_call(ActionRequest(tool="api.call", params=params), settings_)
    if action.refusal is not None:
        assert action.refusal.reason == "api_arguments"
        return
    assert isinstance(action.plan, CallApi)
    path, _, query = action.plan.url.removeprefix("http://127.0.0.1:8001").partition("?")
    first, second, third = path[1:].split("/")
    assert (first, unquote(second), third) == ("calendars", segment, "events")
    pairs = [pair.split("=") for pair in query.split("&")] if query else []
    assert [(name, unquote(value)) for name, value in pairs] == [("tags", tag) for tag in tags]
