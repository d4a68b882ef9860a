"""The code: once, in its minute, by its client, with its verifier and redirect URI."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from broker.store import grants
from tests.support.broker_server import REDIRECT_URI, VERIFIER, Party

if TYPE_CHECKING:
    import requests

    from tests.support.broker_server import BrokerServer


def refused(answer: requests.Response, error: str = "invalid_grant") -> bool:
    return answer.status_code == 400 and answer.json()["error"] == error


def test_a_second_use_is_refused_and_revokes_what_the_first_yielded(broker: BrokerServer) -> None:
    code = broker.code("calendar.read")
    handle = broker.redeem(code).json()["access_token"]
    token = broker.exchange(handle, "calendar.read").json()["access_token"]
    assert broker.introspect(token, "calendar-api")["active"]
    assert refused(broker.redeem(code))
    assert broker.introspect(token, "calendar-api") == {"active": False}
    assert refused(broker.exchange(handle, "calendar.read"), "invalid_request")


def test_many_redemptions_at_once_have_one_winner(broker: BrokerServer) -> None:
    code = broker.code("calendar.read")
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: broker.redeem(code), range(50)))
    assert sum(answer.status_code == 200 for answer in answers) == 1
    assert sum(refused(answer) for answer in answers) == 49


def test_a_code_is_good_for_a_minute(broker: BrokerServer) -> None:
    code = broker.code("calendar.read")
    broker.clock.advance(60)
    assert refused(broker.redeem(code))
    code = broker.code("calendar.read")
    broker.clock.advance(59)
    assert broker.redeem(code).status_code == 200


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_grant"),
        ({"code_verifier": "v" * 42}, "invalid_grant"),
        ({"code_verifier": "v" * 129}, "invalid_grant"),
        ({"code_verifier": VERIFIER + " "}, "invalid_grant"),
        ({"redirect_uri": REDIRECT_URI + "/"}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:9/callback"}, "invalid_grant"),
        ({"redirect_uri": ""}, "invalid_grant"),
        ({"code": ""}, "invalid_grant"),
        ({"code": "x" * 43}, "invalid_grant"),
        ({"grant_type": ""}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
    ids=str,
)
def test_any_other_redemption_is_refused_and_leaves_the_code_good(
    broker: BrokerServer, changes: dict[str, str], error: str
) -> None:
    code = broker.code("calendar.read")
    assert refused(broker.redeem(code, **{"code": code} | changes), error)
    assert broker.redeem(code).status_code == 200


@pytest.mark.parametrize("field", ["grant_type", "code", "redirect_uri", "code_verifier"])
def test_every_field_is_required(shared: BrokerServer, field: str) -> None:
    form = {"grant_type": "authorization_code", "code": "x", "redirect_uri": REDIRECT_URI}
    form |= {"code_verifier": VERIFIER}
    del form[field]
    assert refused(shared.post("/token", form), "invalid_request")


def test_the_plain_verifier_is_no_way_around(broker: BrokerServer) -> None:
    challenge = broker.authorize_query("calendar.read")["code_challenge"]
    assert refused(broker.redeem(broker.code("calendar.read"), code_verifier=challenge))


def test_another_client_cannot_use_a_stolen_code(broker: BrokerServer) -> None:
    thief = Party("thief")
    broker.add_client(thief)
    form = {"grant_type": "authorization_code", "redirect_uri": REDIRECT_URI}
    form |= {"code": broker.code("calendar.read"), "code_verifier": VERIFIER}
    assert refused(broker.post("/token", form, thief))


def test_a_grant_revoked_before_redemption_yields_no_handle(broker: BrokerServer) -> None:
    code = broker.code("calendar.read")
    with broker.store.write() as connection:
        (grant,) = grants.all_grants(connection)
        assert grant.status == "pending"
        assert grants.revoke(connection, grant.id)
    assert refused(broker.redeem(code))
