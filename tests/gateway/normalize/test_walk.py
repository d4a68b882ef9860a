"""The bounded walk: what the programs would reach, no further, and never for ever."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.model.action import Refusal
from gateway.model.names import Operation
from gateway.normalize import walk
from gateway.normalize.hardlinks import Guard


class SmallBudget(walk.Budget):
    def __init__(self) -> None:
        super().__init__(left=2)


NOTHING = Guard(is_protected=lambda _: False)


@pytest.fixture
def top(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "f").write_text("x")
    (tmp_path / "a" / "link").symlink_to("..")
    (tmp_path / "g").write_text("x")
    os.mkfifo(tmp_path / "fifo")
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield tmp_path, fd
    os.close(fd)


def met(fd: int) -> list[walk.Met]:
    found = walk.walk(fd, "top", enter=lambda _: True, budget=walk.Budget(), remedy="ask for less")
    assert not isinstance(found, Refusal)
    return found


def test_every_entry_is_met_once_and_no_link_is_followed(top: tuple[Path, int]) -> None:
    found = {(one.relative, one.kind, one.depth) for one in met(top[1])}
    assert found == {
        ("a", "d", 1),
        ("a/b", "d", 2),
        ("a/b/f", "f", 3),
        ("a/link", "l", 2),
        ("g", "f", 1),
        ("fifo", "p", 1),
    }


def test_directories_are_entered_on_request_only(top: tuple[Path, int]) -> None:
    found = walk.walk(
        top[1], "top", enter=lambda one: one.name != "b", budget=walk.Budget(), remedy=""
    )
    assert isinstance(found, list)
    assert "a/b" in {one.relative for one in found}
    assert "a/b/f" not in {one.relative for one in found}


def test_the_limit_names_itself_and_the_remedy(top: tuple[Path, int]) -> None:
    refusal = walk.walk(
        top[1], "top", enter=lambda _: True, budget=walk.Budget(left=3), remedy="ask for less"
    )
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_walk_limit"
    assert "20000" in refusal.message
    assert "ask for less" in refusal.message


def test_starting_points_share_one_budget(top: tuple[Path, int]) -> None:
    budget = walk.Budget(left=8)
    for wanted in (list, Refusal):
        fd = os.open(top[0], os.O_RDONLY | os.O_DIRECTORY)
        found = walk.walk(fd, "top", enter=lambda _: True, budget=budget, remedy="")
        os.close(fd)
        assert isinstance(found, wanted)


def test_a_name_that_is_not_text_is_refused(top: tuple[Path, int]) -> None:
    Path(os.fsdecode(os.fsencode(top[0]) + b"/a/\xff")).write_text("x")
    refusal = walk.walk(top[1], "top", enter=lambda _: True, budget=walk.Budget(), remedy="")
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "path_encoding"
    assert "\\xff" in refusal.message or "\\udcff" in refusal.message


def test_a_deep_tree_ends(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(70):
        deep /= "d"
    deep.mkdir(parents=True)
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    refusal = walk.walk(fd, "top", enter=lambda _: True, budget=walk.Budget(), remedy="")
    os.close(fd)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_walk_limit"


@pytest.mark.parametrize(
    ("globs", "name", "expected"),
    [
        (["*.py"], "a.py", True),
        (["*.py"], "a.pyc", False),
        ([".env*"], ".env.local", True),
        (["a*b*c"], "axxbc", True),
        (["x", "y"], "y", True),
        ([], "y", False),
        (["*"], "", True),
    ],
)
def test_globs_know_the_star_only(globs: list[str], name: str, expected: bool) -> None:
    assert walk.glob_matcher(globs)(name) is expected


def test_a_hard_link_is_known_by_its_protected_name(top: tuple[Path, int]) -> None:
    (top[0] / ".env").write_text("KEY")
    (top[0] / "a" / "hard").hardlink_to(top[0] / ".env")
    guard = Guard(is_protected=lambda path: path.endswith("/.env"))
    files = [(f"{top[0]}/{one.relative}", one) for one in met(top[1]) if one.kind == "f"]
    resources = walk.read_resources(guard, str(top[0]), "workspace", files)
    assert isinstance(resources, list)
    by_name = {one.path.rpartition("/")[2]: one for one in resources}
    assert by_name["hard"].also == (f"{top[0]}/.env",)
    assert by_name["hard"].links == by_name[".env"].links == 2
    assert by_name[".env"].also == by_name["g"].also == ()
    assert {one.operation for one in resources} == {Operation.FS_READ}
    assert {one.root for one in resources} == {"workspace"}


def test_a_hard_link_to_a_protected_place_elsewhere_is_known(
    top: tuple[Path, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    keys = tmp_path_factory.mktemp("keys")
    (keys / "log.key").write_text("k")
    (top[0] / "hard").hardlink_to(keys / "log.key")
    guard = Guard(is_protected=lambda _: False, literal=(str(keys), "/nowhere"))
    files = [(one.relative, one) for one in met(top[1]) if one.name == "hard"]
    resources = walk.read_resources(guard, str(top[0]), "workspace", files)
    assert isinstance(resources, list)
    assert resources[0].also == (str(keys / "log.key"),)


def test_names_that_cannot_all_be_looked_at_refuse(
    top: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (top[0] / "hard").hardlink_to(top[0] / "g")
    files = [(one.relative, one) for one in met(top[1]) if one.name == "hard"]
    monkeypatch.setattr(walk, "Budget", SmallBudget)
    refusal = walk.read_resources(NOTHING, str(top[0]), "workspace", files)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "fs_hardlink"
