"""The executor of mode dry-run refuses, and does nothing even when it is reached."""

from __future__ import annotations

from gateway.execute.dry_run import DryRun
from gateway.model.names import Status
from tests.gateway.execute.permits import permit


def test_it_refuses_and_does_nothing() -> None:
    given = permit(None)
    assert DryRun().supports(given.action, given.decision) == "dry_run"
    result = DryRun().execute(given, None, None)
    assert (result.status, result.reason) == (Status.NOT_STARTED, "dry_run")
