"""What the log says about a session's past; the input of a decision beside action and policy."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.model.names import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """State of one scope (user and workspace), computed by replaying the log.

    `version` changes whenever taint or suspension changes; an intent is recorded only if the
    version is still the one the decision saw. `sources` maps each taint to the action id that
    first caused it.
    """

    version: int = 0
    taint: frozenset[Taint] = frozenset()
    suspended: bool = False
    sources: tuple[tuple[str, str], ...] = ()
