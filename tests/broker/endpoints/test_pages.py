"""What pages share: the cookie is for https where the broker is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker.app import broker_of, create_app
from tests.support.broker_server import make_config

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("issuer", "secure"), [("https://broker.example", True), ("http://127.0.0.1:8100", False)]
)
def test_the_cookie_is_secure_where_the_issuer_is(
    tmp_path: Path, issuer: str, *, secure: bool
) -> None:
    config = make_config(tmp_path, port=8100, base_urls={})
    app = create_app(config.model_copy(update={"issuer": issuer}))
    answer = app.test_client().get("/grants")
    assert ("Secure" in answer.headers["Set-Cookie"]) is secure
    assert answer.headers["X-Frame-Options"] == "DENY"
    broker_of(app).store.close()
