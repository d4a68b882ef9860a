"""Putting the gate together: whatever it would wrongly stand on is a deny with a reason."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from gateway import Guard
from gateway.assembly.build import (
    assemble,
    assemble_judge,
    broker_client,
    caller,
    check_apart,
    new_id,
    options_from,
    own_paths,
)
from gateway.assembly.config import BrokerConfig
from gateway.assembly.places import places
from gateway.cli.main import main
from gateway.errors import ConfigError, RecordError
from gateway.model.names import Effect
from tests.support.gate import NOWHERE, POLICY, Door, open_descriptors, picture

LOOSE = """\
version: 1
default: ask
roots: {workspace: "/"}
rules:
  - {id: all, effect: allow, operations: [fs.read, fs.list, fs.write, fs.delete, net.request]}
"""


def options(gate, **more):
    wanted = {"door": "python", "policy": None} | more
    return options_from(config=str(gate.config), state_dir=str(gate.state_dir), **wanted)


def test_the_caller_is_the_operating_systems(gate):
    roots = {"workspace": str(gate.workspace)}
    one, two = caller(options(gate), roots), caller(options(gate), roots)
    assert (one.uid, one.door, one.agent) == (os.getuid(), "python", None)
    assert one.scope == two.scope
    assert one.session != two.session
    assert caller(options(gate), {"workspace": "/other"}).scope != one.scope
    gate.with_apis(issuer=NOWHERE)
    assert caller(options(gate), roots).agent == "demo"


def test_everything_is_given_back(gate):
    before = open_descriptors()
    assemble(options(gate)).close()
    assemble_judge(options(gate)).close()
    (gate.state_dir / "keys/log.hmac").unlink()
    with pytest.raises(RecordError):
        assemble(options(gate))
    assert open_descriptors() == before


def test_a_judge_writes_nothing(gate):
    before = picture(gate.top)
    assemble_judge(options(gate)).close()
    assert picture(gate.top) == before


def test_an_unknown_approver_is_refused(gate):
    with pytest.raises(ConfigError, match="approver"):
        options(gate, approver="yes-man")


@pytest.mark.parametrize("key", ["log.hmac", "head.key"])
def test_a_missing_or_open_key_denies(gate, door, key):
    path = gate.state_dir / "keys" / key
    kept = path.read_bytes()
    path.chmod(0o644)
    seen = door.run("fs.read", path="src/a.py")
    assert seen.verdict == ("deny", "builtin:fault", "record_unavailable")
    assert f"chmod 0600 {path}" in seen.decision["message"]
    path.unlink()
    seen = door.run("fs.read", path="src/a.py")
    assert seen.verdict == ("deny", "builtin:fault", "record_unavailable")
    assert f"{path}: missing; run `counterfoil init`" in seen.decision["message"]
    path.touch(mode=0o600)
    path.write_bytes(kept[:5])
    assert door.run("fs.read", path="src/a.py").reason == "record_unavailable"
    assert not path.with_name("new").exists()


@pytest.mark.parametrize("inside", ["state", "config"])
def test_state_or_configuration_beneath_a_root_is_refused(gate, door, inside):
    text = POLICY.replace("WORKSPACE", str(gate.top / inside))
    gate.write_policy(text)
    with pytest.raises(ConfigError, match="lies beneath the root workspace"):
        gate.register(text)
    where = places(config=str(gate.config), state_dir=str(gate.state_dir))
    for root in (gate.top, gate.top / inside):
        with pytest.raises(ConfigError, match="keep configuration and state outside every root"):
            check_apart(where, {"workspace": str(root)})
    check_apart(where, {"workspace": str(gate.top / f"{inside}-other")})


def test_a_state_directory_in_the_workspace_denies_at_every_door(gate, capsys):
    inside = gate.workspace / "s"
    shutil.copytree(gate.state_dir, inside)
    with Guard(config=str(gate.config), state_dir=str(inside)) as guard:
        decision = guard.call("fs.read", path="src/a.py").decision
    assert (decision.effect, decision.reason) == (Effect.DENY, "config_invalid")
    words = ["run", "--json", "--config", str(gate.config), "--state-dir", str(inside)]
    assert main([*words, "fs.read", "path=src/a.py"]) == 2
    assert json.loads(capsys.readouterr().out)["reason"] == "config_invalid"


def test_a_symlink_does_not_hide_that_state_lies_beneath_a_root(gate, tmp_path):
    (gate.top / "way").symlink_to(gate.workspace)
    where = places(config=str(gate.config), state_dir=str(gate.top / "way/state"))
    with pytest.raises(ConfigError, match="lies beneath"):
        check_apart(where, {"workspace": str(gate.workspace)})


def test_own_paths_are_named_as_spelled_and_as_they_are(gate):
    (gate.top / "alias").symlink_to(gate.state_dir)
    where = places(config=str(gate.config), state_dir=str(gate.top / "alias"))
    found = own_paths(where)
    assert {str(gate.top / "alias"), str(gate.state_dir), str(gate.config.parent)} <= set(found)


def test_a_caller_never_selects_a_looser_policy_or_another_session(gate, door):
    """`--policy` only narrows; roots, defaults and allows of the caller's file widen nothing."""
    loose = door.narrowed(gate.write_policy(LOOSE, "loose.yaml"))
    assert loose.check("fs.write", path="src/a.py", content="x").effect == "deny"
    assert loose.check("fs.read", path="/etc/hostname").effect == "deny"
    assert loose.check("fs.read", path=".env").reason == "fs_protected"
    assert loose.check("net.request", url="http://docs.example.com/").reason == "taint_session"
    assert loose.check("net.request", url="http://evil.example.com/").effect == "deny"
    assert loose.check("fs.read", path="src/a.py").effect == "allow"
    assert len({record["scope"] for record in gate.records()}) == 1


def test_a_narrowing_policy_narrows(gate, door):
    narrow = door.narrowed(
        gate.write_policy(
            'version: 1\nroots: {workspace: "WORKSPACE"}\nprotected: ["**/a.py"]\n'
            "rules: [{id: read, effect: ask, operations: [fs.read]}]\n",
            "narrow.yaml",
        )
    )
    assert narrow.check("fs.read", path="out/old.txt").effect == "ask"
    assert narrow.check("fs.list", path="src").effect == "deny"
    assert narrow.check("fs.read", path="src/a.py").reason == "fs_protected"


def test_a_narrowing_policy_that_does_not_load_denies(gate, door):
    for name in ("gone.yaml", "bad.yaml"):
        (gate.config.parent / "bad.yaml").write_text("version: 1\n")
        seen = door.narrowed(gate.config.parent / name).run("fs.read", path="src/a.py")
        assert seen.verdict == ("deny", "builtin:fault", "policy_invalid")


def test_with_none_registered_the_named_one_is_used_and_records_say_so(gate, door):
    other = gate.write_policy(POLICY.replace("id: read,", "id: mine,"), "mine.yaml")
    gate.config.unlink()
    assert door.check("fs.read", path="src/a.py").verdict == (
        "deny", "builtin:fault", "config_invalid",
    )  # fmt: skip
    seen = door.narrowed(other).check("fs.read", path="src/a.py")
    assert seen.verdict == ("allow", "mine", "rule_match")
    assert gate.records()[0]["policy_digest"] == seen.decision["policy_digest"]


def test_the_broker_is_out_of_the_agents_reach(gate):
    text = POLICY.replace("hosts: [docs.example.com]", 'hosts: ["127.0.0.1", localhost]')
    gate.register(text)
    gate.with_apis(issuer="http://127.0.0.1:8100")
    door = Door(gate=gate, name="python")
    for host in ("127.0.0.1", "localhost", "[::1]", "127.1", "0x7f000001"):
        seen = door.check("net.request", url=f"http://{host}:8100/token", method="POST")
        assert seen.effect == "deny"
        assert seen.reason in {"self_protection", "taint_session"}


def test_ids_are_unique_and_sort_by_time():
    ids = [new_id() for _ in range(100)]
    assert len(set(ids)) == 100


def test_a_broker_client_uses_our_own_key(gate):
    config = BrokerConfig(issuer=NOWHERE, client_id="gw", agent="a", users={"me": "alice"})
    where = places(config=str(gate.config), state_dir=str(gate.state_dir))
    assert broker_client(config, where).key_file == gate.state_dir / "keys/gateway.pem"
