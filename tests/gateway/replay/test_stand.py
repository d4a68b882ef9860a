"""A candidate stands alone, remembers what its acts leave, and touches neither log nor state."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.assembly.build import Options
from gateway.assembly.config import Config, PolicyRef
from gateway.assembly.places import places
from gateway.errors import PolicyError
from gateway.model.names import Effect, Taint
from gateway.model.request import ActionRequest
from gateway.model.session import SessionState
from gateway.replay.stand import standing

POLICY = """\
version: 1
roots: {workspace: "ws"}
protected: ["**/.env"]
rules:
  - {id: read, effect: allow, operations: [fs.read], resources: ["${workspace}/**"]}
  - {id: alice, effect: allow, operations: [memory.write], memory: {scope: session}, identities: [alice]}
"""
NOTE = ActionRequest(
    tool="memory.write", params={"scope": "session", "sensitivity": "low", "content": "x"}
)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / ".env").write_text("x", encoding="utf-8")
    (tmp_path / "ws" / "a").write_text("a", encoding="utf-8")
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY, encoding="utf-8")
    return path


def options(top: Path, config: Config | None = None) -> Options:
    where = places(config=str(top / "c" / "config.yaml"), state_dir=str(top / "s"))
    return Options(door="cli", places=where, config=config)


def read(top: Path, name: str) -> ActionRequest:
    return ActionRequest(tool="fs.read", params={"path": str(top / "ws" / name)})


def test_what_an_act_taints_stays_until_a_fresh_session(policy: Path, tmp_path: Path):
    with standing(options(tmp_path), policy, user="alice") as session:
        assert session.judge(NOTE).effect is Effect.ALLOW
        assert session.judge(read(tmp_path, ".env")).reason == "fs_protected"
        assert session.judge(NOTE).reason == "taint_session"
        assert session.fresh().judge(NOTE).effect is Effect.ALLOW


def test_it_may_begin_tainted_and_as_another_user(policy: Path, tmp_path: Path):
    state = SessionState(taint=frozenset({Taint.ATTEMPTED}))
    with standing(options(tmp_path), policy, user="alice", state=state) as session:
        assert session.judge(NOTE).reason == "taint_session"
    with standing(options(tmp_path), policy, user="bob") as session:
        assert session.judge(NOTE).reason == "default_decision"


def test_nothing_is_left_behind(policy: Path, tmp_path: Path):
    with standing(options(tmp_path), policy) as session:
        session.judge(read(tmp_path, "a"))
        session.judge(read(tmp_path, ".env"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.yaml", "ws"]


def test_a_registered_policy_does_not_count(policy: Path, tmp_path: Path):
    other = PolicyRef(path=str(tmp_path / "gone.yaml"), digest="policy-v1:sha256:" + "0" * 64)
    config = Config(version=1, policy=other)
    with standing(options(tmp_path, config), policy) as session:
        assert session.judge(read(tmp_path, "a")).effect is Effect.ALLOW


def test_roots_may_be_made_for_it(policy: Path, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with standing(options(tmp_path), policy, roots={"workspace": str(elsewhere)}) as session:
        assert session.judge(read(tmp_path, "a")).reason == "path_outside_roots"


def test_a_policy_that_cannot_be_used_is_refused(tmp_path: Path):
    with (
        pytest.raises(PolicyError, match="No such file"),
        standing(options(tmp_path), tmp_path / "none.yaml"),
    ):
        pass
