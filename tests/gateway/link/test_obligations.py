"""Limits, `when` and what an allowed act owes, at every door and in the log."""

from __future__ import annotations

import json

import pytest

from gateway import Guard
from tests.support.gate import POLICY, Door, Gate
from tests.support.person import person

LIMITED = """\
version: 1
roots: {workspace: "WORKSPACE"}
rules:
  - {id: few, effect: allow, operations: [fs.read], resources: ["${workspace}/src/**"], limits: {count: 2}}
  - {id: sized, effect: allow, operations: [fs.write], resources: ["${workspace}/out/**"], limits: {bytes: 10}}
  - {id: slow, effect: allow, operations: [fs.list], limits: {rate: {count: 2, seconds: 604800}}}
  - {id: look, effect: allow, operations: [shell.run], programs: [cat, wc], limits: {count: 2}}
  - {id: read-more, effect: allow, operations: [fs.read]}
"""


@pytest.fixture
def limited(gate: Gate) -> Gate:
    gate.register(LIMITED)
    return gate


def reasons(door: Door, tool: str, many: list[dict]) -> list[str]:
    return [door.run(tool, params).reason for params in many]


def test_a_count_is_kept_across_sessions_and_no_later_rule_decides(
    limited: Gate, door: Door
) -> None:
    seen = reasons(door, "fs.read", [{"path": "src/a.py"}] * 3)
    assert seen == ["rule_match", "rule_match", "budget_exceeded"]
    assert door.run("fs.read", path="out/old.txt").verdict == ("allow", "read-more", "rule_match")
    intents = [one for one in limited.records() if one["kind"] == "intent"]
    assert [one.get("spends") for one in intents] == [{"few": 0}, {"few": 0}, None]
    outcomes = [one for one in limited.records() if one["kind"] == "outcome"]
    assert outcomes[0]["spends"] == {"few": len("print(1)\n")}


def test_a_check_spends_nothing(limited: Gate, door: Door) -> None:
    for _ in range(3):
        assert door.check("fs.read", path="src/a.py").reason == "rule_match"
    assert door.run("fs.read", path="src/a.py").effect == "allow"


def test_bytes_count_what_goes_out_and_what_comes_back(limited: Gate, door: Door) -> None:
    writes = [{"path": f"out/{name}", "content": "x" * size} for name, size in
              (("a", 11), ("b", 6), ("c", 5), ("d", 4), ("e", 0))]  # fmt: skip
    assert reasons(door, "fs.write", writes) == [
        "budget_exceeded", "rule_match", "budget_exceeded", "rule_match", "budget_exceeded",
    ]  # fmt: skip
    assert sorted(path.name for path in (limited.workspace / "out").iterdir()) == [
        "b", "d", "keep", "old.txt",
    ]  # fmt: skip


def test_a_rate_holds_at_every_door(limited: Gate, door: Door) -> None:
    seen = reasons(door, "fs.list", [{"path": "src"}] * 3)
    assert seen == ["rule_match", "rule_match", "rate_exceeded"]


def test_the_parts_of_a_line_count(limited: Gate, door: Door) -> None:
    line = {"command_line": "cat out/old.txt | wc -l"}
    assert door.run("shell.run", line).effect == "allow"
    assert door.run("shell.run", line).reason == "budget_exceeded"
    parts = [one for one in limited.records() if one["kind"] == "intent" and "spends" in one]
    assert [one["spends"] for one in parts] == [{"look": 0}, {"look": 0}]
    assert all("parent_id" in one for one in parts)


def test_another_door_spending_in_between_is_noticed(limited: Gate) -> None:
    where = {"config": str(limited.config), "state_dir": str(limited.state_dir)}
    path = str(limited.workspace / "src/a.py")
    with Guard(**where) as one, Guard(**where) as two:
        answers = [guard.call("fs.read", path=path) for guard in (one, two, one, two)]
    assert [answer.decision.reason for answer in answers] == [
        "rule_match", "rule_match", "budget_exceeded", "budget_exceeded",
    ]  # fmt: skip


def test_only_a_person_clears_the_usage(limited: Gate, door: Door) -> None:
    reasons(door, "fs.read", [{"path": "src/a.py"}] * 2)
    shown = json.loads(limited.cli("session", "show", "--json")[1])
    assert shown["usage"] == {"few": {"count": 2, "bytes": 18}}
    assert "limits of few: 2 acts, 18 bytes used" in limited.cli("session", "show")[1]
    assert limited.cli("session", "clear", "--usage", "--reason", "x")[0] == 2
    assert door.run("fs.read", path="src/a.py").reason == "budget_exceeded"
    with person(limited.argv("session", "clear", "--usage", "--reason", "new day")) as one:
        one.answer("yes")
        assert one.ended()[:2] == (0, "cleared\n")
    assert limited.records()[-1]["detail"] == {"cleared": ["usage"], "reason": "new day"}
    assert door.run("fs.read", path="src/a.py").effect == "allow"
    assert limited.cli("audit", "verify")[0] == 0


def test_a_restart_from_the_snapshot_keeps_the_usage(limited: Gate, door: Door) -> None:
    door.run("fs.read", path="src/a.py")
    with Guard(config=str(limited.config), state_dir=str(limited.state_dir)) as guard:
        for _ in range(260):
            guard.check("fs.read", path=str(limited.workspace / "src/a.py"))
    assert (limited.state_dir / "state" / "snapshot.json").exists()
    seen = reasons(door, "fs.read", [{"path": "src/a.py"}] * 2)
    assert seen == ["rule_match", "budget_exceeded"]


def test_when_decides_on_the_real_act(gate: Gate, door: Door) -> None:
    gate.register(POLICY.replace(
        'resources: ["${workspace}/out/**"]}\n  - {id: write-notes',
        'resources: ["${workspace}/out/**"], when: "resource.size <= 3"}\n  - {id: write-notes',
    ))  # fmt: skip
    assert door.run("fs.write", path="out/a", content="abc").effect == "allow"
    assert door.run("fs.write", path="out/b", content="abcd").verdict == (
        "deny", "write", "when_false",
    )  # fmt: skip


def owing(gate: Gate, more: str) -> None:
    gate.register(
        "version: 1\nroots: {workspace: WORKSPACE}\nrules:\n"
        f"  - {{id: owes, effect: allow, operations: [fs.read], {more}}}\n"
    )


def test_a_result_that_must_be_redacted_is_denied_while_nothing_can(gate: Gate, door: Door) -> None:
    owing(gate, "redact: [secrets]")
    assert door.run("fs.read", path="src/a.py").verdict == ("deny", "owes", "guard_unavailable")
    assert gate.kinds() == ["denied"]


def test_metadata_keeps_no_digest_of_a_value(gate: Gate, door: Door) -> None:
    owing(gate, "audit: metadata")
    door.run("fs.read", path="src/a.py")
    owing(gate, "audit: digest")
    door.run("fs.read", path="src/a.py")
    short, full = [
        {name for name in one if name.endswith(("hmac", "resources"))}
        for one in gate.records() if one["kind"] == "intent"
    ]  # fmt: skip
    assert short == {"action_hmac"}
    assert full == {"action_hmac", "resources"}
    outcomes = ["result_hmac" in one for one in gate.records() if one["kind"] == "outcome"]
    assert outcomes == [False, True]


def test_where_much_rides_on_it_the_number_shown_must_be_typed(gate: Gate) -> None:
    gate.register(
        POLICY.replace(
            "{id: write-notes, effect: ask", "{id: write-notes, effect: ask, approval: high"
        )
    )
    words = ["run", "fs.write", "path=notes/n.md", "content=x", f"cwd={gate.workspace}"]
    with person(gate.argv(*words)) as one:
        one.answer("yes")
        assert one.ended()[0] == 2
    assert not (gate.workspace / "notes/n.md").exists()
    with person(gate.argv(*words)) as one:
        one.until("Enter alone denies: ")
        number = one.shown.rpartition("Type ")[2][:4]
        assert number.isdecimal()
        assert 'rides on it: "high"' in one.shown
        one.answer(number)
        assert one.ended()[0] == 0
    assert (gate.workspace / "notes/n.md").read_text() == "x"
    asked = [record for record in gate.records() if record["kind"] == "approval.request"]
    assert [record["approval"] for record in asked] == ["high", "high"]


def test_bytes_that_go_through_a_pipe_count_for_the_file_they_came_from(
    gate: Gate, door: Door
) -> None:
    gate.register(
        "version: 1\nroots: {workspace: WORKSPACE}\nrules:\n"
        "  - {id: read, effect: allow, operations: [fs.read], limits: {bytes: 1000}}\n"
        "  - {id: look, effect: allow, operations: [shell.run], programs: [cat, wc]}\n"
    )
    (gate.workspace / "big").write_text("x" * 900)
    line = {"command_line": "cat big | cat"}
    seen = reasons(door, "shell.run", [line] * 3)
    assert seen == ["rule_match", "rule_match", "budget_exceeded"]
    used = json.loads(gate.cli("session", "show", "--json")[1])["usage"]
    assert used == {"read": {"count": 2, "bytes": 1800}}


def test_what_happened_while_the_person_was_asked_is_not_cleared(
    limited: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = {"config": str(limited.config), "state_dir": str(limited.state_dir)}
    path = str(limited.workspace / "src/a.py")

    def more(_text: str) -> None:
        with Guard(**where) as guard:
            guard.call("fs.read", path=path)

    more("")
    monkeypatch.setattr("gateway.cli.session.confirm", more)
    assert limited.cli("session", "clear", "--usage", "--reason", "x")[0] == 2
    assert json.loads(limited.cli("session", "show", "--json")[1])["usage"]["few"]["count"] == 2
