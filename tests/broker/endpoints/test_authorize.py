"""`/authorize` over HTTP: login leads back to the very request; posts are strict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import requests

from tests.support.broker_server import hidden_fields

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


def test_login_leads_back_to_the_very_request(broker: BrokerServer) -> None:
    query = broker.authorize_query("calendar.read mail.send", purpose="a&b=c ü %41")
    with requests.Session() as browser:
        page = browser.get(f"{broker.url}/authorize", params=query, timeout=30)
        assert 'action="/login"' in page.text
        consent = broker.log_in(browser, page, "alice")
        assert "“a&amp;b=c ü %41”" in consent
        again = browser.get(f"{broker.url}/authorize", params=query, timeout=30)
        assert "Allow agent" in again.text


def test_a_post_is_read_strictly(broker: BrokerServer) -> None:
    with requests.Session() as browser:
        page = broker.open_consent(browser, "calendar.read")
        form = hidden_fields(page) | {"decision": "allow", "until": "2027-01-20"}
        url = f"{broker.url}/authorize"
        twice = [*form.items(), ("decision", "deny")]
        for answer in (
            browser.post(url, data=twice, timeout=30),
            browser.post(f"{url}?decision=allow", data=form, timeout=30),
            browser.post(url, json=form, timeout=30),
        ):
            assert answer.status_code == 400
            assert "Refused" in answer.text
