"""Sealing: opens with its key, in its place, and nowhere else."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from broker.app import SEAL_KEY_FILE
from broker.config import write_private
from broker.errors import ConfigError, StoreError
from broker.store.schema import grants
from broker.store.sealed import Sealer, load_sealer
from broker.tokens.keys import b64url

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.broker_server import BrokerServer


def test_a_sealed_value_opens_in_its_place_only() -> None:
    key = secrets.token_bytes(32)
    sealed = Sealer(key).seal("secret", grant_id="g1", random=secrets.token_bytes)
    assert b"secret" not in sealed
    assert Sealer(key).open(sealed, grant_id="g1") == "secret"
    flipped = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for sealer, value, grant in (
        (Sealer(key), sealed, "g2"),
        (Sealer(key), flipped, "g1"),
        (Sealer(key), sealed[:5], "g1"),
        (Sealer(key), b"", "g1"),
        (Sealer(secrets.token_bytes(32)), sealed, "g1"),
    ):
        with pytest.raises(StoreError, match=grant):
            sealer.open(value, grant_id=grant)


def test_consent_seals_an_upstream_token_that_no_answer_holds(broker: BrokerServer) -> None:
    answer = broker.handle("calendar.read")
    query = select(grants.c.id, grants.c.upstream_sealed, grants.c.upstream_key)
    with broker.store.read() as connection:
        row = connection.execute(query).one()
    sealer = load_sealer(broker.folder / "broker-keys" / SEAL_KEY_FILE)
    assert row.upstream_key == sealer.key_id
    opened = sealer.open(row.upstream_sealed, grant_id=row.id)
    assert opened in {b64url(value) for value in broker.random.secrets}
    assert opened not in str(answer)


def test_a_key_of_another_size_is_refused(tmp_path: Path) -> None:
    write_private(tmp_path / "k", b"short")
    with pytest.raises(ConfigError, match="5 bytes"):
        load_sealer(tmp_path / "k")
