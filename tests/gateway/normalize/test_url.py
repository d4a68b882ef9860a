from __future__ import annotations

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.model.action import Refusal
from gateway.model.names import Json
from gateway.model.reasons import REASONS
from gateway.model.request import ActionRequest
from gateway.model.resource import UrlResource
from gateway.normalize.url import UrlParts, parse_url

from .conftest import Place


@pytest.mark.parametrize(
    ("spelled", "href", "host", "port", "path", "query"),
    [
        ("https://example.com", "https://example.com/", "example.com", 443, "/", ""),
        ("HTTPS://EXAMPLE.com:443/A", "https://example.com/A", "example.com", 443, "/A", ""),
        ("http://h:8080/a?b=c#d", "http://h:8080/a?b=c", "h", 8080, "/a", "b=c"),
        ("https://example.com./a", "https://example.com/a", "example.com", 443, "/a", ""),
        ("http://[::1]:80/", "http://[::1]/", "::1", 80, "/", ""),
        ("http://2130706433/", "http://127.0.0.1/", "127.0.0.1", 80, "/", ""),
        ("http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1", 80, "/", ""),
        (
            "https://xn--mnchen-3ya.de/",
            "https://xn--mnchen-3ya.de/",
            "xn--mnchen-3ya.de",
            443,
            "/",
            "",
        ),
        ("https://h/a%20b", "https://h/a%20b", "h", 443, "/a%20b", ""),
    ],
)
def test_the_normal_form_is_what_counts(
    spelled: str, href: str, host: str, port: int, path: str, query: str
) -> None:
    parts = parse_url(spelled)
    assert isinstance(parts, UrlParts)
    assert (parts.href, parts.host, parts.port, parts.path, parts.query) == (
        href,
        host,
        port,
        path,
        query,
    )


@pytest.mark.parametrize(
    ("spelled", "reason"),
    [
        ("", "url_invalid"),
        ("https://exa\tmple.com/", "url_invalid"),
        ("https://example.com/\n", "url_invalid"),
        (" https://example.com/", "url_invalid"),
        ("https://exämple.com/", "url_invalid"),
        ("https://h\\@evil/", "url_invalid"),
        ("https://h/" + "a" * 8192, "url_invalid"),
        ("https://", "url_invalid"),
        ("example.com/a", "url_invalid"),
        ("https://a..", "url_invalid"),
        ("https://./", "url_invalid"),
        ("https://h:0/", "url_invalid"),
        ("https://h:99999/", "url_invalid"),
        ("https://[::1", "url_invalid"),
        ("ftp://h/", "url_scheme"),
        ("file:///etc/passwd", "url_scheme"),
        ("javascript:alert(1)", "url_scheme"),
        ("ws://h/", "url_scheme"),
        ("https://user@h/", "url_userinfo"),
        ("https://user:pw@h/", "url_userinfo"),
        ("https://@h/", "url_userinfo"),
        ("https://h/a/../b", "url_ambiguous"),
        ("https://h/./b", "url_ambiguous"),
        ("https://h/%2e%2e/b", "url_ambiguous"),
        ("https://h/a%2Fb", "url_ambiguous"),
        ("https://h/a%5cb", "url_ambiguous"),
        ("https://h/a%00", "url_ambiguous"),
        ("https://h//evil/", "url_ambiguous"),
        ("https:h/a", "url_ambiguous"),
        ("https:/h/a", "url_ambiguous"),
        ("https:///h/a", "url_ambiguous"),
        ("https://h/{a}", "url_ambiguous"),
    ],
)
def test_refused_with_its_reason(spelled: str, reason: str) -> None:
    refusal = parse_url(spelled)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == reason


@given(
    st.text(max_size=60)
    | st.text("htps:/@.?#%2eF[]\\ a1", max_size=30).map(lambda tail: "https://" + tail)
)
@settings(max_examples=200, deadline=None)
def test_any_text_gives_a_verdict_and_the_normal_form_is_a_fixed_point(spelled: str) -> None:
    parts = parse_url(spelled)
    if isinstance(parts, Refusal):
        assert parts.reason in REASONS
        return
    assert parse_url(parts.href) == parts
    url = ada_url.URL(parts.href)
    assert not url.username
    assert url.hostname.strip("[]") == parts.host
    assert parts.host == parts.host.lower()


def _act(spot: Place, **params: Json) -> tuple[str | None, UrlResource | None]:
    action = spot.normalize.normalize(ActionRequest(tool="net.request", params=params))
    assert action.plan is None
    if action.refusal is not None:
        return action.refusal.reason, None
    (resource,) = action.resources
    assert isinstance(resource, UrlResource)
    return None, resource


def test_a_request_has_a_url_and_a_method(spot: Place) -> None:
    refusal, resource = _act(spot, url="https://Example.com/a?q=1", headers={"Accept": "text/html"})
    assert refusal is None
    assert resource is not None
    assert (resource.method, resource.host, resource.path, resource.query) == (
        "GET",
        "example.com",
        "/a",
        "q=1",
    )
    assert resource.egress


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({}, "params_invalid"),
        ({"url": "https://h/", "verb": "GET"}, "params_invalid"),
        ({"url": "https://h/", "method": "BREW"}, "params_invalid"),
        ({"url": "https://h/", "method": "GET\r\n"}, "params_invalid"),
        ({"url": "https://h/", "headers": {"Host": "evil"}}, "params_invalid"),
        ({"url": "https://h/", "headers": {"A": "x\r\nHost: evil"}}, "params_invalid"),
        ({"url": "https://h/", "headers": {"A": "x", "a": "y"}}, "params_invalid"),
        ({"url": "https://h/", "headers": {"A b": "x"}}, "params_invalid"),
        ({"url": "https://h/", "headers": {"A": 1}}, "params_invalid"),
        ({"url": "https://h/", "headers": []}, "params_invalid"),
        ({"url": "file:///etc/passwd"}, "url_scheme"),
    ],
)
def test_a_request_is_typed(spot: Place, params: dict[str, Json], reason: str) -> None:
    assert _act(spot, **params) == (reason, None)
