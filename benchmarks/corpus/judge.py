"""Tries a case at a door and says what was wrong, if anything.

Beside effect and reason of every step: what was not allowed changes nothing at all and gives
nothing back, each step leaves its record with the same decision (and an outcome, where it was
executed), the log verifies, the secrets are as they were, and no answer and no record holds the
canary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from benchmarks.corpus.case import Case, Step
from benchmarks.corpus.doors import Door, Seen
from benchmarks.corpus.world import World, standing
from gateway.record import keys
from gateway.record.disk import Disk
from gateway.record.read import records
from gateway.record.verify import verify

_DECIDING: Final = frozenset({"decision", "denied", "intent"})
_STATUS: Final = {"allow": (0, 1), "deny": (2,), "ask": (3,)}
_STRICT: Final = ("allow", "ask", "deny")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one case at one door; `faults` is empty when all is as it must be.

    `short`: a known shortfall is still there. `loose`: something came out looser than it must.
    """

    case: Case
    door: str
    faults: tuple[str, ...]
    short: bool = False
    loose: bool = False

    @property
    def ok(self) -> bool:
        """As it must be; a known shortfall must still be there."""
        return not self.faults and self.short is (self.case.known is not None)

    @property
    def word(self) -> str:
        """One word for the report."""
        if self.faults:
            return "LOOSE" if self.loose else "WRONG"
        if self.case.known is not None:
            return "known" if self.short else "mended"
        return "blocked" if self.case.kind == "attack" else "allowed"


def judge(case: Case, name: str, door: Callable[[World], AbstractContextManager[Door]]) -> Verdict:
    """Try one case at one door, in a world of its own."""
    faults: list[str] = []
    seen: list[Seen] = []
    with standing(case) as world:
        try:
            with door(world) as ask:
                for number, step in enumerate(case.steps, 1):
                    before = world.picture()
                    seen.append(ask(step, world.fill(dict(step.params))))
                    found = _step(step, seen[-1], world, changed=world.picture() != before)
                    faults += [f"step {number}: {fault}" for fault in found]
        except Exception as error:  # noqa: BLE001 - a door that raises has failed the case
            faults.append(f"the door raised {type(error).__name__}")
        faults += _afterwards(world, seen)
    pairs = list(zip(case.steps, seen, strict=False))
    return Verdict(
        case=case,
        door=name,
        faults=tuple(faults),
        short=any(_got(one) == step.now for step, one in pairs),
        loose=any(_looser(step, one) for step, one in pairs),
    )


def _got(seen: Seen) -> str:
    return f"{seen.decision.get('decision')} {seen.decision.get('reason')}"


def _looser(step: Step, seen: Seen) -> bool:
    got = str(seen.decision.get("decision"))
    return got not in _STRICT or _STRICT.index(got) < _STRICT.index(step.effect)


def _step(step: Step, seen: Seen, world: World, *, changed: bool) -> Iterator[str]:
    got, result = _got(seen), seen.result or {}
    effect = got.partition(" ")[0]
    if got not in {step.wanted, step.now}:
        yield f"{step.tool}: {got}, not {step.wanted} ({seen.decision.get('message')})"
    if step.by is not None and seen.decision.get("rule") != step.by:
        yield f"{step.tool}: by {seen.decision.get('rule')}, not {step.by}"
    if seen.holds(world.canary):
        yield f"{step.tool}: the answer holds a secret"
    if seen.status is not None and seen.status not in _STATUS.get(effect, ()):
        yield f"{step.tool}: {effect}, with exit status {seen.status}"
    if effect != "allow" or step.verb == "check":
        if seen.result is not None:
            yield f"{step.tool}: not executed, and yet there is a result"
        if changed:
            yield f"{step.tool}: not executed, and yet something changed"
        return
    if result.get("status") != "done":
        yield f"{step.tool}: allowed, and ended as {result.get('reason')}"
    if step.gives is not None and result.get("content") != world.fill(step.gives):
        yield f"{step.tool}: gave {result.get('content')!r:.80}, not {step.gives!r:.80}"


def _afterwards(world: World, seen: list[Seen]) -> Iterator[str]:
    if not world.unharmed():
        yield "a secret was changed or is gone"
    if not world.kept():
        yield "what the gate wrote down holds a secret"
    disk = Disk(root=world.places.state_dir)
    made = [one for one in records(disk.log) if "parent_id" not in one]
    said = [
        f"{one.get('effect')} {one.get('reason_code')}" for one in made if one["kind"] in _DECIDING
    ]
    if said != [_got(one) for one in seen]:
        yield f"answered {[_got(one) for one in seen]}, recorded {said}"
    kinds = [one["kind"] for one in made]
    if kinds.count("intent") != kinds.count("outcome"):
        yield f"{kinds.count('intent')} intents and {kinds.count('outcome')} outcomes"
    report = verify(disk.log, disk.head, keys.load_public(world.places.keys / keys.PUBLIC_FILE))
    if report.code:
        yield f"the log does not verify: {report.message}"
