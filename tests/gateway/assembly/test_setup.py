"""Making a gate, and registering another policy in its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.assembly.config import PolicyRef, load_config
from gateway.assembly.places import places
from gateway.assembly.policies import load_policy, variables
from gateway.assembly.setup import initialize, recipe_names, register, shipped, trust_project
from gateway.decide.analysis.lint import Known, lint
from gateway.decide.engine import Decide
from gateway.decide.examples import check_examples
from gateway.errors import ConfigError

OTHER = "policy-v1:sha256:" + "1" * 64
THIRD = "policy-v1:sha256:" + "2" * 64


@pytest.fixture
def where(tmp_path):
    (tmp_path / "ws").mkdir()
    return places(config=str(tmp_path / "c/config.yaml"), state_dir=str(tmp_path / "s"))


def test_a_starter_gate(where, tmp_path):
    made = initialize(where, workspace=tmp_path / "ws", policy=None)
    assert [one.new for one in made] == [True] * len(made)
    config = load_config(where.config)
    assert config is not None
    assert config.policy is not None
    assert config.policy.path == str(tmp_path / "c/policy.yaml")
    assert str(tmp_path / "ws") in (tmp_path / "c/policy.yaml").read_text()
    assert (tmp_path / "s/log").is_dir()


def test_a_workspace_with_odd_characters(where, tmp_path):
    odd = tmp_path / 'a "b" \\ #: {x}'
    odd.mkdir()
    initialize(where, workspace=odd, policy=None)
    config = load_config(where.config)
    assert config is not None
    assert load_policy(Path(config.policy.path)).policy.roots == {"workspace": str(odd)}


def test_the_starter_policy_is_the_shipped_one():
    assert "read-workspace" in shipped("default.yaml").read_text()


def test_register_changes_path_and_digest_and_nothing_else(where, tmp_path):
    initialize(where, workspace=tmp_path / "ws", policy=None)
    before = load_config(where.config)
    text = where.config.read_text()
    register(where, before, path="/other.yaml", digest=OTHER)
    assert load_config(where.config).policy == PolicyRef(path="/other.yaml", digest=OTHER)
    expected = text.replace(before.policy.path, "/other.yaml").replace(before.policy.digest, OTHER)
    assert where.config.read_text() == expected
    assert where.config.stat().st_mode & 0o777 == 0o600


def test_register_refuses_a_spelling_it_does_not_know(where, tmp_path):
    initialize(where, workspace=tmp_path / "ws", policy=None)
    before = load_config(where.config)
    text = where.config.read_text().replace(f'"{before.policy.path}"', f"'{before.policy.path}'")
    where.config.write_text(text)
    with pytest.raises(ConfigError, match="policy: write path:"):
        register(where, before, path="/other.yaml", digest=OTHER)
    assert where.config.read_text() == text
    where.config.unlink()
    with pytest.raises(ConfigError, match="No such file"):
        register(where, before, path="/other.yaml", digest=OTHER)


def test_a_project_is_trusted_and_trusted_anew(where, tmp_path):
    initialize(where, workspace=tmp_path / "ws", policy=None)
    text = where.config.read_text()
    for path, digest in [("/a/x.yaml", OTHER), ("/b/x.yaml", OTHER), ("/a/x.yaml", THIRD)]:
        trust_project(where, load_config(where.config), path=path, digest=digest)
    found = load_config(where.config)
    assert {one.path: one.digest for one in found.projects} == {
        "/a/x.yaml": THIRD,
        "/b/x.yaml": OTHER,
    }
    assert where.config.read_text().startswith(text)
    where.config.write_text(where.config.read_text().replace("projects:\n", "projects:  # mine\n"))
    with pytest.raises(ConfigError, match="projects: write this there"):
        trust_project(where, found, path="/c/x.yaml", digest=OTHER)
    assert "/c/x.yaml" not in where.config.read_text()


def test_every_recipe_is_sound_and_never_overwritten(tmp_path):
    where = places(config=str(tmp_path / "c" / "config.yaml"), state_dir=str(tmp_path / "s"))
    (tmp_path / "ws").mkdir()
    names = recipe_names()
    assert len(names) >= 7
    made = initialize(where, workspace=tmp_path / "ws", policy=None, recipes=names)
    assert {one.path.name for one in made if one.new} >= {
        "policy.yaml",
        *(f"{n}.yaml" for n in names),
    }
    loaded = load_policy(where.config.parent / "policy.yaml")
    assert check_examples(loaded.policy) == []
    assert {Path(name).stem for name in loaded.files} == {"policy", *names}
    known = Known(
        texts={},
        variables=variables(),
        programs=frozenset({"cat", "head", "tail", "wc", "ls", "grep", "find"}),
    )
    assert lint(Decide(loaded.policy), known) == ()
    mine = where.config.parent / f"{names[0]}.yaml"
    mine.write_text("version: 1\n")
    again = initialize(where, workspace=tmp_path / "ws", policy=None, recipes=names)
    assert not any(one.new for one in again)
    assert mine.read_text() == "version: 1\n"
    with pytest.raises(ConfigError, match="no recipe 'nope'"):
        initialize(where, workspace=tmp_path / "ws", policy=None, recipes=["nope"])
