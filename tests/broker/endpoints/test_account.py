"""A person's own grants: seen, revoked, never another's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import requests

from tests.support.broker_server import hidden_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.broker_server import BrokerServer


@pytest.fixture
def browser() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


def home(broker: BrokerServer, browser: requests.Session, user: str = "alice") -> str:
    page = browser.get(f"{broker.url}/grants", timeout=30)
    return broker.log_in(browser, page, user) if 'action="/login"' in page.text else page.text


def revoke(
    broker: BrokerServer, browser: requests.Session, form: dict[str, str]
) -> requests.Response:
    return browser.post(f"{broker.url}/grants/revoke", data=form, timeout=30)


def test_the_page_lists_a_grant_and_its_button_kills_live_tokens(
    broker: BrokerServer, browser: requests.Session
) -> None:
    handle = broker.handle("calendar.read", purpose="<i>why</i>")["access_token"]
    token = broker.exchange(handle, "calendar.read").json()["access_token"]
    page = home(broker, browser)
    for shown in (
        "demo-agent",
        "gateway",
        "calendar.read",
        "&lt;i&gt;why",
        "active, until 2027-02-14",
    ):
        assert shown in page
    assert handle not in page
    after = revoke(broker, browser, hidden_fields(page))
    assert "revoked, until" in after.text
    assert "/grants/revoke" not in after.text
    assert broker.introspect(token, "calendar-api") == {"active": False}
    assert broker.exchange(handle, "calendar.read").status_code == 400


def test_another_persons_grant_is_neither_shown_nor_revoked(
    broker: BrokerServer, browser: requests.Session
) -> None:
    answer = broker.handle("calendar.read")
    broker.add_user("bob")
    page = home(broker, browser, "bob")
    assert "Nothing yet." in page
    form = {"csrf": hidden_fields(page)["csrf"], "grant": answer["grant_id"]}
    assert revoke(broker, browser, form).status_code == 200
    assert broker.exchange(answer["access_token"], "calendar.read").status_code == 200


@pytest.mark.parametrize("csrf", ["", "0" * 64])
def test_a_forged_revocation_is_refused(
    broker: BrokerServer, browser: requests.Session, csrf: str
) -> None:
    answer = broker.handle("calendar.read")
    home(broker, browser)
    form = {"csrf": csrf, "grant": answer["grant_id"]}
    assert revoke(broker, browser, form).status_code == 403
    assert revoke(broker, browser, {"grant": answer["grant_id"]}).status_code == 403
    assert broker.exchange(answer["access_token"], "calendar.read").status_code == 200


def test_an_expired_grant_says_so(broker: BrokerServer, browser: requests.Session) -> None:
    broker.handle("calendar.read", until="2027-01-15")
    broker.clock.advance(2 * 86_400)
    page = home(broker, browser)
    assert re.search(r"expired, until 2027-01-16 00:00 UTC", page)
