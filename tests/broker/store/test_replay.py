"""Identifiers count once, per kind, until they may be forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.store import replay

if TYPE_CHECKING:
    from tests.support.broker_server import BrokerServer


def test_an_identifier_counts_once_per_kind(shared: BrokerServer) -> None:
    with shared.store.write() as connection:
        for kind in ("one", "two"):
            assert replay.consume(connection, kind=kind, key="a", exp=10, now=0)
            assert not replay.consume(connection, kind=kind, key="a", exp=10, now=10)
        assert replay.consume(connection, kind="one", key="a", exp=30, now=11)


def test_an_assertion_stays_used_as_long_as_it_could_verify(broker: BrokerServer) -> None:
    assertion = broker.assertion(broker.gateway)
    form = {"client_assertion": assertion, "token": "x"}
    assert broker.post("/introspect", form).status_code == 200
    for seconds in (30, 30, 4, 1, 1):
        broker.clock.advance(seconds)
        assert broker.post("/introspect", form).status_code == 401
