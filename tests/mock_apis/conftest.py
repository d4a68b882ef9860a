"""Fixtures of the mock APIs' tests."""

from __future__ import annotations

import pytest

from tests.support.mock_world import running_gate, running_naive, running_world


@pytest.fixture
def world(tmp_path):
    with running_world(tmp_path) as one:
        yield one


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One world for the tests of a module that leave clock and grants alone."""
    with running_world(tmp_path_factory.mktemp("world")) as one:
        yield one


@pytest.fixture(scope="module")
def handle(shared):
    scopes = "calendar.read calendar.write mail.read mail.send mail.delete files.read files.write"
    return shared.broker.handle(scopes)["access_token"]


@pytest.fixture
def gate(world):
    with running_gate(world, "calendar.read mail.read mail.send") as one:
        yield one


@pytest.fixture(scope="module")
def shared_gate(shared):
    """A gateway before the shared world, for tests that leave clock and grants alone."""
    with running_gate(shared, "calendar.read mail.read mail.send") as one:
        yield one


@pytest.fixture
def naive(tmp_path, world):
    with running_naive(tmp_path, world.broker.clock) as one:
        yield one
