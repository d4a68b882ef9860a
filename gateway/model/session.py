"""What the log says about a session's past; the input of a decision beside action and policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.model.names import Taint

MAX_RATE: Final = 1000
"""How many times of acts are kept for each limited rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a limited rule has let through since it was last cleared.

    `count`: acts. `bytes`: written, sent and got back. `times`: of the last acts, wall time in us.
    """

    count: int = 0
    bytes: int = 0
    times: tuple[int, ...] = ()

    def with_act(self, size: int, at_us: int | None) -> Usage:
        """Return it with one act more, which wrote or sent `size` bytes."""
        times = self.times if at_us is None else (*self.times, at_us)[-MAX_RATE:]
        return Usage(count=self.count + 1, bytes=self.bytes + size, times=times)

    def with_bytes(self, size: int) -> Usage:
        """Return it with bytes that an act got back."""
        return Usage(count=self.count, bytes=self.bytes + size, times=self.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """State of one scope (user and workspace), computed by replaying the log.

    `version` changes whenever taint, suspension or usage changes; an intent is recorded only if
    the version is still the one the decision saw. `sources` maps each taint to the action id that
    first caused it. `usage` is by the id of a rule with limits. `now_us` is the wall time at which
    the state was asked for, in us.
    """

    version: int = 0
    taint: frozenset[Taint] = frozenset()
    suspended: bool = False
    sources: tuple[tuple[str, str], ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict)
    now_us: int = field(default=0, compare=False)
