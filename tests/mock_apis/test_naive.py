"""The insecure API does what its four holes say, and no more than they need."""

from __future__ import annotations

import pytest
import requests

from mock_apis import naive
from tests.support.mock_world import running_naive

CLAIMS = {"sub": "alice", "agent": "demo-agent", "aud": "calendar", "scope": "calendar.read"}


class Clock:
    now = 1000

    def __call__(self):
        return self.now


@pytest.fixture
def place(tmp_path):
    clock = Clock()
    with running_naive(tmp_path, clock) as (url, journal):
        yield url, journal, clock


def post(url, path, body, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return requests.post(url + path, json=body, headers=headers, timeout=20)


def test_any_signed_token_is_access_for_90_days(place):
    url, journal, clock = place
    token = post(url, "/connect", CLAIMS).json()["access_token"]
    clock.now += naive.NINETY_DAYS_S - 1
    assert post(url, "/v1/messages/send", {}, token).ok
    assert (journal.entries()[-1]["sub"], journal.entries()[-1]["effect"]) == (
        "alice",
        "sent message s-1",
    )
    clock.now += 1
    assert post(url, "/v1/messages/send", {}, token).status_code == 401


def test_a_refresh_token_outlives_everything(place):
    url, _, clock = place
    refresh = post(url, "/connect", CLAIMS).json()["refresh_token"]
    post(url, "/disconnect", {"sub": "alice"})
    clock.now += 10 * naive.NINETY_DAYS_S
    token = post(url, "/refresh", {"refresh_token": refresh}).json()["access_token"]
    assert requests.get(
        f"{url}/v1/events", headers={"Authorization": f"Bearer {token}"}, timeout=20
    ).ok


def test_a_sign_in_is_access(place):
    url, _, _ = place
    assert post(url, "/v1/messages/send", {}, post(url, "/sign-in", CLAIMS).json()["id_token"]).ok


def test_the_tool_server_reads_any_mailbox(place):
    url, journal, _ = place
    messages = post(url, "/tools/read_mail", {"user": "bob"}).json()["messages"]
    assert {one["owner"] for one in messages} == {"bob"}
    assert journal.entries()[-1]["operation"] == "tool.read_mail"


def test_it_still_refuses_what_its_own_key_did_not_sign(place):
    """The holes are the four named ones: a forged signature is not among them."""
    url, journal, _ = place
    token = post(url, "/connect", CLAIMS).json()["access_token"]
    for forged in ("", "x", "..", token[:-1], token + "x", "é", token.rpartition(".")[0] + "."):
        headers = {"Authorization": f"Bearer {forged}".encode()}
        assert requests.get(f"{url}/v1/events", headers=headers, timeout=20).status_code == 401
    assert post(url, "/refresh", {"refresh_token": "guessed"}).status_code == 401
    assert {entry["reason"] for entry in journal.entries()} == {"unknown_token"}


@pytest.mark.parametrize(
    "path", ["/connect", "/refresh", "/disconnect", "/sign-in", "/tools/read_mail"]
)
@pytest.mark.parametrize("body", [None, [], {}, {"sub": 1, "user": 1, "refresh_token": 1}])
def test_a_body_without_its_field_is_a_bad_request(place, path, body):
    assert post(place[0], path, body).status_code in {400, 415}


def test_its_journal_holds_no_token(place, tmp_path):
    url, _, _ = place
    answer = post(url, "/connect", CLAIMS).json()
    post(url, "/v1/messages/send", {}, answer["access_token"])
    held = (tmp_path / "naive.jsonl").read_text()
    assert not any(token in held for token in answer.values())
