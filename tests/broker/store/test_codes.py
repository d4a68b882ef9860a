"""Codes: redeemed once, by whoever fits every field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker.store import codes
from broker.store.codes import Code

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

FITTING = {"code_hash": "c", "client": "gateway", "redirect_uri": "u", "challenge": "x", "now": 59}


@pytest.fixture
def filled(connection: Connection) -> Connection:
    code = Code(
        hash="c", grant_id="g1", client="gateway", redirect_uri="u", challenge="x", expires_at=60
    )
    codes.add(connection, code)
    return connection


def test_a_code_is_redeemed_once(filled: Connection) -> None:
    assert codes.used_grant(filled, "c") is None
    assert codes.redeem(filled, **FITTING) == "g1"
    assert codes.redeem(filled, **FITTING) is None
    assert codes.used_grant(filled, "c") == "g1"


@pytest.mark.parametrize("name", FITTING)
def test_every_field_must_fit(filled: Connection, name: str) -> None:
    other: object = 60 if name == "now" else "other"
    assert codes.redeem(filled, **FITTING | {name: other}) is None
    assert codes.used_grant(filled, "c") is None
