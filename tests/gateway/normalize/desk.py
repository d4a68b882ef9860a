"""A workspace to run commands in: real files, a real repository, the real programs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from gateway.model.action import Action
from gateway.model.catalogue import RootPath
from gateway.model.names import Json
from gateway.model.plan import RunCommand
from gateway.model.request import ActionRequest
from gateway.model.resource import PathResource
from gateway.normalize.commands import normalize_command
from gateway.normalize.hardlinks import Guard
from gateway.normalize.roots import Roots
from gateway.normalize.settings import Settings


@dataclass
class Desk:
    """`top` holds the root `ws`; actions are released at the end."""

    top: Path
    ws: Path
    settings: Settings
    actions: list[Action] = field(default_factory=list)

    def write(self, files: dict[str, str]) -> None:
        for name, content in files.items():
            path = self.ws / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def ask(self, command: str | Sequence[str], cwd: str | None = None) -> Action:
        key = "command_line" if isinstance(command, str) else "argv"
        params: dict[str, Json] = {key: command if isinstance(command, str) else list(command)}
        if cwd is not None:
            params["cwd"] = cwd
        action = normalize_command(ActionRequest(tool="shell.run", params=params), self.settings)
        self.actions.append(action)
        return action

    def plan(self, command: str | Sequence[str], cwd: str | None = None) -> RunCommand:
        action = self.ask(command, cwd)
        assert action.refusal is None, action.refusal
        assert isinstance(action.plan, RunCommand)
        return action.plan

    def output(self, command: str | Sequence[str], cwd: str | None = None) -> str:
        """What the program prints when it is started as planned."""
        done = start(self.plan(command, cwd))
        assert done.returncode == 0, done
        return done.stdout.decode()

    def reason(self, command: str | Sequence[str], cwd: str | None = None) -> str:
        action = self.ask(command, cwd)
        assert action.plan is None
        return "" if action.refusal is None else action.refusal.reason

    def reached(self, command: str | Sequence[str], operation: str = "fs.read") -> set[str]:
        """Paths of the action's resources for one operation, seen from the workspace."""
        action = self.ask(command)
        assert action.refusal is None, action.refusal
        return within(self, action, operation)

    def git(self, *words: str) -> str:
        command = ["git", "-C", str(self.ws), "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        return subprocess.run(command, check=True, capture_output=True).stdout.decode()

    def repository(self, files: dict[str, str]) -> None:
        self.write(files)
        self.git("init", "-q", "-b", "main")
        self.git("add", "-f", *files)
        self.git("commit", "-q", "-m", "first")


def start(plan: RunCommand) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        plan.argv,
        executable=plan.executable,
        env=dict(plan.environment),
        cwd=f"/proc/self/fd/{plan.cwd_fd}",
        pass_fds=(plan.cwd_fd,),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )


def within(desk: Desk, action: Action, operation: str) -> set[str]:
    return {
        "." if one.path == str(desk.ws) else one.path.removeprefix(f"{desk.ws}/")
        for one in action.resources
        if isinstance(one, PathResource) and one.operation == operation
    }


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def opened(tmp_path: Path, **changes: object) -> Iterator[Desk]:
    top = tmp_path.resolve()
    ws = top / "ws"
    ws.mkdir()
    guard = Guard(is_protected=lambda path: ".env" in path.split("/"))
    with Roots.open([RootPath(name="workspace", path=str(ws))]) as roots:
        settings = Settings(roots=roots, guard=guard, left_out=("**/.env",))
        desk = Desk(top=top, ws=ws, settings=replace(settings, **changes))  # type: ignore[arg-type]
        yield desk
        for action in desk.actions:
            action.release()
