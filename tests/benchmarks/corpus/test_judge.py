"""The judge notices every way in which a gate could fail a case: a test that cannot fail is none."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.corpus.case import Case, Step, load
from benchmarks.corpus.doors import DOORS, Door, Seen
from benchmarks.corpus.judge import judge
from benchmarks.corpus.world import World, standing

CASES = {case.id: case for case in load()}
ATTACK, BENIGN = CASES["path-secret"], CASES["path-plain"]
Opener = Callable[[World], Any]


def changed(alter: Callable[[World, Step, Seen], Seen]) -> Opener:
    """Return the real Python door with answers that were altered."""

    @contextmanager
    def opened(world: World) -> Iterator[Door]:
        with DOORS["python"](world) as ask:
            yield lambda step, params: alter(world, step, ask(step, params))

    return opened


def with_decision(seen: Seen, **more: str) -> Seen:
    return Seen(decision={**seen.decision, **more}, result=seen.result)


def acting(do: Callable[[World], object]) -> Any:
    """Return an alteration that does something in the world and leaves the answer."""

    def alter(world: World, _step: Step, seen: Seen) -> Seen:
        do(world)
        return seen

    return alter


def forget(world: World) -> None:
    for path in (world.top / "state/log").glob("*.jsonl"):
        path.write_bytes(b"")


def encoded(world: World) -> dict[str, str]:
    return {"content_base64": base64.b64encode(world.canary.encode()).decode()}


@pytest.mark.parametrize(
    ("alter", "word", "fault"),
    [
        (lambda _w, _s, seen: with_decision(seen, decision="allow"), "LOOSE", "not deny fs_protected"),
        (lambda _w, _s, seen: with_decision(seen, decision="maybe"), "LOOSE", "not deny fs_protected"),
        (lambda _w, _s, seen: with_decision(seen, reason="rule_match"), "WRONG", "deny rule_match, not"),
        (lambda _w, _s, seen: with_decision(seen, rule="other"), "WRONG", "by other, not builtin"),
        (lambda w, _s, seen: with_decision(seen, message=w.canary), "WRONG", "the answer holds"),
        (lambda w, _s, seen: replace(seen, said=w.canary), "WRONG", "the answer holds"),
        (lambda w, _s, seen: replace(seen, result=encoded(w)), "WRONG", "the answer holds"),
        (lambda _w, _s, seen: replace(seen, result={"status": "done"}), "WRONG", "there is a result"),
        (lambda _w, _s, seen: replace(seen, status=0), "WRONG", "deny, with exit status 0"),
        (acting(lambda w: os.utime(w.workspace / ".env")), "WRONG", "something changed"),
        (acting(lambda w: (w.workspace / "src/app.py").write_text("x")), "WRONG", "something changed"),
        (acting(lambda w: (w.workspace / "out/new").touch()), "WRONG", "something changed"),
        (acting(lambda w: (w.workspace / ".git/hooks").mkdir(parents=True)), "WRONG", "something changed"),
        (acting(lambda w: (w.top / "outside/plain.txt").write_text("x")), "WRONG", "something changed"),
        (acting(lambda w: (w.top / "gate/config.yaml").write_text("x")), "WRONG", "something changed"),
        (acting(lambda w: (w.workspace / "vault/token").unlink()), "WRONG", "changed or is gone"),
        (acting(lambda w: (w.top / "state/x").write_text(w.canary)), "WRONG", "wrote down holds"),
        (acting(forget), "WRONG", "the door raised"),
        (acting(forget), "WRONG", "the log does not verify"),
    ],
)  # fmt: skip
def test_a_gate_that_fails_is_noticed(alter: Any, word: str, fault: str) -> None:
    verdict = judge(ATTACK, "altered", changed(alter))
    assert (verdict.ok, verdict.word) == (False, word)
    assert any(fault in one for one in verdict.faults), verdict.faults


def test_a_door_that_does_not_ask_leaves_no_record() -> None:
    @contextmanager
    def silent(_world: World) -> Iterator[Door]:
        answer = {"decision": "deny", "reason": "fs_protected", "rule": "builtin:protected"}
        yield lambda _step, _params: Seen(decision=answer)

    verdict = judge(ATTACK, "silent", silent)
    assert verdict.faults[0] == "answered ['deny fs_protected'], recorded []"


def test_a_gate_in_the_way_is_noticed() -> None:
    verdict = judge(BENIGN, "x", changed(lambda _w, _s, seen: with_decision(seen, decision="deny")))
    assert (verdict.ok, verdict.word) == (False, "WRONG")
    empty = changed(lambda _w, _s, seen: Seen(decision=seen.decision, result=None))
    assert any("ended as None" in fault for fault in judge(BENIGN, "x", empty).faults)


def test_a_known_shortfall_is_one_outcome_and_must_still_be_there() -> None:
    now = ATTACK.steps[0].model_copy(update={"now": "allow rule_match"})
    marked = ATTACK.model_copy(update={"known": "some day", "steps": (now,)})
    verdict = judge(marked, "python", DOORS["python"])
    assert (verdict.ok, verdict.word) == (False, "mended")
    other = changed(lambda _w, _s, seen: with_decision(seen, decision="ask"))
    assert not judge(marked, "x", other).ok
    harmful = changed(acting(lambda w: (w.workspace / ".env").write_text("x")))
    assert judge(marked, "x", harmful).word == "WRONG"
    known = next(case for case in CASES.values() if case.known is not None)
    verdict = judge(known, "python", DOORS["python"])
    assert (verdict.ok, verdict.word) == (True, "known")


@pytest.mark.parametrize("door", list(DOORS))
@pytest.mark.parametrize("name", ["path-secret", "path-plain", "sh-pipe", "taint-net", "pol-ask"])
def test_a_case_comes_out_alike_at_every_door(door: str, name: str) -> None:
    assert judge(CASES[name], door, DOORS[door]).faults == ()


def test_a_world_is_laid_out_as_the_case_says_and_is_gone_afterwards() -> None:
    case = Case.model_validate(
        {
            "id": "w",
            "kind": "attack",
            "title": "t",
            "steps": (),
            "world": {
                "files": {"a/b.txt": "in {outside}"},
                "directories": ("empty",),
                "symlinks": {"l": "a/b.txt"},
                "hardlinks": {"h": "a/b.txt"},
                "fifos": ("f",),
                "sparse": {"big": 10_000_000},
                "git": True,
                "git_config": {"core.fsmonitor": "x"},
            },
        }
    )
    with standing(case) as world:
        top = world.workspace
        assert (top / "a/b.txt").read_text() == f"in {world.top}/outside"
        assert (top / "l").readlink().name == "b.txt"
        assert (top / "h").stat().st_nlink == 2
        assert (top / "f").is_fifo()
        assert (top / "big").stat().st_size == 10_000_000
        assert "fsmonitor = x" in (top / ".git/config").read_text()
        assert world.canary in (top / ".env").read_text()
        assert world.fill({"{ws}/x": ["{policy}"]}) == {
            f"{top}/x": [f"{world.top}/gate/policy.yaml"]
        }
    assert not world.top.exists()
