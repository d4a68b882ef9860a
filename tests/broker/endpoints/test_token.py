"""`/token` over HTTP: two grant types, for gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker.grants.token_exchange import GRANT_TYPE

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


@pytest.mark.parametrize(
    "grant_type",
    ["", "refresh_token", "client_credentials", "password", GRANT_TYPE.upper(), GRANT_TYPE + " "],
)
def test_there_is_no_other_grant_type(shared: BrokerServer, grant_type: str) -> None:
    answer = shared.post("/token", {"grant_type": grant_type})
    assert (answer.status_code, answer.json()["error"]) == (400, "unsupported_grant_type")


def test_the_grant_type_is_required(shared: BrokerServer) -> None:
    assert shared.post("/token", {}).json()["error"] == "invalid_request"


@pytest.mark.parametrize("grant_type", ["authorization_code", GRANT_TYPE, ""])
def test_a_resource_server_is_given_nothing(shared: BrokerServer, grant_type: str) -> None:
    answer = shared.post("/token", {"grant_type": grant_type}, shared.servers["mail-api"])
    assert (answer.status_code, answer.json()["error"]) == (400, "unauthorized_client")
