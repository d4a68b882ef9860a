"""Fixtures of the broker's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.broker_server import BrokerServer, running_broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerServer]:
    """A fresh broker for one test."""
    with running_broker(tmp_path) as server:
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerServer]:
    """One broker for a module whose tests do not change it; its clock stands still."""
    with running_broker(tmp_path_factory.mktemp("broker")) as server:
        yield server


@pytest.fixture(scope="module")
def handle(shared: BrokerServer) -> str:
    """A handle at `shared` for calendar.read, mail.send, mail.delete and files.read."""
    answer = shared.handle("calendar.read mail.send mail.delete files.read")
    found: str = answer["access_token"]
    return found
