"""The stage: from a plan to what carries it out; every fault is a result.

Refuses, before anything is recorded, what it cannot carry out: an act without a plan (network,
MCP and memory have no executor yet), an act whose rule demands a sandbox tier, a proxied network
or a redacted result, an API call without a broker.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.execute import files
from gateway.execute.compound import run_compound
from gateway.execute.faults import result_of_fault
from gateway.execute.process import run_command
from gateway.model.action import Action
from gateway.model.decision import Decision
from gateway.model.names import Status
from gateway.model.outcome import Result
from gateway.model.permit import Permit
from gateway.model.plan import (
    CallApi,
    DeleteFile,
    ListDirectory,
    Plan,
    ReadFile,
    RunCommand,
    RunCompound,
    WriteFile,
)
from gateway.model.ports import Settle, Submit

if TYPE_CHECKING:
    from gateway.execute.api import Api  # HTTP and JWT libraries: only where there is a broker

_NOT_STARTED: Final = Result(
    status=Status.NOT_STARTED,
    reason="executor_unavailable",
    message="nothing here can execute this kind of act",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute:
    """The executor of :mod:`gateway.model.ports`; `api` is None without a broker."""

    api: Api | None = None
    monotonic: Callable[[], float] = time.monotonic

    def supports(self, action: Action, decision: Decision) -> str | None:
        """Return None if the act can be carried out, else a reason code."""
        plan = action.plan
        if plan is None or (isinstance(plan, CallApi) and self.api is None):
            return "executor_unavailable"
        owed = decision.obligations
        if owed.min_tier is not None or owed.network != "none":
            return "sandbox_unavailable"
        return "guard_unavailable" if owed.redact else None

    def execute(self, permit: Permit, submit: Submit, settle: Settle) -> Result:
        """Spend the permit and say what came of it; a fault is a result too, never a raise.

        An interrupt goes on to the pipeline, which records it.

        Raises:
            InvariantError: the permit was spent before.
        """
        plan = permit.use().plan
        try:
            return self._carry_out(plan, permit, submit, settle)
        except Exception as fault:  # noqa: BLE001 - the outcome is never lost
            return result_of_fault(fault)

    def _carry_out(
        self, plan: Plan | None, permit: Permit, submit: Submit, settle: Settle
    ) -> Result:
        owed = permit.decision.obligations
        match plan:
            case ReadFile():
                return files.read_file(plan, owed)
            case ListDirectory():
                return files.list_directory(plan, owed)
            case WriteFile():
                return files.write_file(plan, owed)
            case DeleteFile():
                return files.delete_file(plan, owed)
            case RunCommand():
                return run_command(plan, owed, monotonic=self.monotonic)
            case RunCompound():
                return run_compound(plan, permit, submit, settle, monotonic=self.monotonic)
            case CallApi() if self.api is not None:
                return self.api.call(plan, permit)
            case _:
                return _NOT_STARTED
