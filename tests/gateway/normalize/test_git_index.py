"""The index reader: the names git tracks, in every version git writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.action import Refusal
from gateway.normalize.git_index import MAX_BYTES, tracked

NAMES = [
    "a",
    "b/c.py",
    "b/caf\u00e9",
    "x" * 70,
    "long/" + "y/" * 20 + "z",
    ".env",
    "sp ace",
    *"mno",
]


def git(where: Path, *words: str) -> bytes:
    command = ["git", "-C", str(where), "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    git(tmp_path, "init", "-q")
    return tmp_path


@pytest.mark.needs("git")
@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_names_are_those_git_lists(repository: Path, version: int) -> None:
    git(repository, "add", "-f", ".")
    if version == 3:
        (repository / "intended").write_text("x")
        git(repository, "add", "-N", "intended")
    else:
        git(repository, "update-index", "--index-version", str(version))
    raw = (repository / ".git" / "index").read_bytes()
    assert raw[7] == version
    listed = git(repository, "ls-files", "-z").decode().split("\0")[:-1]
    assert list(tracked(raw)) == listed  # type: ignore[arg-type]


@pytest.mark.needs("git")
def test_a_submodule_is_left_out(repository: Path) -> None:
    git(repository / "b", "init", "-q")
    git(repository / "b", "add", ".")
    git(repository / "b", "commit", "-qm", "x")
    git(repository, "-c", "advice.addEmbeddedRepo=false", "add", "-f", ".")
    names = tracked((repository / ".git" / "index").read_bytes())
    assert isinstance(names, tuple)
    assert "b" not in names
    assert "a" in names


@pytest.mark.needs("git")
def test_a_split_index_is_refused(repository: Path) -> None:
    git(repository, "add", "-f", ".")
    git(repository, "update-index", "--split-index")
    refusal = tracked((repository / ".git" / "index").read_bytes())
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "git_repository"
    assert "link" in refusal.message


@pytest.mark.needs("git")
def test_a_sparse_index_is_refused(repository: Path) -> None:
    git(repository, "add", "-f", ".")
    git(repository, "commit", "-qm", "x")
    git(repository, "sparse-checkout", "init", "--cone", "--sparse-index")
    refusal = tracked((repository / ".git" / "index").read_bytes())
    assert isinstance(refusal, Refusal)


@pytest.mark.parametrize(
    "raw", [b"", b"DIRC", b"DIRC\0\0\0\5\0\0\0\0" + b"\0" * 20, b"DIRC\0\0\0\2\xff\xff\xff\xff"]
)
def test_what_is_no_index_is_refused(raw: bytes) -> None:
    assert isinstance(tracked(raw), Refusal)


def test_a_large_one_is_refused() -> None:
    assert isinstance(tracked(bytes(MAX_BYTES + 1)), Refusal)


@given(st.sampled_from([2, 3, 4]), st.integers(0, 3), st.binary(max_size=300))
def test_anything_gives_a_value(version: int, count: int, rest: bytes) -> None:
    raw = b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big") + rest
    assert isinstance(tracked(raw), (tuple, Refusal))


def test_names_that_grow_by_sharing_are_bounded() -> None:
    entry = bytes(24) + b"\0\0\x81\xa4" + bytes(32) + b"\x0f\xff" + b"\0" + b"a" * 1000 + b"\0"
    for count in (4, 5):
        raw = (
            b"DIRC" + (4).to_bytes(4, "big") + count.to_bytes(4, "big") + entry * count + bytes(20)
        )
        found = tracked(raw)
        assert isinstance(found, Refusal) is (count == 5), found
