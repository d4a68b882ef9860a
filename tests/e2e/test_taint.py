"""Naming a secret, however it is spelled, stops everything that would leave, at every door."""

from __future__ import annotations

import pytest

from tests.support.gate import SECRET, Door

DISGUISES = [
    ("fs.read", {"path": ".env"}),
    ("fs.read", {"path": "src/../.env"}),
    ("fs.read", {"path": ".ENV"}),
    ("fs.read", {"path": "link"}),
    ("fs.read", {"path": "here/.env"}),
    ("fs.read", {"path": "hard"}),
    ("fs.read", {"path": ".env/"}),
    ("fs.read", {"path": ".env."}),
    ("fs.read", {"path": ".e%6ev"}),
    ("fs.read", {"path": ".e\u200bnv"}),
    ("fs.read", {"path": "src\\..\\.env"}),
    ("fs.read", {"path": "~/.env"}),
    ("fs.read", {"path": ".env\0.txt"}),
    ("fs.read", {"path": "//.env"}),
    ("fs.read", {"path": "/proc/self/cwd/.env"}),
    ("fs.read", {"path": "file:///.env"}),
    ("fs.read", {"path": "../../.env"}),
    ("fs.read", {"path": "VAULT/key"}),
    ("fs.read", {"path": ".env", "bogus": 1}),
    ("fs.read", {"path": "x", "cwd": "vault"}),
    ("fs.list", {"path": "vault"}),
    ("fs.write", {"path": ".env", "content": "x"}),
    ("fs.delete", {"path": "vault/key"}),
    ("shell.run", {"argv": ["cat", "src/a.py", ".env"]}),
    ("shell.run", {"argv": ["grep", "-f", ".env", "src/a.py"]}),
    ("shell.run", {"argv": ["git", "diff", "--no-index", ".env", "src/a.py"]}),
    ("shell.run", {"argv": ["sleep", ".env"]}),
    ("shell.run", {"command_line": "cat src/a.py && cat '.'env"}),
    ("shell.run", {"command_line": "cat < .env"}),
    ("shell.run", {"command_line": "cat $(echo .env)"}),
    ("shell.run", {"command_line": "source .env"}),
]
# Everything that leaves the machine; in a clean session the policy allows each, or asks.
EGRESS = [
    ("net.request", {"url": "http://docs.example.com/"}),
    ("api.call", {"audience": "calendar-api", "operation": "events.read", "arguments": {}}),
    ("api.call", {"audience": "mail-api", "operation": "messages.send",
                  "arguments": {"subject": "s"}}),
    ("mcp.call", {"server": "files", "tool": "read_text_file", "arguments": {"path": "a"}}),
    ("mcp.resource", {"server": "files", "uri": "file:///a"}),
    ("memory.write", {"scope": "session", "sensitivity": "low", "content": "c"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "params"), DISGUISES)
def test_the_same_attack_gets_the_same_answer_at_every_door(gate, tool, params):
    (gate.workspace / "link").symlink_to(".env")
    (gate.workspace / "here").symlink_to(".")
    (gate.workspace / "hard").hardlink_to(gate.workspace / ".env")
    answers = []
    for name in ("python", "cli"):
        door = Door(gate=gate, name=name)
        seen = door.run(tool, params)
        assert (seen.effect, seen.result) == ("deny", None)
        assert SECRET not in str(seen)
        assert gate.records()[-1]["taint"] == ["attempted"]
        answers.append((*seen.verdict, seen.decision["message"]))
        assert door.check("net.request", url="http://docs.example.com/").reason == "taint_session"
    assert answers[0] == answers[1]
    assert (gate.workspace / ".env").read_text() == f"KEY={SECRET}\n"
    assert (gate.workspace / "vault/key").exists()


def test_taint_stops_every_way_out(gate, door):
    gate.with_apis()
    for tool, params in EGRESS:
        assert door.check(tool, params).reason == "rule_match"
    assert door.check("fs.read", path=".env").effect == "deny"
    for verb in (door.check, door.run):
        for tool, params in EGRESS:
            seen = verb(tool, params)
            assert seen.verdict == ("deny", "builtin:taint", "taint_session"), tool
        for words in (["push"], ["fetch"], ["clone", "http://docs.example.com/x"]):
            assert verb("shell.run", argv=["git", *words]).effect == "deny"
        assert verb("fs.write", path="../elsewhere", content="x").effect == "deny"
        assert verb("fs.read", path="src/a.py").effect == "allow"  # local work goes on


def test_a_new_session_never_launders_taint(gate):
    """Another process, another door, another session: one user and workspace, one taint."""
    done = gate.process("run", "fs.read", "path=.env", f"cwd={gate.workspace}")
    assert done.returncode == 2
    for name in ("python", "cli", "python"):
        seen = Door(gate=gate, name=name).run("net.request", url="http://docs.example.com/")
        assert seen.reason == "taint_session"
        assert seen.decision["labels"] == ["attempted"]
    assert len({record["session"] for record in gate.records()}) == 4
    assert len({record["scope"] for record in gate.records()}) == 1


def test_taint_outlives_the_snapshot(gate, door):
    assert door.check("fs.read", path=".env").effect == "deny"
    (gate.state_dir / "state/snapshot.json").unlink()
    assert door.check("net.request", url="http://docs.example.com/").reason == "taint_session"


def test_a_snapshot_of_the_agents_making_is_not_believed(gate, door):
    assert door.check("fs.read", path=".env").effect == "deny"
    snapshot = gate.state_dir / "state/snapshot.json"
    snapshot.write_bytes(snapshot.read_bytes().replace(b"attempted", b"exposed"))
    seen = door.check("net.request", url="http://docs.example.com/")
    assert (seen.reason, seen.decision["labels"]) == ("taint_session", ["attempted"])
    snapshot.write_bytes(snapshot.read_bytes().replace(b'["attempted"]', b"[]"))
    assert door.check("net.request", url="http://docs.example.com/").reason == "taint_session"


@pytest.mark.parametrize("own", ["config/config.yaml", "config/policy.yaml", "state/keys/log.hmac"])
def test_our_own_files_are_out_of_reach(gate, door, own):
    for tool, params in [
        ("fs.read", {"path": str(gate.top / own)}),
        ("fs.write", {"path": str(gate.top / own), "content": "x"}),
        ("shell.run", {"argv": ["cat", str(gate.top / own)]}),
        ("shell.run", {"argv": ["counterfoil", "session", "clear", "--reason", "x"]}),
    ]:
        assert door.run(tool, params).effect == "deny"
    assert door.check("net.request", url="http://docs.example.com/").reason == "taint_session"
