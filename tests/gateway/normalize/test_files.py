from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

import pytest

from gateway.model.action import Action
from gateway.model.names import Json, Operation
from gateway.model.plan import DeleteFile, ListDirectory, ReadFile, WriteFile
from gateway.model.request import ActionRequest
from gateway.model.resource import PathResource

from .conftest import Place, open_descriptors


def _act(spot: Place, tool: str, **params: Json) -> Action:
    return spot.normalize.normalize(ActionRequest(tool=tool, params=params, id="r1"))


def _named(action: Action) -> PathResource:
    (resource,) = action.resources
    assert isinstance(resource, PathResource)
    return resource


def test_a_read_is_bound_to_its_descriptor(spot: Place) -> None:
    before = open_descriptors()
    action = _act(spot, "fs.read", path="./src/a.py")
    assert action.refusal is None
    assert action.operation is Operation.FS_READ
    assert action.request_id == "r1"
    assert isinstance(action.plan, ReadFile)
    (spot.ws / "src" / "a.py").rename(spot.ws / "moved")
    (spot.ws / "src" / "a.py").write_text("another")
    assert os.pread(action.plan.fd, 100, 0) == b"print(1)\n"
    assert action.normalized["path"] == str(spot.ws / "src" / "a.py")
    assert open_descriptors() == before + 1
    action.release()
    action.release()
    assert open_descriptors() == before


def test_other_names_are_shown(spot: Place) -> None:
    action = _act(spot, "fs.read", path="hard.txt")
    assert action.normalized["also"] == [str(spot.ws / ".env")]
    action.release()


def test_release_never_closes_somebody_elses_descriptor(spot: Place) -> None:
    action = _act(spot, "fs.read", path="src/a.py")
    action.release()
    other = os.open(spot.ws, os.O_PATH)
    action.release()
    os.fstat(other)
    os.close(other)


def test_a_huge_sparse_file_is_refused_by_its_size(spot: Place) -> None:
    with (spot.ws / "huge").open("wb") as file:
        file.truncate(600 * 1024 * 1024)
    before = open_descriptors()
    action = _act(spot, "fs.read", path="huge")
    assert action.refusal is not None
    assert action.refusal.reason == "fs_too_large"
    assert "1000" in action.refusal.message
    assert open_descriptors() == before


def test_a_directory_is_listed_with_or_without_a_slash(spot: Place) -> None:
    digests = set()
    for path in ("src", "src/", "./src", "src/deep/..", str(spot.ws / "src")):
        action = _act(spot, "fs.list", path=path)
        assert isinstance(action.plan, ListDirectory)
        assert sorted(os.listdir(action.plan.fd)) == ["a.py", "deep"]  # noqa: PTH208
        digests.add(action.digest)
        action.release()
    assert len(digests) == 1


def test_a_write_shows_content_hash_and_what_it_replaces(spot: Place) -> None:
    action = _act(spot, "fs.write", path="src/a.py", content="héllo")
    assert isinstance(action.plan, WriteFile)
    assert action.plan.content == "héllo".encode()
    assert action.plan.name == "a.py"
    assert action.normalized["content"] == "héllo"
    assert action.normalized["bytes"] == 6
    assert action.normalized["sha256"] == hashlib.sha256("héllo".encode()).hexdigest()
    replaces = action.normalized["replaces"]
    assert isinstance(replaces, Mapping)
    assert replaces["inode"] == str((spot.ws / "src" / "a.py").stat().st_ino)
    action.release()
    new = _act(spot, "fs.write", path="new.txt", content="")
    assert new.normalized["replaces"] is None
    new.release()


def test_the_digest_follows_path_content_and_object(spot: Place) -> None:
    def digest(path: str, content: str) -> str:
        action = _act(spot, "fs.write", path=path, content=content)
        action.release()
        return action.digest

    first = digest("src/a.py", "x")
    assert digest("link/../src/a.py", "x") == first
    assert digest("src/a.py", "y") != first
    assert digest("src/b.py", "x") != first
    (spot.ws / "src" / "a.py").write_text("changed")
    assert digest("src/a.py", "x") != first


def test_a_delete_names_one_existing_file(spot: Place) -> None:
    action = _act(spot, "fs.delete", path="src/a.py")
    assert isinstance(action.plan, DeleteFile)
    assert action.plan.existing.inode == (spot.ws / "src" / "a.py").stat().st_ino
    assert (spot.ws / "src" / "a.py").exists()
    action.release()


def test_cwd_is_where_relative_paths_start(spot: Place) -> None:
    action = _act(spot, "fs.read", path="a.py", cwd=str(spot.ws / "src"))
    assert _named(action).path == str(spot.ws / "src" / "a.py")
    action.release()


@pytest.mark.parametrize(
    ("tool", "params", "reason", "named"),
    [
        ("fs.read", {"path": ".env", "x": 1}, "params_invalid", ".env"),
        ("fs.read", {"path": ".env", "cwd": 5}, "params_invalid", ".env"),
        ("fs.read", {}, "params_invalid", None),
        ("fs.read", {"path": ["a"]}, "params_invalid", None),
        ("fs.read", {"path": ""}, "path_empty", ""),
        ("fs.read", {"path": "fifo"}, "fs_not_regular", "fifo"),
        ("fs.read", {"path": "../secret.txt"}, "path_outside_roots", "../secret.txt"),
        ("fs.read", {"path": ".env", "cwd": "/etc"}, "path_outside_roots", "/etc/.env"),
        ("fs.list", {"path": "src/a.py"}, "fs_not_directory", "src/a.py"),
        ("fs.list", {"path": ".ssh", "all": True}, "params_invalid", ".ssh"),
        ("fs.write", {"path": ".env"}, "params_invalid", ".env"),
        ("fs.write", {"path": ".env", "content": 5}, "params_invalid", ".env"),
        ("fs.write", {"path": "big", "content": "x" * 101}, "fs_too_large", "big"),
        ("fs.write", {"path": "out", "content": "x"}, "fs_symlink", "out"),
        ("fs.delete", {"path": "nope"}, "fs_not_found", "nope"),
        ("fs.delete", {"path": "src"}, "fs_not_regular", "src"),
        ("fs.delete", {"path": "src/a.py", "force": True}, "params_invalid", "src/a.py"),
    ],
)
def test_a_refusal_names_the_path_and_leaves_nothing_open(
    spot: Place, tool: str, params: dict[str, Json], reason: str, named: str | None
) -> None:
    before = open_descriptors()
    action = _act(spot, tool, **params)
    assert action.refusal is not None
    assert action.refusal.reason == reason
    assert action.plan is None
    assert action.operation == tool
    if named is None:
        assert not action.resources
    else:
        assert _named(action).path == os.path.normpath(spot.ws / named)
    assert open_descriptors() == before


def test_an_unknown_parameter_is_named_with_the_accepted_ones(spot: Place) -> None:
    action = _act(spot, "fs.read", path="a", pth="b")
    assert action.refusal is not None
    for word in ("'pth'", "path (string)", "cwd (string, optional)"):
        assert word in action.refusal.message


def test_a_refused_write_does_not_show_its_content(spot: Place) -> None:
    action = _act(spot, "fs.write", path="out", content="a secret")
    assert action.refusal is not None
    assert "a secret" not in str(action.normalized)
