"""Read from the tree itself: there is one way to an effect, and it passes the whole road."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.repo.tree import ROOT, modules, parsed, relative

STAGES = ("normalize", "decide", "approve", "record", "execute", "observe")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def calls(path: Path, attribute: str) -> Iterator[ast.Call]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(f".{attribute}"):
            yield node


def test_no_door_reaches_execute_except_through_the_pipeline():
    road = modules("gateway")
    issuers = {
        relative(path)
        for path in road
        for call in calls(path, "issue")
        if ast.unparse(call.func) == "Permit.issue"
    }
    assert issuers == {"gateway/pipeline.py"}
    makers = {
        relative(path)
        for path in road
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"Permit", "permit.Permit"}
    }
    assert makers == set()
    # The stage that executes is put together in one place and carried out from one place.
    stage = {relative(path) for path in road if "gateway.execute.stage" in imports(path)}
    assert stage == {"gateway/assembly/build.py"}
    runners = {
        relative(path)
        for path in road
        for call in calls(path, "execute")
        if "executor" in ast.unparse(call.func)
    }
    assert runners == {"gateway/pipeline.py"}


def test_doors_and_commands_touch_no_stage_that_acts():
    """What they may use of execute: consent and grants (`connect`, `status`), nothing that acts."""
    allowed = {"gateway.execute.consent", "gateway.execute.grants", "gateway.execute.credential"}
    for path in modules("gateway/doors", "gateway/link", "gateway/cli"):
        used = {name for name in imports(path) if name.startswith("gateway.execute.")}
        strange = {name for name in used if not any(name.startswith(one) for one in allowed)}
        assert not strange, relative(path)


def test_only_execute_starts_processes_and_only_the_broker_command_execs():
    starters = {
        relative(path)
        for path in modules("gateway")
        if {"subprocess", "pty", "multiprocessing"} & set(imports(path))
    }
    assert starters == {"gateway/execute/running.py"}
    spawning = {
        relative(path)
        for path in modules("gateway")
        for name in ("execv", "execve", "fork", "posix_spawn", "posix_spawnp", "spawnv", "popen")
        for call in calls(path, name)
        if ast.unparse(call.func).startswith("os.")
    }
    assert spawning == {"gateway/cli/main.py", "gateway/execute/supervisor.py"}


def test_stages_never_import_each_other():
    for stage in STAGES:
        for path in (ROOT / "gateway" / stage).rglob("*.py"):
            others = {f"gateway.{other}" for other in STAGES if other != stage}
            reached = {name for name in imports(path) if ".".join(name.split(".")[:2]) in others}
            assert not reached, relative(path)
