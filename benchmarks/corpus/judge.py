"""Tries a case at a door and says what was wrong, if anything.

Beside effect and reason of every step: each step must have left its record with the same decision,
the log must verify, the secrets must be untouched, and no answer may hold the canary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.corpus.case import Case, Step
from benchmarks.corpus.doors import Door, Seen
from benchmarks.corpus.world import World, standing
from gateway.record import keys
from gateway.record.disk import Disk
from gateway.record.read import records
from gateway.record.verify import verify

_DECIDING: Final = frozenset({"decision", "denied", "intent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one case at one door; `faults` is empty when all is as it must be."""

    case: Case
    door: str
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """As it must be; a known shortfall must still be there."""
        return bool(self.faults) is (self.case.known is not None)

    @property
    def word(self) -> str:
        """One word for the report."""
        if self.case.known is not None:
            return "known" if self.faults else "mended"
        if not self.faults:
            return "blocked" if self.case.kind == "attack" else "allowed"
        return "LET THROUGH" if self.case.kind == "attack" else "IN THE WAY"


def judge(case: Case, name: str, door: Callable[[World], AbstractContextManager[Door]]) -> Verdict:
    """Try one case at one door, in a world of its own."""
    with standing(case) as world:
        before = world.secrets()
        faults: list[str] = []
        try:
            with door(world) as ask:
                for number, step in enumerate(case.steps, 1):
                    seen = ask(step, world.fill(dict(step.params)))
                    faults += [f"step {number}: {fault}" for fault in _step(step, seen, world)]
        except Exception as error:  # noqa: BLE001 - a door that raises has failed the case
            faults.append(f"the door raised {type(error).__name__}")
        faults += _afterwards(case, world, before)
    return Verdict(case=case, door=name, faults=tuple(faults))


def _step(step: Step, seen: Seen, world: World) -> Iterator[str]:
    got = f"{seen.decision.get('decision')} {seen.decision.get('reason')}"
    if got != step.wanted:
        yield f"{step.tool}: {got}, not {step.wanted} ({seen.decision.get('message')})"
    if step.by is not None and seen.decision.get("rule") != step.by:
        yield f"{step.tool}: by {seen.decision.get('rule')}, not {step.by}"
    if world.canary in seen.everything:
        yield f"{step.tool}: the answer holds a secret"
    content = (seen.result or {}).get("content")
    if step.gives is not None and content != world.fill(step.gives):
        yield f"{step.tool}: gave {content!r:.80}, not {step.gives!r:.80}"
    if (
        step.effect == "allow"
        and step.verb == "run"
        and (seen.result or {}).get("status") != "done"
    ):
        yield f"{step.tool}: allowed, and ended as {(seen.result or {}).get('reason')}"


def _afterwards(case: Case, world: World, before: dict[str, Any]) -> Iterator[str]:
    try:
        after = world.secrets()
    except OSError as error:
        after = {"": (type(error).__name__,)}
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield f"touched: {name or 'a secret is gone'}"
    disk = Disk(root=world.places.state_dir)
    made = [one for one in records(disk.log) if "parent_id" not in one]
    said = [
        f"{one.get('effect')} {one.get('reason_code')}" for one in made if one["kind"] in _DECIDING
    ]
    if len(said) != len(case.steps):
        yield f"{len(case.steps)} steps, but {len(said)} records of a decision"
    for number, (step, one) in enumerate(zip(case.steps, said, strict=False), 1):
        if one != step.wanted:
            yield f"step {number}: recorded as {one}, not {step.wanted}"
    report = verify(disk.log, disk.head, keys.load_public(world.places.keys / keys.PUBLIC_FILE))
    if report.code:
        yield f"the log does not verify: {report.message}"
