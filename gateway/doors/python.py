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

from functools import partial
from typing import Literal

from gateway.assembly.build import options_from
from gateway.doors.deny import standing_deny
from gateway.errors import CounterfoilError, InvariantError
from gateway.kit import faults
from gateway.kit.closing import Closing
from gateway.link.link import InProcess, connect
from gateway.model.decision import Decision
from gateway.model.names import Json
from gateway.model.outcome import Answer, Reloaded
from gateway.model.request import ActionRequest


class Guard(Closing):
    """A gate for one Python process. Not safe for use from several threads at once.

    Args:
        policy: a policy file; it may only narrow a registered one, and is used as it is when none
            is registered.
        config, state_dir: absolute paths that replace the default places.
        approver: `terminal` asks on the controlling terminal; `none` lets every ask end as
            `approval_unavailable`.
        dry_run: decide and record as ever, and execute nothing.
    """

    def __init__(
        self,
        *,
        policy: str | None = None,
        config: str | None = None,
        state_dir: str | None = None,
        approver: Literal["terminal", "none"] = "terminal",
        dry_run: bool = False,
    ) -> None:
        self._link: InProcess | None = None
        self._fault: CounterfoilError | None = None
        self._closed = False
        self._options = partial(
            options_from,
            door="python",
            policy=policy,
            config=config,
            state_dir=state_dir,
            approver=approver,
            dry_run=dry_run,
        )
        self._open()

    def _open(self) -> InProcess | None:
        try:
            self._link, self._fault = connect(self._options()), None
        except CounterfoilError as error:
            self._fault = error
        except Exception as error:  # noqa: BLE001 - an exception is a deny
            self._fault = InvariantError(f"{faults.code(error)}: {faults.said(error)}")
        return self._link

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

    def reload(self) -> Reloaded:
        """Take configuration and policies anew, in the same session.

        When the new cannot stand, the old goes on. Either way the log says so. A guard that could
        not be opened is opened now, if it can be; a closed one stays closed.
        """
        if self._link is not None:
            return self._link.reload()
        link = None if self._closed else self._open()
        if link is not None:
            return Reloaded(ok=True, digest=link.digest)
        deny = standing_deny(ActionRequest(tool="", params={}), self._fault).decision
        return Reloaded(ok=False, digest="", reason=deny.reason, message=deny.message)

    def close(self) -> None:
        """Give everything back; the log is synced. Safe to call twice; a closed guard denies."""
        link, self._link = self._link, None
        self._closed = True
        self._fault = InvariantError("the guard is closed; open another")
        if link is not None:
            link.close()
