"""A compound line: every segment comes back onto the road before its pipeline starts.

The line is taken pipeline by pipeline. All segments of a pipeline are submitted first; if one is
denied, or is no longer the act that was judged, nothing of that pipeline is started and the line
ends there, whatever joins the rest: a denial is not an exit status. A pipeline that `&&` or `||`
skips is not submitted. The exit status of a pipeline is that of its last command.

Time and output limits are those of the whole line; a segment's own may only be tighter. The result
is the standard output of each pipeline in order, then what all commands wrote to standard error.
`done` means that the line ran to its end; `segments` says what became of each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from gateway.execute.faults import result_of_fault
from gateway.execute.process import result_of, verify
from gateway.execute.running import Limits, run_pipeline
from gateway.model.names import Json, Status
from gateway.model.outcome import Answer, Result
from gateway.model.permit import Permit
from gateway.model.plan import RunCommand, RunCompound, Segment
from gateway.model.ports import Settle, Submit
from gateway.model.request import ActionRequest

_CHANGED: Final = "a part of the line is no longer what was decided; it was not started"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A segment that was permitted: its permit and its plan."""

    permit: Permit
    plan: RunCommand


class _Stop(Exception):  # noqa: N818 - the line ends here
    """Nothing more of the line is run."""

    def __init__(self, reason: str, message: str, status: Status) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message
        self.status = status


@dataclass(slots=True, kw_only=True)
class _Line:
    """A line while it runs."""

    permit: Permit
    submit: Submit
    settle: Settle
    deadline: float
    room: int
    monotonic: Callable[[], float]
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    segments: list[dict[str, Json]] = field(default_factory=list)
    started: bool = False
    withheld: Result | None = None

    def run(self, group: Sequence[Segment]) -> int:
        """Submit, check, run and settle one pipeline; return its exit status."""
        parts = self._permitted(group)
        try:
            results = self._results(parts)
        except BaseException as error:  # every part gets an outcome, also of an interrupt
            fault = result_of_fault(error)
            self._settle(parts, [fault] * len(parts))
            if not isinstance(error, Exception):
                raise
            raise self._stop(fault.reason, fault.message, fault.status) from None
        self._settle(parts, [result for result, _ in results])
        if self.withheld is not None:  # a part that cannot be recorded gives nothing away
            self.stdout.clear()
            self.stderr.clear()
            raise _Stop(self.withheld.reason, self.withheld.message, Status.UNKNOWN)
        for result, _ in results:
            if result.status is Status.UNKNOWN or result.reason in {"timeout", "output_limit"}:
                raise _Stop(result.reason, result.message, result.status)
        return results[-1][1]

    def _permitted(self, group: Sequence[Segment]) -> list[_Part]:
        parts: list[_Part] = []
        for segment in group:
            params: dict[str, Json] = {"argv": list(segment.argv), "cwd": segment.cwd}
            answer = self.submit(ActionRequest(tool="shell.run", params=params), self.permit)
            if isinstance(answer, Answer):
                self._not_run(parts)
                decision = answer.decision
                self.segments.append({"denied": decision.reason, "rule": decision.rule})
                raise self._stop(decision.reason, decision.message)
            action = answer.use()
            if action.digest != segment.digest or not isinstance(action.plan, RunCommand):
                self._not_run(parts)
                self._end(answer, _not_started("changed_since_decision", _CHANGED))
                raise self._stop("changed_since_decision", _CHANGED)
            parts.append(_Part(permit=answer, plan=action.plan))
        return parts

    def _results(self, parts: Sequence[_Part]) -> list[tuple[Result, int]]:
        for part in parts:
            verify(part.plan)
        owed = [part.permit.decision.obligations for part in parts]
        now = self.monotonic()
        limits = Limits(
            output_bytes=min(self.room, *(one.read_bytes for one in owed)),
            deadline=min(self.deadline, *(now + one.call_timeout_s for one in owed)),
            monotonic=self.monotonic,
        )
        ended = run_pipeline([part.plan for part in parts], limits)
        self.started = True
        self.stdout += ended.stdout
        self.stderr += b"".join(ended.stderr)
        self.room -= len(ended.stdout) + sum(map(len, ended.stderr))
        results = []
        for part, ending, errors in zip(parts, ended.endings, ended.stderr, strict=True):
            content = ended.stdout + errors if part is parts[-1] else errors
            result = result_of(part.plan, ending, content, ended.stopped)
            results.append((result, ending.status))
        return results

    def _settle(self, parts: Sequence[_Part], results: Sequence[Result]) -> None:
        for part, result in zip(parts, results, strict=True):
            self._end(part.permit, result)

    def _not_run(self, parts: Sequence[_Part]) -> None:
        message = "another part of its pipeline was not permitted"
        self._settle(parts, [_not_started("not_run", message)] * len(parts))

    def _end(self, permit: Permit, result: Result) -> None:
        seen = self.settle(permit, result).result
        seen = result if seen is None else seen
        self.segments.append({"status": str(seen.status), "reason": seen.reason, **result.data})
        if seen.status is Status.UNKNOWN and result.status is not Status.UNKNOWN:
            self.withheld = seen

    def _stop(self, reason: str, message: str, status: Status = Status.NOT_STARTED) -> _Stop:
        """End the line; a line of which a part has run is not `not_started`."""
        if status is Status.NOT_STARTED and self.started:
            status = Status.FAILED
        return _Stop(reason, message, status)


def run_compound(
    plan: RunCompound,
    permit: Permit,
    submit: Submit,
    settle: Settle,
    *,
    monotonic: Callable[[], float] = time.monotonic,
) -> Result:
    """Run a line to its end, or to the first part that may not or cannot be run."""
    owed = permit.decision.obligations
    line = _Line(
        permit=permit,
        submit=submit,
        settle=settle,
        deadline=monotonic() + owed.call_timeout_s,
        room=owed.read_bytes,
        monotonic=monotonic,
    )
    status = 0
    stop: _Stop | None = None
    try:
        for joiner, group in _pipelines(plan.segments):
            if (joiner == "&&" and status != 0) or (joiner == "||" and status == 0):
                line.segments += [{"reason": "not_run"} for _ in group]
            else:
                status = line.run(group)
    except _Stop as found:
        stop = found
    data: dict[str, Json] = {"segments": line.segments}
    if stop is None:
        data["exit_code"] = status
    return Result(
        status=Status.DONE if stop is None else stop.status,
        content=bytes(line.stdout + line.stderr),
        data=data,
        reason=("exit_status" if status else "done") if stop is None else stop.reason,
        message="" if stop is None else stop.message,
        truncated=stop is not None and line.started,
    )


def _pipelines(
    segments: Sequence[Segment],
) -> list[tuple[Literal["&&", "||", "|", ";"] | None, list[Segment]]]:
    """Return the pipelines of a line, each with what joins it to the one before."""
    groups: list[tuple[Literal["&&", "||", "|", ";"] | None, list[Segment]]] = []
    for segment in segments:
        if segment.joiner == "|" and groups:
            groups[-1][1].append(segment)
        else:
            groups.append((segment.joiner, [segment]))
    return groups


def _not_started(reason: str, message: str) -> Result:
    return Result(status=Status.NOT_STARTED, reason=reason, message=message)
