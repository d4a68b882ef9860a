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
