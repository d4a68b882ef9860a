"""The executor of mode dry-run: it carries nothing out, whatever reaches it."""

from __future__ import annotations

from gateway.model.action import Action
from gateway.model.decision import Decision
from gateway.model.names import Status
from gateway.model.outcome import Result
from gateway.model.permit import Permit
from gateway.model.ports import Settle, Submit
from gateway.model.reasons import REASONS


class DryRun:
    """Implements the executor port of :mod:`gateway.model.ports`."""

    def supports(self, action: Action, decision: Decision) -> str | None:  # noqa: ARG002
        """Refuse before anything is recorded as intended."""
        return "dry_run"

    def execute(self, permit: Permit, submit: Submit, settle: Settle) -> Result:  # noqa: ARG002
        """Spend the permit and do nothing."""
        permit.use()
        return Result(status=Status.NOT_STARTED, reason="dry_run", message=REASONS["dry_run"])
