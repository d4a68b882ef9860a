from __future__ import annotations

from pathlib import Path

from gateway.kit.posix import identity
from gateway.normalize.hardlinks import Guard, other_names


def _guard(*literal: str) -> Guard:
    return Guard(is_protected=lambda path: path.endswith(".env"), literal=literal)


def test_protected_names_are_found_in_the_root_and_among_the_literals(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "a" / "b").mkdir(parents=True)
    keys = tmp_path / "keys"
    keys.mkdir()
    (root / "a" / "b" / ".env").write_text("x")
    (root / "plain").hardlink_to(root / "a" / "b" / ".env")
    (root / "also-plain").hardlink_to(root / "plain")
    (keys / "k").hardlink_to(root / "plain")
    found = (root / "plain").stat()
    names = other_names(_guard(str(keys)), str(root), identity(found), found.st_nlink)
    assert names.complete
    assert set(names.protected) == {str(keys / "k"), str(root / "a" / "b" / ".env")}
    single = other_names(_guard(str(keys / "k")), str(root), identity(found), found.st_nlink)
    assert str(keys / "k") in single.protected


def test_the_walk_is_bounded_and_says_so(tmp_path: Path) -> None:
    for index in range(30):
        (tmp_path / f"f{index}").touch()
    (tmp_path / "f0").chmod(0o600)
    (tmp_path / "outside").hardlink_to(tmp_path / "f0")
    found = (tmp_path / "f0").stat()
    short = other_names(_guard(), str(tmp_path), identity(found), 3, max_entries=10)
    assert not short.complete
    assert other_names(_guard(), str(tmp_path), identity(found), 3).complete


def test_symlinked_and_missing_places_are_not_walked(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / ".env").touch()
    (tmp_path / "ws" / "x").hardlink_to(tmp_path / "real" / ".env")
    (tmp_path / "ws" / "way").symlink_to("../real")
    found = (tmp_path / "ws" / "x").stat()
    names = other_names(_guard(str(tmp_path / "no")), str(tmp_path / "ws"), identity(found), 2)
    assert names.complete
    assert names.protected == ()
