"""Login: a fresh session each time, good for an hour; CSRF tokens tied to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests

from broker.grants import login
from broker.store import users
from tests.support.broker_server import PASSWORD, hidden_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.broker_server import BrokerServer

COOKIE = "counterfoil_session"


@pytest.fixture
def browser() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


def log_in(broker: BrokerServer, browser: requests.Session, **changes: str) -> requests.Response:
    page = browser.get(f"{broker.url}/grants", timeout=30)
    form = hidden_fields(page.text) | {"user": "alice", "password": PASSWORD}
    return browser.post(
        f"{broker.url}/login", data=form | changes, timeout=30, allow_redirects=False
    )


def test_login_gives_a_new_session_for_scripts_unreadable(
    shared: BrokerServer, browser: requests.Session
) -> None:
    browser.get(f"{shared.url}/grants", timeout=30)
    before = browser.cookies[COOKIE]
    answer = log_in(shared, browser)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/grants")
    assert browser.cookies[COOKIE] != before
    flags = answer.headers["Set-Cookie"]
    assert "HttpOnly" in flags
    assert "SameSite=Lax" in flags


@pytest.mark.parametrize(
    "changes",
    [
        {"password": "wrong"},
        {"password": ""},
        {"password": PASSWORD + " "},
        {"password": "p" * 1025},
        {"user": "nobody"},
        {"user": "Alice"},
        {"user": ""},
        {"user": "' OR 1=1 --"},
    ],
    ids=str,
)
def test_a_wrong_name_or_password_gets_the_same_answer(
    shared: BrokerServer, browser: requests.Session, changes: dict[str, str]
) -> None:
    answer = log_in(shared, browser, **changes)
    assert answer.status_code == 403
    assert "Name and password do not belong together." in answer.text
    page = browser.get(f"{shared.url}/grants", timeout=30).text
    assert 'action="/login"' in page


@pytest.mark.parametrize(
    "then",
    [
        "",
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/grants\r\nX: y",
        "/authorize",
        "/authorize?a b",
        "/authorized?x",
        "/logout",
    ],
)
def test_login_leads_to_this_server_only(
    shared: BrokerServer, browser: requests.Session, then: str
) -> None:
    answer = log_in(shared, browser, then=then)
    assert answer.status_code == 400
    assert "Location" not in answer.headers


def test_a_login_form_of_another_browser_is_refused(shared: BrokerServer) -> None:
    with requests.Session() as one, requests.Session() as other:
        form = hidden_fields(one.get(f"{shared.url}/grants", timeout=30).text)
        other.get(f"{shared.url}/grants", timeout=30)
        form |= {"user": "alice", "password": PASSWORD}
        assert other.post(f"{shared.url}/login", data=form, timeout=30).status_code == 403
    assert requests.post(f"{shared.url}/login", data=form, timeout=30).status_code == 403


def test_a_session_ends_after_an_hour_and_at_logout(
    broker: BrokerServer, browser: requests.Session
) -> None:
    log_in(broker, browser)
    url = f"{broker.url}/grants"
    page = browser.get(url, timeout=30).text
    assert "What you allowed, alice" in page
    kept = browser.cookies[COOKIE]
    browser.post(f"{broker.url}/logout", data=hidden_fields(page), timeout=30)
    answer = requests.get(url, cookies={COOKIE: kept}, timeout=30)
    assert 'action="/login"' in answer.text
    log_in(broker, browser)
    broker.clock.advance(3_599)
    assert "What you allowed" in browser.get(url, timeout=30).text
    broker.clock.advance(1)
    assert 'action="/login"' in browser.get(url, timeout=30).text


def test_a_session_ends_with_its_user(broker: BrokerServer, browser: requests.Session) -> None:
    log_in(broker, browser)
    with broker.store.write() as connection:
        users.disable(connection, "alice")
    assert 'action="/login"' in browser.get(f"{broker.url}/grants", timeout=30).text
    assert log_in(broker, browser).status_code == 403


def test_csrf_tokens_belong_to_one_cookie() -> None:
    assert login.csrf_fits("a", login.csrf_token("a"))
    for cookie, token in (("b", login.csrf_token("a")), ("", login.csrf_token("")), ("a", "")):
        assert not login.csrf_fits(cookie, token)
