"""How much a rule lets through: acts, acts in a time, bytes.

The counts are of one user and workspace and come from the log, so that no new session and no
restart begins anew; a person clears them. An act counts when it is intended, under every limited
rule that let one of its resources through; the parts of a compound line count, the line does not,
but what comes out of the line counts under the rules of all its parts.
What an act writes or sends is known before and never passes the limit; what it gets back counts
once it is there, so the act that passes the limit by it is the last. A time in the future (a clock
that was set back) counts as now.
"""

from __future__ import annotations

from gateway.decide.conditions import Condition, Outcome
from gateway.decide.schema import Rate, RuleLimits
from gateway.kit import canon
from gateway.model.request import Caller
from gateway.model.resource import (
    ApiResource,
    McpResource,
    MemoryResource,
    PathResource,
    Resource,
)
from gateway.model.session import SessionState, Usage


def limits(wanted: RuleLimits, rule_id: str) -> Condition:
    """Deny what would pass a limit; never let a later rule decide instead."""
    nothing = Usage()

    def test(resource: Resource, _caller: Caller, state: SessionState) -> Outcome:
        used = state.usage.get(rule_id, nothing)
        if (
            wanted.rate is not None
            and _recent(used, wanted.rate, state.now_us) >= wanted.rate.count
        ):
            return Outcome.RATE
        if wanted.count is not None and used.count >= wanted.count:
            return Outcome.BUDGET
        if wanted.bytes is not None and (
            used.bytes >= wanted.bytes or used.bytes + sent(resource) > wanted.bytes
        ):
            return Outcome.BUDGET
        return Outcome.HOLDS

    return "limits", test


def sent(resource: Resource) -> int:
    """Return how many bytes an act would write or send, as far as that is known before."""
    match resource:
        case PathResource() | MemoryResource():
            return resource.size
        case ApiResource() | McpResource():
            return len(canon.dumps(dict(resource.arguments)))
        case _:
            return 0


def _recent(used: Usage, rate: Rate, now_us: int) -> int:
    since = now_us - rate.seconds * 1_000_000
    return sum(1 for time in used.times if time > since)
