"""The normalized action: one object that is judged, shown, hashed, approved, recorded, executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gateway.model.names import Json, Operation
from gateway.model.plan import Plan, RunCompound
from gateway.model.resource import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why normalization could not make an act of it; always a deny.

    `reason` is a code of :mod:`gateway.model.reasons`; `message` names what was refused and what
    would be accepted, safe to show to a model (no file content, no secret).
    """

    reason: str
    message: str


def _nothing() -> None:
    """Release nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An act as it really is.

    `operation`: `unknown` when normalization cannot name it.
    `normalized`: canonical JSON picture without secrets' values beyond what was asked; it is what
    a person is shown, and `digest` is over it (`sha256:<hex>`, :func:`gateway.kit.canon.digest`).
    `resources`: every resource, each judged alone. A refused action still lists the paths it
    named (by spelling), so that naming a protected one taints.
    `plan`: None when refused or when no executor exists for it.
    `release`: closes the descriptors of the plan; safe to call more than once.
    """

    tool: str
    operation: Operation
    normalized: Mapping[str, Json]
    digest: str
    resources: tuple[Resource, ...] = ()
    refusal: Refusal | None = None
    plan: Plan | None = None
    request_id: str | None = None
    release: Callable[[], None] = field(default=_nothing, compare=False, repr=False)

    @classmethod
    def unjudged(cls, tool: str, refusal: Refusal) -> Action:
        """Return the act of a request that could not even be normalized; it names nothing."""
        return cls(
            tool=tool, operation=Operation.UNKNOWN, normalized={}, digest="", refusal=refusal
        )

    def covers(self, part: Action) -> bool:
        """Whether `part` is, unchanged, one of the segments this line was judged as."""
        plan = self.plan
        return isinstance(plan, RunCompound) and any(
            segment.digest == part.digest for segment in plan.segments
        )
