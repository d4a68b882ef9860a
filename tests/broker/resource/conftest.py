"""One guarded API and its fake broker, over real HTTP, reset for each test."""

from __future__ import annotations

import pytest

from tests.broker.resource.support import FakeBroker, Guarded, config
from tests.support.mock_world import served


@pytest.fixture(scope="module")
def places():
    fake, guarded = FakeBroker(), Guarded()
    with (
        served(fake.app) as broker_url,
        served(guarded.app(config(introspection_url=broker_url + "/introspect"))) as url,
    ):
        yield fake, guarded, url


@pytest.fixture
def kit(places):
    fake, guarded, _ = places
    fake.__init__()
    guarded.served.clear()
    guarded.refused.clear()
    guarded.now = Guarded.now
    return places
