"""`make demo` as a process: what it shows is what happened, and nothing is left running."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.demo_steps import STEPS
from tests.support.gate import ROOT

FAKE_KEY = "demo-key-0000-THIS-IS-FAKE-4f1d"


def demo(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run the demo with its temporary folders beneath one of ours; nothing outlives it."""
    done = subprocess.run(
        [sys.executable, "-m", "scripts.run_demo", *words],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert _naming(folder) == []
    assert list(folder.iterdir()) == []
    return done.returncode, done.stdout, done.stderr


def _naming(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes()
        except OSError:
            continue
        if str(folder).encode() in words:
            found.append(words.decode("utf-8", "replace"))
    return found


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    status, out, err = demo(tmp_path_factory.mktemp("demo"), "--json")
    assert status == 0, err + out
    return json.loads(out)


def by_title(shown, side: str) -> dict[str, dict]:
    return {step.title: done for step, done in zip(STEPS, shown[side], strict=True)}


def test_it_is_ok(shown):
    assert shown["ok"] is True
    assert shown["left_running"] == []


def test_without_the_firewall_every_step_is_done_and_the_key_arrives(shown):
    assert {done["effect"] for done in shown["without"]} == {"done"}
    assert any(FAKE_KEY in body for body in shown["arrived_without"])


def test_the_benign_steps_are_done_first(shown):
    done = by_title(shown, "with")
    for step in STEPS:
        if step.part == "errand" and step.title != "send a mail (nobody answers)":
            assert done[step.title]["effect"] == "done", step
    assert "TODO" in done["read notes/today.md"]["content"]
    assert json.loads(done["read the calendar"]["content"])["events"]


def test_the_mail_asks_on_the_demos_own_terminal_and_does_not_happen(shown):
    done = by_title(shown, "with")["send a mail (nobody answers)"]
    assert (done["effect"], done["reason"]) == ("deny", "approval_timeout")
    assert "an agent asks for an act" in shown["asked"]
    assert "no answer in time: denied" in shown["asked"]
    assert shown["journals"]["mail-api"] == 0


def test_the_planted_instruction_names_the_receivers_real_port(shown):
    readme = by_title(shown, "with")["read project/README.md (poisoned)"]["content"]
    assert "{{RECEIVER}}" not in readme
    assert "127.0.0.1:" in readme


def test_each_hostile_step_is_denied_and_nothing_arrives(shown):
    for step, done in zip(STEPS, shown["with"], strict=True):
        if step.part == "bait":
            assert done["effect"] == "deny", step
            assert FAKE_KEY not in done["content"]
    assert shown["arrived_with"] == []
    assert FAKE_KEY not in json.dumps(shown["with"])


def test_the_calendar_afterwards_is_denied_because_the_session_is_tainted(shown):
    done = by_title(shown, "with")["read the calendar again"]
    assert (done["effect"], done["reason"]) == ("deny", "taint_session")
    assert shown["journals"] == {"calendar-api": 1, "mail-api": 0, "files-api": 0}


def test_every_step_is_recorded_and_the_log_verifies(shown):
    assert (shown["audit"]["exit_code"], shown["audit"]["verdict"]) == (0, "ok")
    assert shown["audit"]["unresolved"] == []
    counts = shown["summary"]["reasons"]
    assert counts["fs_protected"] == 3
    assert counts["taint_session"] == 3
    assert counts["approval_timeout"] == 1
    assert shown["summary"]["kinds"]["denied"] == 7
    assert shown["summary"]["outcomes"] == {"done": shown["summary"]["kinds"]["intent"]}


def test_health_starts_everything_and_stops_it(tmp_path):
    status, out, err = demo(tmp_path, "--health")
    assert status == 0, err
    assert out.splitlines()[-1].startswith("health: ok ")


def test_without_the_firewall_alone(tmp_path):
    status, out, err = demo(tmp_path, "--no-firewall")
    assert status == 0, err
    assert "key arrived at the receiver, without firewall: YES" in out
    assert "with counterfoil:" not in out
