"""Tokens: minted from a live grant only, found only while everything behind them lives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from broker.store import clients, grants, tokens, users
from broker.store.tokens import DecisionUsedError, TokenRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Connection

ROW = TokenRow(
    hash="t",
    jti="j",
    grant_id="g1",
    epoch=0,
    aud="a",
    scope="s",
    decision_id="d",
    iat=0,
    exp=300,
    claims="{}",
)
ENDS: dict[str, Callable[[Connection], object]] = {
    "grant": lambda connection: grants.revoke(connection, "g1"),
    "user": lambda connection: users.disable(connection, "alice"),
    "client": lambda connection: clients.disable(connection, "gateway"),
}


def find(connection: Connection, audience: str = "a", now: int = 299) -> str | None:
    return tokens.find_active(connection, token_hash="t", audience=audience, now=now)


def test_a_token_is_found_for_its_audience_until_it_expires(connection: Connection) -> None:
    assert tokens.mint(connection, ROW)
    assert find(connection) == "{}"
    assert find(connection, audience="b") is None
    assert find(connection, audience="") is None
    assert find(connection, now=300) is None


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_with_what_stands_behind_it_and_none_is_minted_after(
    connection: Connection, end: str
) -> None:
    assert tokens.mint(connection, ROW)
    ENDS[end](connection)
    assert find(connection) is None
    late = replace(ROW, hash="t2", jti="j2", decision_id="d2")
    assert not tokens.mint(connection, late)


def test_a_grant_of_another_epoch_or_a_nearer_end_mints_nothing(connection: Connection) -> None:
    assert not tokens.mint(connection, replace(ROW, epoch=1))
    assert not tokens.mint(connection, replace(ROW, exp=1001))


def test_a_decision_mints_once(connection: Connection) -> None:
    assert tokens.mint(connection, ROW)
    with pytest.raises(DecisionUsedError):
        tokens.mint(connection, replace(ROW, hash="t2", jti="j2"))


def test_a_client_revokes_its_own_once(connection: Connection) -> None:
    assert tokens.mint(connection, ROW)
    assert tokens.revoke(connection, token_hash="t", client="other", now=1) is None
    assert find(connection) == "{}"
    assert tokens.revoke(connection, token_hash="t", client="gateway", now=1) == "j"
    assert tokens.revoke(connection, token_hash="t", client="gateway", now=1) is None
    assert find(connection) is None
