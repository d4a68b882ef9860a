"""Normalize and decide, per surface, against VT-Agent-Firewall 0.3.0 on the same act in one run.

Both look at the same workspace on disk under policies that mean the same. Beside it, with the look
at the log that every act takes: how the cost grows with rules and with records. Nothing is printed unless both give the same verdict and the
corpus holds at the Python door. Bars: half of its time for each surface; from 10 to 10,000 rules
and from few to 100,000 records 1.2 times at most.

Source of the reference: PyPI, vt-agent-firewall 0.3.0 (Apache-2.0), used as it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from agent_firewall.config import Config
from agent_firewall.models import ActionRequest as TheirRequest
from agent_firewall.policy import PolicyEngine
from agent_firewall.session import SessionState as TheirSession

from benchmarks.report import Figure, finish, ratio, tail_ratio
from benchmarks.stand import standing
from gateway.assembly.build import Assembled
from gateway.model.event import Event, Kind
from gateway.model.request import ActionRequest
from scripts.run_corpus import main as run_corpus

TIMES: Final = 200
RULES: Final = (10, 10_000)
RECORDS: Final = 100_000

# ruff: noqa: E501
_POLICY: Final = """\
version: 1
roots: {{workspace: "{workspace}"}}
protected: ["${{workspace}}/.env", "${{workspace}}/secrets"]
groups: {{readers: [cat, head, ls, grep, find]}}
rules:
{more}  - {{id: read, effect: allow, operations: [fs.read, fs.list], resources: ["${{workspace}}/**"]}}
  - {{id: write, effect: allow, operations: [fs.write], resources: ["${{workspace}}/out/**"]}}
  - {{id: look, effect: allow, operations: [shell.run], programs: ["@readers"]}}
  - {{id: mcp, effect: allow, operations: [mcp.call], servers: [files], tools: [read]}}
  - {{id: cal, effect: allow, operations: [api.call], api: {{audience: calendar, operations: [read]}}}}
"""
_RULE: Final = '  - {{id: r{n}, effect: allow, operations: [fs.read], resources: ["${{workspace}}/d{n}/**"]}}\n'
_APIS: Final = """\
apis:
  calendar:
    base_url: http://127.0.0.1:9
    operations:
      read: {method: GET, path: /read, scope: calendar.read, query: {day: {type: string}}}
      drop: {method: DELETE, path: /drop, scope: calendar.write}
"""
_CALL: Final = {"server": "files", "tool": "read", "arguments": {"text": "hello"}}
_READ: Final = {"audience": "calendar", "operation": "read", "arguments": {"day": "2026-01-01"}}
_DROP: Final = {"audience": "calendar", "operation": "drop", "arguments": {}}

# name, tool, our params, their params, whether it is allowed
SURFACES: Final[tuple[tuple[str, str, dict[str, Any], dict[str, Any], bool], ...]] = (
    ("fs.read allow", "fs.read", {"path": "src/a.py"}, {"path": "src/a.py"}, True),
    ("fs.read deny", "fs.read", {"path": ".env"}, {"path": ".env"}, False),
    ("fs.write", "fs.write", {"path": "out/x", "content": "x"}, {"path": "out/x", "content": "x"}, True),
    ("argv read", "shell.run", {"argv": ["cat", "src/a.py"]},
     {"command": "cat", "args": ["src/a.py"]}, True),
    ("shell line", "shell.run", {"command_line": "cat src/a.py"},
     {"command_line": "cat src/a.py", "via_shell": True}, True),
    ("recursive grep", "shell.run", {"argv": ["grep", "-rn", "x", "src"]},
     {"command": "grep", "args": ["-rn", "x", "src"]}, True),
    ("net deny", "net.request", {"url": "https://evil.example/?q=1"},
     {"url": "https://evil.example/?q=1"}, False),
    ("mcp call", "mcp.call", _CALL, _CALL, True),
    ("api allow", "api.call", _READ, _READ, True),
    ("api deny", "api.call", _DROP, _DROP, False),
)  # fmt: skip


def main() -> int:
    """Measure, compare, print."""
    if run_corpus(["--door", "python", "--json"]) != 0:
        raise SystemExit("the corpus does not hold: nothing to measure")
    with TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        workspace = _workspace(top)
        theirs = PolicyEngine(_config(workspace))
        figures: list[Figure] = []
        with _gate(top, "few", RULES[0]) as few, _gate(top, "many", RULES[1]) as many:
            for name, tool, ours, their, allowed in SURFACES:
                mine = _ours(few, tool, ours, allowed=allowed)
                other = _theirs(theirs, tool, their, allowed=allowed)
                median, p99 = ratio(mine, other, times=TIMES), tail_ratio(mine, other)
                figures.append(Figure(name=f"{name}, median", value=median, unit="x", bar=0.5))
                figures.append(Figure(name=f"{name}, p99", value=p99, unit="x"))
            read = ("fs.read", {"path": "src/a.py"})
            one = _ours(few, *read, allowed=True, looking=True)
            flat = ratio(_ours(many, *read, allowed=True, looking=True), one, times=TIMES)
            figures.append(Figure(name="10,000 rules / 10", value=flat, unit="x", bar=1.2))
            with _gate(top, "long", RULES[0]) as long:
                _fill(long)
                flat = ratio(_ours(long, *read, allowed=True, looking=True), one, times=TIMES)
                figures.append(Figure(name="100,000 records / few", value=flat, unit="x", bar=1.2))
        return finish(figures)


def _workspace(top: Path) -> Path:
    workspace = top / "ws"
    for name in ("src/lib", "out", "secrets"):
        (workspace / name).mkdir(parents=True)
    for name in ("src/a.py", "src/lib/b.py", "src/lib/c.py", ".env", "secrets/key"):
        (workspace / name).write_text("x = 1\n", encoding="utf-8")
    return workspace


def _config(workspace: Path) -> Config:
    raw = {
        "sandbox_root": str(workspace),
        "protected_paths": [str(workspace / ".env"), str(workspace / "secrets")],
        "writable_dirs": [str(workspace / "out")],
        "shell_allowlist": ["cat", "head", "ls", "grep", "find"],
        "mcp_registry": {"files": ["read"]},
        "apis": {
            "calendar": {
                "read": {"scope": "calendar.read", "decision": "allow"},
                "drop": {"scope": "calendar.write", "decision": "block"},
            }
        },
    }
    return Config.from_raw(json.loads(json.dumps(raw)), workspace)


def _gate(top: Path, name: str, rules: int) -> AbstractContextManager[Assembled]:
    more = "".join(_RULE.format(n=number) for number in range(rules))
    policy = _POLICY.format(workspace=top / "ws", more=more)
    return standing(top, name, workspace=top / "ws", policy=policy, more=_APIS)


def _ours(
    gate: Assembled, tool: str, params: dict[str, Any], *, allowed: bool, looking: bool = False
) -> Callable[[], object]:
    """Return a loop that normalizes and decides once, with a look at the log if `looking`."""
    request = ActionRequest(tool=tool, params=params)
    pipeline, caller = gate.pipeline, gate.caller
    known = pipeline.recorder.state(caller.scope)

    def once() -> str:
        action = pipeline.normalizer.normalize(request)
        state = pipeline.recorder.state(caller.scope) if looking else known
        decision = pipeline.decider.decide(action, caller, state)
        action.release()
        return decision.effect.word

    if (once() == "allow") is not allowed:
        raise SystemExit(f"{tool} {params}: not what was expected")
    return once


def _theirs(
    engine: PolicyEngine, tool: str, params: dict[str, Any], *, allowed: bool
) -> Callable[[], object]:
    def once() -> str:
        request = TheirRequest(actor="agent", tool=tool, params=params)
        return str(engine.evaluate(request, TheirSession()).decision.value)

    if (once() == "allow") is not allowed:
        raise SystemExit(f"{tool} {params}: the reference says otherwise")
    return once


def _fill(gate: Assembled) -> None:
    """Write many records, as a long use would have left them."""
    request = ActionRequest(tool="fs.read", params={"path": "src/a.py"})
    action = gate.pipeline.normalizer.normalize(request)
    state = gate.pipeline.recorder.state(gate.caller.scope)
    decision = gate.pipeline.decider.decide(action, gate.caller, state)
    action.release()
    event = Event.of(Kind.DECISION, gate.caller, "bench", action, decision)
    for _ in range(RECORDS):
        gate.log.append(event, sync=False)


if __name__ == "__main__":
    sys.exit(main())
