"""Where things lie: never where `HOME` says; where XDG and the operator say."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.assembly import places as module
from gateway.assembly.places import home, places, user_name
from gateway.errors import ConfigError
from tests.support.gate import POLICY, ROOT

REAL = Path(pwd.getpwuid(os.getuid()).pw_dir)


def test_home_is_the_password_databases():
    found = places(config=None, state_dir=None, environment={"HOME": "/tmp/spoofed"})
    assert found.config == REAL / ".config/counterfoil/config.yaml"
    assert found.state_dir == REAL / ".local/state/counterfoil"
    assert (home(), user_name()) == (REAL, pwd.getpwuid(os.getuid()).pw_name)


def test_xdg_is_honoured_when_absolute():
    found = places(
        config=None,
        state_dir=None,
        environment={"XDG_CONFIG_HOME": "/a/c", "XDG_STATE_HOME": "/a/s"},
    )
    assert found.config == Path("/a/c/counterfoil/config.yaml")
    assert found.state_dir == Path("/a/s/counterfoil")
    for value in ("", "relative", "./x", "~/x"):
        found = places(config=None, state_dir=None, environment={"XDG_STATE_HOME": value})
        assert found.state_dir == REAL / ".local/state/counterfoil"


def test_the_operators_word_counts_more():
    found = places(config="/x/../y/c.yaml", state_dir="/s", environment={"XDG_CONFIG_HOME": "/a/c"})
    assert (found.config, found.state_dir) == (Path("/y/c.yaml"), Path("/s"))
    assert found.kept == ("/y", "/s")
    system = ("/etc/counterfoil", "/var/lib/counterfoil", "/run/counterfoil")
    assert found.own == ("/y", "/s", f"/run/user/{os.getuid()}/counterfoil", *system)
    named = places(config="/y/c", state_dir="/s", environment={"XDG_RUNTIME_DIR": "/r"})
    assert named.runtime == Path("/r/counterfoil")
    assert named.managed == Path("/etc/counterfoil/managed.yaml")
    assert found.keys == Path("/s/keys")
    assert found.gateway_key == Path("/s/keys/gateway.pem")
    assert (found.log, found.grants) == (Path("/s/log"), Path("/s/state/grants.json"))
    for bad in ("", "a\0b"):
        with pytest.raises(ConfigError, match="--config: not a path"):
            places(config=bad, state_dir=None)
        with pytest.raises(ConfigError, match="--state-dir: not a path"):
            places(config=None, state_dir=bad)


def test_a_user_without_entry_is_told(monkeypatch):
    monkeypatch.setattr(module.os, "getuid", lambda: 3_999_999)
    with pytest.raises(ConfigError, match="uid 3999999 has no entry"):
        places(config="/c", state_dir="/s")


def test_a_spoofed_home_moves_nothing(gate):
    """A real process with HOME elsewhere stands on the same configuration, and on no other."""
    elsewhere = gate.top / "spoofed"
    (elsewhere / ".config/counterfoil").mkdir(parents=True)
    (elsewhere / ".config/counterfoil/config.yaml").write_text("version: 1\nlevel: separate\n")
    done = gate.process("status", "--json", environment={"HOME": str(elsewhere)})
    assert done.returncode == 0
    assert json.loads(done.stdout)["config"] == str(gate.config)
    assert sorted(path.name for path in elsewhere.iterdir()) == [".config"]


def test_a_process_honours_xdg(tmp_path):
    (tmp_path / "ws").mkdir()
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "c"),
        "XDG_STATE_HOME": str(tmp_path / "s"),
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gateway.cli.main", *words],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert run("init", "--workspace", str(tmp_path / "ws")).returncode == 0
    told = json.loads(run("status", "--json").stdout)
    assert told["config"] == str(tmp_path / "c/counterfoil/config.yaml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "s", "ws"]
    assert (tmp_path / "s/counterfoil/keys/log.hmac").is_file()


def test_a_spoofed_home_unprotects_nothing(gate):
    gate.register(POLICY.replace('"**/vault"', '"${home}/.hidden"'))
    words = ["check", "fs.read", f"path={REAL}/.hidden/x"]
    done = gate.process(*words, environment={"HOME": str(gate.workspace)})
    assert done.returncode == 2
    assert gate.records()[0]["taint"] == ["attempted"]
