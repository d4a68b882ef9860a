"""`status`: one look at everything; a broken part is shown and is exit status 2."""

from __future__ import annotations

import json

import pytest

from tests.support.gate import HANDLE, NOWHERE, picture


def shown(gate, expected: int = 0) -> dict:
    status, out, _ = gate.cli("status", "--json")
    assert status == expected, out
    return json.loads(out)


def test_everything_stands(gate):
    gate.with_apis(issuer=NOWHERE)
    before = picture(gate.top)
    told = shown(gate)
    assert picture(gate.top) == before
    assert told["level"] == "embedded"
    assert told["config"] == str(gate.config)
    assert told["policy"].startswith("policy-v1:sha256:")
    assert told["roots"] == {"workspace": str(gate.workspace)}
    assert (told["taint"], told["suspended"], told["unresolved"]) == ([], False, 0)
    assert told["grants"][0].startswith("g-1: alice to demo, ")
    assert HANDLE not in json.dumps(told)
    gate.cli("check", "fs.read", "path=.env", f"cwd={gate.workspace}")
    told = shown(gate)
    assert (told["taint"], told["log"]) == (
        ["attempted"],
        "ok: 1 records, whole, up to the signed head",
    )
    text = gate.cli("status")[1]
    assert "taint      attempted\nsuspended  no\n" in text
    assert f"roots      workspace: {gate.workspace}\n" in text


def _lose_key(gate):
    (gate.state_dir / "keys/head.key").unlink()


def _edit_policy(gate):
    gate.policy.write_text(gate.policy.read_text() + "# edited\n")
    gate.policy.write_text(gate.policy.read_text().replace("[fs.read, fs.list]", "[fs.read]"))


def _daemon(gate):
    gate.config.write_text(gate.config.read_text().replace("level: embedded", "level: same-user"))


def _bad_policy(gate):
    gate.policy.write_text("version: 1\nsurprise: 1\n")


@pytest.mark.parametrize(
    ("breaks", "word"),
    [
        (_lose_key, "record_unavailable"),
        (_edit_policy, "policy_digest_mismatch"),
        (_daemon, "daemon_unavailable"),
        (_bad_policy, "policy_invalid"),
    ],
)
def test_what_is_broken_is_named(gate, breaks, word):
    breaks(gate)
    assert shown(gate, 2)["fault"].startswith(word)


def test_a_damaged_log_is_shown(gate):
    gate.cli("check", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    gate.cli("check", "fs.read", "path=src/a.py", f"cwd={gate.workspace}")
    (path,) = gate.log_files()
    path.write_bytes(path.read_bytes().replace(b'"uid":', b'"uid":1', 1))
    (gate.state_dir / "state/snapshot.json").unlink()
    assert "does not continue the log" in shown(gate, 2)["fault"]


def test_a_configuration_that_does_not_parse(gate):
    gate.configure("surprise: 1\n")
    status, _, err = gate.cli("status", "--json")
    assert status == 2
    assert "config_invalid" in err
    assert "surprise" in err
