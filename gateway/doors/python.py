"""The Python door: `Guard`.

    from gateway import Guard

    with Guard() as guard:
        answer = guard.call("fs.read", path="notes/today.md")
        if answer.ok:
            print(answer.result.content.decode())

`check` decides without executing; `call` goes the whole road. Both return values; neither raises
for what a policy decides. When the gate itself cannot stand (no keys, a broken policy, a log that
cannot be written) the answer is a deny with that reason. What a caller writes into `actor` or
`session` is a claim and judges nothing.
"""

from __future__ import annotations

from typing import Literal

from gateway.assembly.build import Options, options_from
from gateway.doors.deny import standing_deny
from gateway.errors import CounterfoilError, InvariantError
from gateway.kit import faults
from gateway.kit.closing import Closing
from gateway.link.link import InProcess, connect
from gateway.model.decision import Decision
from gateway.model.names import Json
from gateway.model.outcome import Answer
from gateway.model.request import ActionRequest


class Guard(Closing):
    """A gate for one Python process. Not safe for use from several threads at once.

    Args:
        policy: a policy file; it may only narrow a registered one, and is used as it is when none
            is registered.
        config, state_dir: absolute paths that replace the default places.
        approver: `terminal` asks on the controlling terminal; `none` lets every ask end as
            `approval_unavailable`.
    """

    def __init__(
        self,
        *,
        policy: str | None = None,
        config: str | None = None,
        state_dir: str | None = None,
        approver: Literal["terminal", "none"] = "terminal",
    ) -> None:
        self._link: InProcess | None = None
        self._fault: CounterfoilError | None = None
        try:
            self._link = connect(self._options(policy, config, state_dir, approver))
        except CounterfoilError as error:
            self._fault = error
        except Exception as error:  # noqa: BLE001 - an exception is a deny
            self._fault = InvariantError(f"{faults.code(error)}: {faults.said(error)}")

    @staticmethod
    def _options(
        policy: str | None, config: str | None, state_dir: str | None, approver: str
    ) -> Options:
        return options_from(
            door="python", policy=policy, config=config, state_dir=state_dir, approver=approver
        )

    def check(self, tool: str, params: dict[str, Json] | None = None, /, **more: Json) -> Decision:
        """Decide an act and record the decision; ask nobody, execute nothing."""
        request = ActionRequest(tool=tool, params={**(params or {}), **more})
        if self._link is None:
            return standing_deny(request, self._fault).decision
        return self._link.check(request).decision

    def call(self, tool: str, params: dict[str, Json] | None = None, /, **more: Json) -> Answer:
        """Decide an act and, if it is allowed, execute it."""
        request = ActionRequest(tool=tool, params={**(params or {}), **more})
        if self._link is None:
            return standing_deny(request, self._fault)
        return self._link.run(request)

    def close(self) -> None:
        """Give everything back; the log is synced. Safe to call twice; a closed guard denies."""
        link, self._link = self._link, None
        if link is not None:
            self._fault = InvariantError("the guard is closed; open another")
            link.close()
