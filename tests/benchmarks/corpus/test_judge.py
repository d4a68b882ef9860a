"""The judge notices every way in which a gate could fail a case: a test that cannot fail is none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def touch(world: World, _step: Step, seen: Seen) -> Seen:
    os.utime(world.workspace / ".env")
    return seen


def remove(world: World, _step: Step, seen: Seen) -> Seen:
    (world.workspace / "vault/token").unlink()
    return seen


def configure(world: World, _step: Step, seen: Seen) -> Seen:
    (world.top / "gate/config.yaml").write_text("version: 1\n")
    return seen


def forget(world: World, _step: Step, seen: Seen) -> Seen:
    for path in (world.top / "state/log").glob("*.jsonl"):
        path.write_bytes(b"")
    return seen


@pytest.mark.parametrize(
    ("alter", "fault"),
    [
        (
            lambda _w, _s, seen: with_decision(seen, decision="allow"),
            "allow fs_protected, not deny",
        ),
        (
            lambda _w, _s, seen: with_decision(seen, reason="rule_match"),
            "deny rule_match, not deny",
        ),
        (lambda _w, _s, seen: with_decision(seen, rule="other"), "by other, not builtin:protected"),
        (lambda w, _s, seen: with_decision(seen, message=w.canary), "the answer holds a secret"),
        (touch, "touched: .env"),
        (remove, "touched: a secret is gone"),
        (configure, "touched: "),
        (forget, "the log does not verify"),
        (forget, "1 steps, but 0 records"),
    ],
)
def test_a_gate_that_fails_is_noticed(alter: Any, fault: str) -> None:
    verdict = judge(ATTACK, "altered", changed(alter))
    assert (verdict.ok, verdict.word) == (False, "LET THROUGH")
    assert any(fault in one for one in verdict.faults), verdict.faults


def test_a_door_that_does_not_ask_leaves_no_record() -> None:
    @contextmanager
    def silent(_world: World) -> Iterator[Door]:
        answer = {"decision": "deny", "reason": "fs_protected", "rule": "builtin:protected"}
        yield lambda _step, _params: Seen(decision=answer)

    verdict = judge(ATTACK, "silent", silent)
    assert verdict.faults[0] == "1 steps, but 0 records of a decision"


def test_a_gate_in_the_way_is_noticed() -> None:
    verdict = judge(BENIGN, "x", changed(lambda _w, _s, seen: with_decision(seen, decision="deny")))
    assert (verdict.ok, verdict.word) == (False, "IN THE WAY")
    empty = changed(lambda _w, _s, seen: Seen(decision=seen.decision, result=None))
    assert any("ended as None" in fault for fault in judge(BENIGN, "x", empty).faults)


def test_a_known_shortfall_must_still_be_one() -> None:
    marked = ATTACK.model_copy(update={"known": "some day"})
    verdict = judge(marked, "python", DOORS["python"])
    assert (verdict.ok, verdict.word) == (False, "mended")
    through = changed(lambda _w, _s, seen: with_decision(seen, decision="allow"))
    verdict = judge(marked, "x", through)
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
