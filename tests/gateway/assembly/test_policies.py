"""Finding and reading policy files: roots are real directories, includes stay beneath, digests hold."""

from __future__ import annotations

import os

import pytest

from gateway.assembly.policies import PolicyDigestError, load_policy
from gateway.errors import PolicyError
from tests.support.gate import POLICY

TEXT = """\
version: 1
include: [parts/team.yaml]
roots: {workspace: "."}
rules: [{id: read, effect: allow, operations: [fs.read]}]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p/parts").mkdir(parents=True)
    (tmp_path / "p/policy.yaml").write_text(TEXT)
    (tmp_path / "p/parts/team.yaml").write_text("version: 1\nprotected: ['**/x']\n")
    return tmp_path / "p"


def test_roots_are_real_and_files_are_told(folder, tmp_path):
    loaded = load_policy(folder / "policy.yaml")
    assert loaded.policy.roots == {"workspace": str(folder.resolve())}
    assert loaded.files == (str(folder / "policy.yaml"), str(folder / "parts/team.yaml"))
    (tmp_path / "link").symlink_to(folder)
    (folder / "policy.yaml").write_text(TEXT.replace('"."', '"../link"'))
    assert load_policy(folder / "policy.yaml").policy.roots == {"workspace": str(folder.resolve())}


def test_a_change_in_any_part_changes_the_digest(folder):
    path = folder / "policy.yaml"
    digest = load_policy(path).policy.digest
    assert load_policy(path, digest=digest).policy.digest == digest
    (folder / "parts/team.yaml").write_text("version: 1\n")
    with pytest.raises(PolicyDigestError, match="counterfoil policy trust") as caught:
        load_policy(path, digest=digest)
    assert caught.value.code == "policy_digest_mismatch"


def test_moving_the_workspace_changes_the_digest(folder, tmp_path):
    digest = load_policy(folder / "policy.yaml").policy.digest
    (tmp_path / "other").mkdir()
    (folder / "policy.yaml").write_text(TEXT.replace('"."', '"../other"'))
    with pytest.raises(PolicyDigestError):
        load_policy(folder / "policy.yaml", digest=digest)


def test_given_roots_replace_the_files_own(folder, tmp_path):
    loaded = load_policy(folder / "policy.yaml", roots={"workspace": str(tmp_path)})
    assert loaded.policy.roots == {"workspace": str(tmp_path)}


@pytest.mark.parametrize("how", ["symlink", "folder symlink", "fifo", "missing", "big"])
def test_an_include_is_a_file_of_ones_own(folder, tmp_path, how):
    part = folder / "parts/team.yaml"
    part.unlink()
    if how == "symlink":
        (tmp_path / "far.yaml").write_text("version: 1\n")
        part.symlink_to(tmp_path / "far.yaml")
    elif how == "folder symlink":
        (folder / "parts").rmdir()
        (tmp_path / "far").mkdir()
        (tmp_path / "far/team.yaml").write_text("version: 1\n")
        (folder / "parts").symlink_to(tmp_path / "far")
    elif how == "fifo":
        os.mkfifo(part)
    elif how == "big":
        part.write_bytes(b"#" * 1_048_577)
    with pytest.raises(PolicyError) as caught:
        load_policy(folder / "policy.yaml")
    assert str(part) in str(caught.value)


def test_what_is_no_file_is_named(tmp_path):
    for path, word in [(tmp_path, "Is a directory"), (tmp_path / "x", "No such file")]:
        with pytest.raises(PolicyError, match=word):
            load_policy(path)


def test_a_policy_error_denies_with_its_line_at_every_door(gate, door):
    gate.write_policy(POLICY.replace("default: deny", "surprise: true"))
    seen = door.run("fs.read", path="src/a.py")
    assert seen.verdict == ("deny", "builtin:fault", "policy_invalid")
    assert f"{gate.policy}:2: surprise" in seen.decision["message"]
    assert gate.kinds() == []


def test_all_files_of_a_policy_together_are_bounded(folder):
    names = [f"p{number}.yaml" for number in range(5)]
    for name in names:
        (folder / name).write_text("version: 1\n" + "#" * 900_000)
    (folder / "policy.yaml").write_text(TEXT.replace("[parts/team.yaml]", f"[{', '.join(names)}]"))
    with pytest.raises(PolicyError, match="have more than 4194304 bytes"):
        load_policy(folder / "policy.yaml")
    with pytest.raises(PolicyError, match="have more than 262144 bytes"):
        load_policy(folder / "policy.yaml", beneath=True)
