"""`session`: taint is shown to all, cleared by a person only, with a reason that is recorded."""

from __future__ import annotations

import json

import pytest

from tests.support.gate import picture
from tests.support.person import person

CONFIRM = "Enter alone denies: "


def taint(gate):
    gate.cli("check", "fs.read", "path=.env", f"cwd={gate.workspace}")


def test_show_tells_taint_and_its_source_and_changes_nothing(gate):
    shown = json.loads(gate.cli("session", "show", "--json")[1])
    assert (shown["taint"], shown["suspended"], shown["sources"]) == ([], False, [])
    taint(gate)
    before = picture(gate.top)
    status, out, _ = gate.cli("session", "show", "--json")
    assert picture(gate.top) == before
    shown = json.loads(out)
    source = gate.records()[0]["action_id"]
    assert (status, shown["taint"]) == (0, ["attempted"])
    assert shown["sources"] == [{"taint": "attempted", "action_id": source}]
    assert shown["scope"] == gate.records()[0]["scope"]
    assert f"attempted since act {source}" in gate.cli("session", "show")[1]


def test_a_person_clears_it_and_says_why(gate):
    taint(gate)
    with person(gate.argv("session", "clear", "--reason", "looked at it")) as one:
        one.answer("yes", CONFIRM)
        status, out, err = one.ended()
    assert (status, out, err) == (0, "cleared\n", "")
    assert "Reason: looked at it" in one.shown
    record = gate.records()[-1]
    assert record["kind"] == "session.clear"
    assert record["detail"] == {"cleared": ["attempted"], "reason": "looked at it"}
    assert gate.cli("check", "net.request", "url=http://docs.example.com/")[0] == 0
    assert gate.cli("audit", "verify")[0] == 0


def test_another_answer_clears_nothing(gate):
    taint(gate)
    with person(gate.argv("session", "clear", "--reason", "x")) as one:
        one.answer("y", CONFIRM)
        status, _, err = one.ended()
    assert status == 2
    assert "approval_denied" in err
    assert gate.kinds() == ["decision"]


def test_without_a_terminal_nobody_clears(gate):
    taint(gate)
    done = gate.process("session", "clear", "--reason", "x", stdin=b"yes\nyes\n")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"approval_unavailable: no live approver" in done.stderr
    assert gate.kinds() == ["decision"]


@pytest.mark.parametrize("reason", ["", "x" * 201])
def test_a_reason_has_a_length(gate, reason):
    taint(gate)
    status, _, err = gate.cli("session", "clear", "--reason", reason)
    assert (status, err) == (1, "--reason: 1 to 200 characters\n")


def test_a_reason_is_needed(gate):
    assert gate.cli("session", "clear")[0] == 1


def test_nothing_to_clear_asks_nobody(gate):
    status, out, _ = gate.cli("session", "clear", "--reason", "x")
    assert status == 0
    assert "nothing to clear" in out
    assert gate.kinds() == []


def test_a_daemon_level_is_not_served(gate):
    gate.config.write_text(gate.config.read_text().replace("embedded", "separate", 2))
    status, out, err = gate.cli("session", "show")
    assert (status, out) == (2, "")
    assert "daemon_unavailable" in err
