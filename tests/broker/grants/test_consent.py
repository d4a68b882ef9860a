"""Consent: shown as asked, decided once, by the person it was shown to, until a day they choose."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import pytest
import requests

from broker.store import grants, users
from tests.support.broker_server import START, hidden_fields, redirect_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.broker_server import BrokerServer

DAY = 86_400


@pytest.fixture
def browser() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


def all_grants(broker: BrokerServer) -> list[grants.Grant]:
    with broker.store.read() as connection:
        return grants.all_grants(connection)


def test_the_page_says_who_what_why_until_when_and_where_to(
    broker: BrokerServer, browser: requests.Session
) -> None:
    purpose = 'plan <script>alert(1)</script> & "more"'
    page = broker.open_consent(browser, "calendar.read mail.send", purpose=purpose)
    for shown in (
        "alice",
        "gateway",
        "demo-agent",
        "calendar-api",
        "mail-api",
        "calendar.read",
        "Read the events in your calendar",
        "Send mail in your name",
        'value="2027-02-14" max="2027-02-14"',
        "127.0.0.1",
        "your own machine",
    ):
        assert shown in page
    assert "<script" not in page
    assert (
        html.escape(purpose, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
        in page
    )


def test_the_page_is_protected(broker: BrokerServer, browser: requests.Session) -> None:
    broker.open_consent(browser, "calendar.read")
    answer = browser.get(
        f"{broker.url}/authorize",
        params=broker.authorize_query("calendar.read", redirect_uri="http://127.0.0.1:99/callback"),
        timeout=30,
    )
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert policy.endswith("form-action 'self' http://127.0.0.1:99")
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_deny_tells_the_client_and_makes_no_grant(
    broker: BrokerServer, browser: requests.Session
) -> None:
    answer = broker.decide(browser, broker.open_consent(browser, "calendar.read"), "deny")
    assert redirect_parameters(answer) == {
        "error": "access_denied",
        "state": "state-1",
        "iss": broker.url,
    }
    assert all_grants(broker) == []


def test_allow_answers_with_code_state_and_issuer(
    broker: BrokerServer, browser: requests.Session
) -> None:
    answer = broker.decide(browser, broker.open_consent(browser, "calendar.read"))
    told = redirect_parameters(answer)
    assert len(told.pop("code")) == 43
    assert told == {"state": "state-1", "iss": broker.url}


def test_a_decision_counts_once(broker: BrokerServer, browser: requests.Session) -> None:
    page = broker.open_consent(browser, "calendar.read")
    assert broker.decide(browser, page).status_code == 303
    assert broker.decide(browser, page).status_code == 403
    assert len(all_grants(broker)) == 1


def test_consent_begun_by_one_person_and_finished_by_another_is_refused(
    broker: BrokerServer, browser: requests.Session
) -> None:
    broker.add_user("bob")
    page = broker.open_consent(browser, "calendar.read")
    with requests.Session() as other:
        own = broker.open_consent(other, "calendar.read", user="bob")
        mixed = hidden_fields(page) | {"csrf": hidden_fields(own)["csrf"]}
        answer = broker.decide(other, own, consent=mixed["consent"])
        assert answer.status_code == 403
        assert broker.decide(other, page).status_code == 403
    assert all_grants(broker) == []


def test_a_consent_does_not_survive_another_login_in_the_same_browser(
    broker: BrokerServer, browser: requests.Session
) -> None:
    broker.add_user("bob")
    page = broker.open_consent(browser, "calendar.read")
    form = {"csrf": hidden_fields(page)["csrf"]}
    login = browser.post(f"{broker.url}/logout", data=form, timeout=30)
    broker.log_in(browser, login, "bob")
    own = broker.open_consent(browser, "calendar.read")
    assert "bob" in own
    answer = broker.decide(browser, own, consent=hidden_fields(page)["consent"])
    assert answer.status_code == 403
    assert all_grants(broker) == []


@pytest.mark.parametrize("csrf", ["", "x", "0" * 64, "\u00e9"])
def test_a_forged_form_is_refused(
    broker: BrokerServer, browser: requests.Session, csrf: str
) -> None:
    page = broker.open_consent(browser, "calendar.read")
    assert broker.decide(browser, page, csrf=csrf).status_code == 403
    assert all_grants(broker) == []
    assert broker.decide(browser, page).status_code == 303


def test_without_the_session_nothing_is_decided(broker: BrokerServer) -> None:
    with requests.Session() as browser:
        page = broker.open_consent(browser, "calendar.read")
    with requests.Session() as other:
        assert broker.decide(other, page).status_code == 403
    assert all_grants(broker) == []


@pytest.mark.parametrize("seconds", [601, 3600])
def test_a_page_left_open_is_refused(
    broker: BrokerServer, browser: requests.Session, seconds: int
) -> None:
    page = broker.open_consent(browser, "calendar.read")
    broker.clock.advance(seconds)
    assert broker.decide(browser, page).status_code == 403


@pytest.mark.parametrize(
    ("until", "end"),
    [
        ("2027-01-15", 1_800_057_600),
        ("2027-01-16", 1_800_057_600 + DAY),
        ("2027-02-13", 1_800_057_600 + 29 * DAY),
        ("2027-02-14", START + 30 * DAY),
    ],
)
def test_the_person_may_shorten_the_end(broker: BrokerServer, until: str, end: int) -> None:
    assert broker.handle("calendar.read", until=until)["expires_at"] == end


@pytest.mark.parametrize(
    "until", ["", "2027-01-14", "2027-02-15", "9999-12-31", "tomorrow", "2027-02-30", "1800000000"]
)
def test_any_other_day_is_refused_and_the_page_stays_good(
    broker: BrokerServer, browser: requests.Session, until: str
) -> None:
    page = broker.open_consent(browser, "calendar.read")
    assert broker.decide(browser, page, until=until).status_code == 400
    assert all_grants(broker) == []
    assert broker.decide(browser, page).status_code == 303


def test_any_other_decision_is_refused(broker: BrokerServer, browser: requests.Session) -> None:
    page = broker.open_consent(browser, "calendar.read")
    assert broker.decide(browser, page, "maybe").status_code == 400
    assert all_grants(broker) == []


def test_a_disabled_user_decides_nothing(broker: BrokerServer, browser: requests.Session) -> None:
    page = broker.open_consent(browser, "calendar.read")
    with broker.store.write() as connection:
        users.disable(connection, "alice")
    assert broker.decide(browser, page).status_code == 403
    assert all_grants(broker) == []
