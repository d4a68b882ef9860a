"""The link: in its own process at level `embedded`; at another level nothing, and no falling back."""

from __future__ import annotations

import pytest

from gateway.assembly.build import options_from
from gateway.link.link import DaemonUnavailableError, connect, require_served
from gateway.model.event import Kind
from gateway.model.names import Status
from gateway.model.request import ActionRequest
from gateway.record.state import BusyError
from gateway.record.writer import Log


def options(gate):
    return options_from(
        door="python", policy=None, config=str(gate.config), state_dir=str(gate.state_dir)
    )


def test_a_link_checks_and_runs(gate):
    request = ActionRequest(
        tool="fs.read", params={"path": "src/a.py", "cwd": str(gate.workspace)}, id="r-1"
    )
    with connect(options(gate)) as link:
        assert link.check(request).result is None
        answer = link.run(request)
    assert answer.ok
    assert answer.result is not None
    assert answer.result.content == b"print(1)\n"
    assert gate.kinds() == ["decision", "intent", "outcome"]


@pytest.mark.parametrize("level", ["same-user", "separate"])
def test_a_daemon_level_is_a_deny_at_every_door(gate, door, level):
    gate.config.write_text(gate.config.read_text().replace("level: embedded", f"level: {level}"))
    for seen in (door.check("fs.read", path="src/a.py"), door.run("fs.read", path="src/a.py")):
        assert seen.verdict == ("deny", "builtin:fault", "daemon_unavailable")
        assert "a door never falls back" in seen.decision["message"]
        assert seen.status in {None, 2}
    with pytest.raises(DaemonUnavailableError):
        connect(options(gate))
    with pytest.raises(DaemonUnavailableError):
        require_served(options(gate))
    assert gate.cli("explain", "fs.read", "path=src/a.py")[0] == 2
    assert gate.kinds() == []


def test_a_part_of_a_line_whose_outcome_cannot_be_recorded_gives_nothing_away(gate, monkeypatch):
    real = Log.append

    def flaky(self, event, **more):
        if event.kind is Kind.OUTCOME and event.parent_id:
            raise BusyError("the lock could not be had")
        return real(self, event, **more)

    monkeypatch.setattr(Log, "append", flaky)
    request = ActionRequest(
        tool="shell.run",
        params={"command_line": "cat src/a.py; cat src/a.py", "cwd": str(gate.workspace)},
    )
    with connect(options(gate)) as link:
        answer = link.run(request)
    assert answer.result is not None
    assert (answer.result.status, answer.result.content) == (Status.UNKNOWN, b"")
    assert gate.kinds() == ["intent", "intent", "outcome"]
