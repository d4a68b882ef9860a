"""Redirect URIs: what may be registered, what fits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.grants import redirect


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1/callback",
        "http://127.0.0.1:8400/callback",
        "http://[::1]/cb",
        "http://localhost:3000/cb",
        "https://gateway.example/cb?x=1",
    ],
)
def test_these_may_be_registered_and_fit_themselves(uri: str) -> None:
    assert redirect.problem(uri) is None
    assert redirect.fits(uri, ("https://other.example/", uri))


@pytest.mark.parametrize(
    "uri",
    [
        "http://gateway.example/cb",
        "https://gateway.example",
        "https://Gateway.example/cb",
        "https://a@gateway.example/cb",
        "https://gateway.example/cb#x",
        "https://gateway.example/c b",
        "https://gateway.example/cb\n",
        "https://gateway.example:99999999/cb",
        "gateway://cb",
        "javascript:alert(1)",
        "",
    ],
)
def test_these_may_not(uri: str) -> None:
    assert redirect.problem(uri)


def test_the_port_is_free_for_a_loopback_address_only() -> None:
    assert redirect.fits("http://127.0.0.1:5/cb", ("http://127.0.0.1/cb",))
    assert redirect.fits("http://[::1]:5/cb", ("http://[::1]:6/cb",))
    assert not redirect.fits("http://localhost:5/cb", ("http://localhost:6/cb",))
    assert not redirect.fits("https://a.example:5/cb", ("https://a.example/cb",))
    assert not redirect.fits("http://[::1]:5/cb", ("http://127.0.0.1/cb",))


def test_host_origin_and_answer() -> None:
    uri = "http://127.0.0.1:5/cb"
    assert redirect.host(uri) == "127.0.0.1"
    assert redirect.origin(uri) == "http://127.0.0.1:5"
    assert redirect.is_loopback(uri)
    assert not redirect.is_loopback("https://a.example/cb")
    assert redirect.answer(uri, {"a": "b&c"}) == f"{uri}?a=b%26c"
    assert redirect.answer(f"{uri}?x=1", {"a": "b"}) == f"{uri}?x=1&a=b"


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ahtp:/[]127.0@#?%2f\\ \n"), max_size=30))
def test_no_other_spelling_fits(tail: str) -> None:
    registered = ("http://127.0.0.1/cb",)
    if redirect.fits(tail, registered):
        assert redirect.host(tail) == "127.0.0.1"
        assert tail.endswith("/cb")
    assert not redirect.fits(f"http://127.0.0.1/cb{tail}", registered) or not tail
