"""`init` at the command line: from nothing to a gate that stands; nothing is overwritten."""

from __future__ import annotations

import json
import os
import stat

import pytest

from gateway.cli.main import main
from tests.support.gate import picture


@pytest.fixture
def place(tmp_path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/README.md").write_text("hello\n")
    words = ["--config", str(tmp_path / "c/config.yaml"), "--state-dir", str(tmp_path / "s")]
    return tmp_path, words


def test_from_nothing_to_a_standing_gate(place, capsys):
    top, words = place
    assert main(["init", "--workspace", str(top / "ws"), *words]) == 0
    out = capsys.readouterr().out
    assert out.count("made  ") == 7
    assert "next: counterfoil check" in out
    for path in (*(top / "s").rglob("*"), *(top / "c").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    where = f"cwd={top / 'ws'}"
    assert main(["check", "fs.read", "path=README.md", where, *words]) == 0
    assert main(["check", "fs.write", "path=x", "content=x", where, *words]) == 3
    assert main(["check", "fs.read", "path=.env", where, *words]) == 2
    assert main(["status", *words]) == 0


def test_a_second_time_keeps_everything(place, capsys):
    top, words = place
    assert main(["init", "--json", "--workspace", str(top / "ws"), *words]) == 0
    made = json.loads(capsys.readouterr().out)
    assert all(one["new"] for one in made)
    kept = [
        path
        for path in top.rglob("*")
        if path.is_file() and "/state/" not in str(path)[len(str(top)) :]
    ]
    before = {str(path): path.read_bytes() for path in kept}
    assert main(["init", "--json", "--workspace", str(top), *words]) == 0
    again = json.loads(capsys.readouterr().out)
    assert not any(one["new"] for one in again)
    assert {str(path): path.read_bytes() for path in kept} == before


def test_a_policy_of_ones_own_is_registered_as_it_is(gate, capsys):
    before = gate.policy.read_bytes()
    gate.config.unlink()
    assert main(["init", "--policy", str(gate.policy), *gate.places]) == 0
    assert gate.policy.read_bytes() == before
    assert f"kept  {gate.policy}" in capsys.readouterr().out
    assert json.dumps(str(gate.policy)) in gate.config.read_text()


@pytest.mark.parametrize(
    ("workspace", "word"), [("nowhere", "no such directory"), (".", "lies beneath the root")]
)
def test_a_workspace_that_cannot_be_one_leaves_nothing_behind(place, capsys, workspace, word):
    top, words = place
    before = picture(top)
    assert main(["init", "--workspace", str(top / workspace), *words]) == 2
    assert word in capsys.readouterr().err
    assert picture(top) == before


def test_what_cannot_be_made_is_named(place, capsys):
    top, _ = place
    (top / "file").write_text("x")
    words = ["--config", str(top / "c/config.yaml"), "--state-dir", str(top / "file/s")]
    assert main(["init", "--workspace", str(top / "ws"), *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("counterfoil: ")
    assert str(top / "file") in err


def test_nothing_is_written_through_a_symlink(place):
    top, words = place
    (top / "c").mkdir()
    (top / "c/config.yaml").symlink_to(top / "elsewhere")
    main(["init", "--workspace", str(top / "ws"), *words])
    assert not (top / "elsewhere").exists()
    assert os.path.islink(top / "c/config.yaml")  # noqa: PTH114


def test_recipes_are_included_in_a_new_starter_policy_only(tmp_path, capsys):
    words = ["--config", str(tmp_path / "c/config.yaml"), "--state-dir", str(tmp_path / "s")]
    (tmp_path / "ws").mkdir()
    first = ["init", *words, "--workspace", str(tmp_path / "ws")]
    assert main([*first, "--recipe", "git"]) == 0
    assert "include: [git.yaml]" in (tmp_path / "c/policy.yaml").read_text()
    capsys.readouterr()
    assert main([*first, "--recipe", "fetch"]) == 0
    assert "write `include: [fetch.yaml]` into it" in capsys.readouterr().out
    assert (tmp_path / "c/fetch.yaml").exists()
    with pytest.raises(SystemExit):
        main([*first, "--recipe", "git", "--policy", "x.yaml"])
