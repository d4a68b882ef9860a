"""A fresh workspace, state and configuration for the demo and for `make serve`.

Everything lies beneath one folder: `workspace/` (a copy of `demo_workspace/`), `config/` and
`state/`. The gateway is set up with its own commands, as an operator would.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.assembly.places import user_name
from scripts.services import AGENT, CLIENT, REPOSITORY, USER, ServiceError, Services, consent, run

CONNECT_S: Final = 60
SCOPES: Final = ("calendar.read", "mail.send", "mail.delete")

_OPERATIONS: Final = """\
apis:
  calendar-api:
    base_url: {calendar-api}
    operations:
      events.read:
        {{method: GET, path: /v1/events, scope: calendar.read, query: {{day: {{type: string}}}}}}
  mail-api:
    base_url: {mail-api}
    operations:
      messages.send:
        method: POST
        path: /v1/messages/send
        scope: mail.send
        body:
          to: {{type: array, required: true, max_length: 20}}
          subject: {{type: string, required: true, max_length: 200}}
          body: {{type: string, required: true}}
      messages.delete: {{method: DELETE, path: "/v1/messages/{{id}}", scope: mail.delete}}
broker:
  issuer: {issuer}
  client_id: {client}
  agent: {agent}
  users: {{{os_user}: {user}}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where one run's things lie."""

    folder: Path

    @property
    def workspace(self) -> Path:
        """The agent's files."""
        return self.folder / "workspace"

    @property
    def config(self) -> Path:
        """The gateway's configuration."""
        return self.folder / "config" / "counterfoil" / "config.yaml"

    @property
    def state_dir(self) -> Path:
        """The gateway's keys, log and state."""
        return self.folder / "state" / "counterfoil"

    @property
    def places(self) -> list[str]:
        """The options that name them."""
        return ["--config", str(self.config), "--state-dir", str(self.state_dir)]

    def counterfoil(self, *words: str) -> str:
        """Run one of the gateway's commands; return its standard output."""
        return run(["-m", "gateway.cli.main", *words, *self.places])


def lay(folder: Path, *, receiver: str) -> Workplace:
    """Copy the bait, with the receiver's real address in it."""
    place = Workplace(folder=folder)
    shutil.copytree(REPOSITORY / "demo_workspace", place.workspace)
    for path in place.workspace.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("{{RECEIVER}}", receiver), encoding="utf-8")
    return place


def set_up(place: Workplace, services: Services, *, approval_timeout_s: int) -> None:
    """Create keys and configuration, register the policy, get a grant from the demo user."""
    place.config.parent.mkdir(parents=True)
    policy = place.config.parent / "policy.yaml"
    text = (REPOSITORY / "policies" / "demo.yaml").read_text(encoding="utf-8")
    text = text.replace('workspace: "."', f'workspace: "{place.workspace}"')
    text = re.sub(r"approval_timeout_s: \d+", f"approval_timeout_s: {approval_timeout_s}", text)
    policy.write_text(text, encoding="utf-8")
    place.counterfoil("init", "--policy", str(policy))
    words = {
        **services.urls,
        "issuer": services.issuer,
        "client": CLIENT,
        "agent": AGENT,
        "os_user": user_name(),
        "user": USER,
    }
    with place.config.open("a", encoding="utf-8") as file:
        file.write(_OPERATIONS.format(**words))
    services.register_gateway(place.state_dir / "keys" / "gateway.jwk")
    connect(place, services)


def connect(place: Workplace, services: Services) -> None:
    """Run `counterfoil connect` and be the person at the consent page it names."""
    words = ["connect", *SCOPES, "--purpose", "demo", "--no-browser", *place.places]
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway.cli.main", *words],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    killer = threading.Timer(CONNECT_S, process.kill)
    killer.start()
    try:
        url = process.stdout.readline().strip() if process.stdout else ""
        if url.startswith(services.issuer):
            consent(services, url)
        _, said = process.communicate()
    finally:
        killer.cancel()
        process.kill()
        process.wait()
    if process.returncode:
        raise ServiceError(f"counterfoil connect ended with {process.returncode}: {said}")
