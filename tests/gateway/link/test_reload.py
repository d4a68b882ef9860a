"""Reload: the new counts only when it stands whole; else the old goes on, and log and status say so."""

from __future__ import annotations

import json

import pytest

from gateway import Guard
from gateway.errors import RecordError
from tests.support.gate import POLICY, open_descriptors

NARROWER = POLICY.replace("  - {id: read, effect: allow", "  - {id: read, effect: ask")


@pytest.fixture
def guard(gate):
    with Guard(config=str(gate.config), state_dir=str(gate.state_dir)) as guard:
        yield guard


def read(gate, guard):
    decision = guard.check("fs.read", path="src/a.py", cwd=str(gate.workspace))
    return decision.effect.word, decision.reason


def status(gate):
    return json.loads(gate.cli("status", "--json")[1])


def test_a_policy_that_changed_counts_from_the_reload_on(gate, guard):
    before = guard.reload()
    assert before.ok
    gate.register(NARROWER)
    assert read(gate, guard) == ("allow", "rule_match")
    after = guard.reload()
    assert (after.ok, after.reason, after.message) == (True, "done", "")
    assert after.digest != before.digest
    assert read(gate, guard) == ("ask", "rule_match")
    loads = [one["detail"] for one in gate.records() if one["kind"] == "policy.load"]
    assert loads == [
        {"verdict": "loaded", "policy_digest": before.digest},
        {"verdict": "loaded", "policy_digest": after.digest},
    ]
    assert gate.records()[-1]["policy_digest"] == after.digest
    assert status(gate)["reload"].startswith("loaded, 20")


def _set_level(gate):
    gate.config.write_text(gate.config.read_text().replace("level: embedded", "level: same-user"))


@pytest.mark.parametrize(
    ("breaks", "reason"),
    [
        (lambda gate: gate.policy.write_text("version: 1\n"), "policy_invalid"),
        (lambda gate: gate.policy.unlink(), "policy_invalid"),
        (lambda gate: gate.configure("surprise: 1\n"), "config_invalid"),
        (lambda gate: gate.config.unlink(), "config_invalid"),
        (_set_level, "config_invalid"),
    ],
    ids=["digest", "no policy", "config", "no config", "level"],
)
def test_what_cannot_stand_leaves_the_old_in_force_and_is_recorded(gate, guard, breaks, reason):
    digest = guard.reload().digest
    held = open_descriptors()
    breaks(gate)
    kept = guard.reload()
    assert (kept.ok, kept.digest, kept.reason) == (False, digest, reason)
    assert kept.message
    assert read(gate, guard) == ("allow", "rule_match")
    assert open_descriptors() == held
    load = gate.records()[-2]
    assert load["detail"] == {"verdict": "kept", "policy_digest": digest, "reason": reason}
    assert gate.records()[-1]["policy_digest"] == digest


def test_status_says_that_a_reload_failed(gate, guard):
    good = gate.policy.read_bytes()
    gate.policy.write_text("version: 1\n")
    guard.reload()
    gate.policy.write_bytes(good)
    shown = status(gate)["reload"]
    assert shown.startswith("failed, the policies before it went on (policy_invalid), 20")


def test_the_session_the_mode_and_the_taint_go_on_as_configured(gate, guard):
    where = {"cwd": str(gate.workspace)}
    guard.check("fs.read", path=".env", **where)
    gate.configure("mode: observe\n")
    assert guard.check("fs.write", path="src/a.py", content="x", **where).would is None
    assert guard.reload().ok
    assert guard.check("fs.write", path="src/a.py", content="x", **where).would is not None
    assert guard.check("net.request", url="http://docs.example.com/").reason == "taint_session"
    assert len({one["session"] for one in gate.records()}) == 1
    assert [one["mode"] for one in gate.records()][-2:] == ["observe", "observe"]


def test_nothing_is_leaked_by_many(gate, guard):
    assert guard.reload().ok
    held = open_descriptors()
    for _ in range(5):
        assert guard.reload().ok
    assert open_descriptors() == held


def test_what_cannot_be_recorded_is_not_loaded(gate, guard, monkeypatch):
    digest = guard.reload().digest
    gate.register(NARROWER)

    def full(*_, **__):
        raise RecordError("no room")

    with monkeypatch.context() as broken:
        broken.setattr("gateway.record.writer.Log.append", full)
        kept = guard.reload()
    assert (kept.ok, kept.digest, kept.reason) == (False, digest, RecordError.code)
    assert read(gate, guard) == ("allow", "rule_match")


def test_a_guard_that_could_not_be_opened_opens_and_a_closed_one_stays_closed(gate):
    good = gate.policy.read_bytes()
    gate.policy.write_text("version: 1\n")
    guard = Guard(config=str(gate.config), state_dir=str(gate.state_dir))
    assert (guard.reload().ok, guard.reload().reason) == (False, "policy_invalid")
    gate.policy.write_bytes(good)
    assert read(gate, guard) == ("deny", "policy_invalid")
    assert guard.reload().ok
    assert read(gate, guard) == ("allow", "rule_match")
    guard.close()
    closed = guard.reload()
    assert (closed.ok, closed.digest) == (False, "")
    assert "closed" in closed.message
