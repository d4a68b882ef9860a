"""`/revoke` over HTTP: authenticated callers with a token, nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


def test_callers_must_authenticate(shared: BrokerServer) -> None:
    answer = requests.post(f"{shared.url}/revoke", data={"token": "x"}, timeout=30)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


def test_a_token_is_required(shared: BrokerServer) -> None:
    answer = shared.post("/revoke", {})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert shared.post("/revoke", {"token": "x"}).headers["Cache-Control"] == "no-store"
