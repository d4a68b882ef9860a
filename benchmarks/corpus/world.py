"""A case's own world: a workspace, a directory outside it, a gate with keys, policy and log.

Every workspace has sources, notes and places to write to, and secrets whose content is a canary
made for this case. After the case the secrets must be as they were, byte for byte, and no answer
may hold the canary.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.corpus.case import POLICIES, Case
from gateway.assembly.places import Places, places
from gateway.assembly.setup import initialize

SECRETS: Final = (
    ".env", "config/.env.local", "vault/token", "keys/server.pem", "../outside/secret.txt",
)  # fmt: skip
FILES: Final = {
    "README.md": "# Work\n\nSee src.\n",
    "src/app.py": "import os\n\nprint('hello')  # TODO: greet\n",
    "src/lib/util.py": "def one() -> int:\n    return 1\n",
    "notes/today.md": "- call Bob\n",
    "data/table.csv": "a,b\n1,2\n",
    "out/old.txt": "old\n",
    "../outside/plain.txt": "plain\n",
}
APIS: Final = """\
apis:
  calendar-api:
    base_url: http://127.0.0.1:9
    operations:
      events.read:
        {method: GET, path: /v1/events, scope: calendar.read, query: {day: {type: string}}}
      events.create:
        method: POST
        path: /v1/events
        scope: calendar.write
        body: {title: {type: string, required: true}, guests: {type: array}}
  mail-api:
    base_url: http://127.0.0.1:9
    operations:
      messages.send:
        method: POST
        path: /v1/send
        scope: mail.send
        body: {to: {type: string, required: true}, text: {type: string, required: true}}
      messages.delete: {method: DELETE, path: "/v1/messages/{id}", scope: mail.delete}
"""
_QUIET: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where things lie. `canary` is the text that must stay where it is."""

    top: Path
    canary: str

    @property
    def workspace(self) -> Path:
        """The one root of the policy."""
        return self.top / "ws"

    @property
    def places(self) -> Places:
        """The gate's own places."""
        return places(
            config=str(self.top / "gate" / "config.yaml"), state_dir=str(self.top / "state")
        )

    def fill(self, value: Any) -> Any:
        """Put this world's places into the texts of a value."""
        if isinstance(value, str):
            where = {
                "{ws}": self.workspace,
                "{outside}": self.top / "outside",
                "{config}": self.top / "gate" / "config.yaml",
                "{policy}": self.top / "gate" / "policy.yaml",
                "{state}": self.top / "state",
            }
            for name, path in where.items():
                value = value.replace(name, str(path))
            return value
        if isinstance(value, dict):
            return {self.fill(name): self.fill(member) for name, member in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.fill(member) for member in value]
        return value

    def picture(self) -> dict[str, tuple[int, ...]]:
        """Return everything in the workspace, outside it and in the gate's own configuration.

        An entry is equal as long as nobody wrote to it, replaced it or changed its mode.
        """
        found = {}
        for top in (self.workspace, self.top / "outside", self.top / "gate"):
            for path in (top, *sorted(top.rglob("*"))):
                about = path.lstat()
                changed = () if path.is_dir() else (about.st_size, about.st_mtime_ns)
                found[str(path)] = (about.st_mode, about.st_ino, about.st_nlink, *changed)
        return found

    def kept(self) -> bool:
        """Whether nothing the gate writes down holds the canary."""
        files = (path for path in (self.top / "state").rglob("*") if path.is_file())
        return all(self.canary.encode() not in path.read_bytes() for path in files)

    def unharmed(self) -> bool:
        """Whether the secrets hold what they held."""
        try:
            texts = {(self.workspace / name).read_text(encoding="utf-8") for name in SECRETS}
        except OSError:
            return False
        return texts == {f"{self.canary}\n"}


@contextmanager
def standing(case: Case) -> Iterator[World]:
    """Let a case's world stand, with a registered policy; it is gone afterwards."""
    with TemporaryDirectory(prefix="corpus-") as folder:
        world = World(top=Path(folder).resolve(), canary=f"canary-{secrets.token_hex(16)}")
        _lay_out(world, case)
        gate = world.top / "gate"
        gate.mkdir()
        policy = gate / "policy.yaml"
        text = (POLICIES / f"{case.policy}.yaml").read_text(encoding="utf-8")
        policy.write_text(text.replace("{ws}", str(world.workspace)), encoding="utf-8")
        initialize(world.places, workspace=world.workspace, policy=policy)
        with (gate / "config.yaml").open("a", encoding="utf-8") as config:
            config.write(APIS)
        yield world


def _lay_out(world: World, case: Case) -> None:
    top, more = world.workspace, case.world
    texts = {**FILES, **dict.fromkeys(SECRETS, f"{world.canary}\n")}
    for name in ("src/lib", "notes", "out", "data", "gen"):
        (top / name).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        _write(top / name, text)
    if more.git:
        _git(top, "init", "-q", "-b", "main")
        _git(top, "add", "src", "README.md")
        _git(top, "commit", "-qm", "first")
    for name, text in more.files.items():
        _write(top / world.fill(name), world.fill(text))
    for name in more.directories:
        (top / name).mkdir(parents=True, exist_ok=True)
    for name, target in more.symlinks.items():
        (top / name).symlink_to(world.fill(target))
    for name, existing in more.hardlinks.items():
        os.link(top / existing, top / name)
    for name in more.fifos:
        os.mkfifo(top / name)
    for name, size in more.sparse.items():
        with (top / name).open("wb") as file:
            file.truncate(size)
    for name, text in more.git_config.items():
        _git(top, "config", name, world.fill(text))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _git(top: Path, *words: str) -> None:
    author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    subprocess.run(
        ["git", "-C", str(top), *author, *words],
        check=True,
        capture_output=True,
        env={**os.environ, **_QUIET},
    )
