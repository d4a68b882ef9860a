"""A gate of its own beneath a temporary folder, and its doors, so that one test asks at each.

    def test_x(gate, door):                # runs once per door
        seen = door.run("fs.read", path="src/a.py")
        assert (seen.effect, seen.reason) == ("allow", "rule_match")

`gate` is registered with POLICY (`gate.write_policy`, `gate.register` for another), has keys and a
log. In this process every ask ends as `approval_unavailable`; questions to a person need a real
process (`tests.support.person`).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gateway import Guard
from gateway.approve.none import NoApprover
from gateway.assembly import build
from gateway.assembly.places import places, user_name
from gateway.assembly.setup import initialize
from gateway.cli.act import result_json
from gateway.cli.main import main
from gateway.execute.grants import Grant, Grants
from gateway.execute.secret import Secret

ROOT = Path(__file__).resolve().parents[2]
SECRET = "K-5up3rs3cr3t"
HANDLE = "handle-" + "h" * 40
FAR = 4_000_000_000
POLICY = """\
version: 1
default: deny
roots: {workspace: "WORKSPACE"}
protected: ["**/.env", "**/.env.*", "**/vault"]
groups: {readers: [cat, head, tail, wc, ls, grep, find]}
rules:
  - {id: keep, effect: deny, operations: [fs.delete, fs.write], resources: ["${workspace}/out/keep/**"]}
  - {id: read, effect: allow, operations: [fs.read, fs.list], resources: ["${workspace}/**"]}
  - {id: write, effect: allow, operations: [fs.write, fs.delete], resources: ["${workspace}/out/**"]}
  - {id: write-notes, effect: ask, operations: [fs.write, fs.delete], resources: ["${workspace}/notes/**"]}
  - {id: look, effect: allow, operations: [shell.run], programs: ["@readers"]}
  - {id: git-look, effect: allow, operations: [git.read]}
  - {id: nap, effect: allow, operations: [shell.run], commands: [[sleep, "61"], ["false"]]}
  - {id: tiered, effect: allow, operations: [shell.run], commands: [["true"]], sandbox: {min_tier: A}}
  - {id: asked, effect: ask, operations: [shell.run], commands: [[sleep, "0"]]}
  - {id: web, effect: allow, operations: [net.request], hosts: [docs.example.com]}
  - {id: mcp, effect: allow, operations: [mcp.call], servers: [files], tools: [read_text_file], arguments: {path: {type: string}}}
  - {id: mcp-more, effect: allow, operations: [mcp.resource, mcp.prompt], servers: [files]}
  - {id: memory, effect: allow, operations: [memory.write], memory: {scope: session, max_bytes: 100}}
  - {id: cal-read, effect: allow, operations: [api.call], api: {audience: calendar-api, operations: [events.read], scope: calendar.read}}
  - {id: mail-send, effect: ask, operations: [api.call], api: {audience: mail-api, operations: [messages.send], scope: mail.send}}
limits: {approval_timeout_s: 20, call_timeout_s: 20}
"""
APIS = """\
apis:
  calendar-api:
    base_url: CALENDAR
    operations:
      events.read: {method: GET, path: /v1/events, scope: calendar.read, query: {day: {type: string}}}
  mail-api:
    base_url: MAIL
    operations:
      messages.send:
        {method: POST, path: /v1/messages/send, scope: mail.send, body: {subject: {type: string, required: true}}}
      messages.delete: {method: DELETE, path: "/v1/messages/{id}", scope: mail.delete}
"""
BROKER = "broker: {issuer: ISSUER, client_id: gateway, agent: demo, users: {USER: alice}}\n"
NOWHERE = "http://127.0.0.1:9"
# One benign act per operation, with what the policy says to it.
ACTS: list[tuple[str, dict[str, Any], str, str]] = [
    ("fs.read", {"path": "src/a.py"}, "allow", "rule_match"),
    ("fs.list", {"path": "src"}, "allow", "rule_match"),
    ("fs.write", {"path": "out/new.txt", "content": "new\n"}, "allow", "rule_match"),
    ("fs.delete", {"path": "out/old.txt"}, "allow", "rule_match"),
    ("fs.write", {"path": "notes/n.md", "content": "x"}, "ask", "rule_match"),
    ("fs.write", {"path": "out/keep/x", "content": "x"}, "deny", "rule_match"),
    ("fs.write", {"path": "src/a.py", "content": "x"}, "deny", "default_decision"),
    ("shell.run", {"argv": ["cat", "src/a.py"]}, "allow", "rule_match"),
    ("shell.run", {"command_line": "cat src/a.py | wc -l"}, "allow", "rule_match"),
    ("shell.run", {"argv": ["sleep", "0"]}, "ask", "rule_match"),
    ("shell.run", {"argv": ["sleep", "1"]}, "deny", "default_decision"),
    ("shell.run", {"argv": ["git", "push"]}, "deny", "git_subcommand"),
    ("net.request", {"url": "http://docs.example.com/"}, "allow", "rule_match"),
    ("net.request", {"url": "http://evil.example.com/"}, "deny", "default_decision"),
    ("mcp.call", {"server": "files", "tool": "read_text_file", "arguments": {"path": "a"}},
     "allow", "rule_match"),
    ("mcp.call", {"server": "files", "tool": "read_text_file"}, "deny", "argument_missing"),
    ("mcp.resource", {"server": "files", "uri": "file:///a"}, "allow", "rule_match"),
    ("mcp.prompt", {"server": "files", "name": "hello"}, "allow", "rule_match"),
    ("memory.write", {"scope": "session", "sensitivity": "low", "content": "c"},
     "allow", "rule_match"),
    ("api.call", {"audience": "calendar-api", "operation": "events.read", "arguments": {}},
     "allow", "rule_match"),
    ("api.call", {"audience": "mail-api", "operation": "messages.send",
                  "arguments": {"subject": "s"}}, "ask", "rule_match"),
    ("api.call", {"audience": "mail-api", "operation": "messages.delete",
                  "arguments": {"id": "m-1"}}, "deny", "default_decision"),
    ("fs.format", {"path": "src"}, "deny", "tool_unknown"),
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a door answered. `status` is the CLI's exit status, None at the Python door."""

    decision: dict[str, Any]
    result: dict[str, Any] | None = None
    status: int | None = None
    said: str = ""

    @property
    def effect(self) -> str:
        return str(self.decision["decision"])

    @property
    def reason(self) -> str:
        return str(self.decision["reason"])

    @property
    def verdict(self) -> tuple[str, str, str]:
        return self.effect, str(self.decision["rule"]), self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Where one gate's things lie."""

    top: Path

    @property
    def workspace(self) -> Path:
        return self.top / "ws"

    @property
    def config(self) -> Path:
        return self.top / "config" / "config.yaml"

    @property
    def state_dir(self) -> Path:
        return self.top / "state"

    @property
    def policy(self) -> Path:
        return self.top / "config" / "policy.yaml"

    @property
    def places(self) -> list[str]:
        return ["--config", str(self.config), "--state-dir", str(self.state_dir)]

    def write_policy(self, text: str = POLICY, name: str = "policy.yaml") -> Path:
        path = self.policy.with_name(name)
        path.write_text(text.replace("WORKSPACE", str(self.workspace)), encoding="utf-8")
        return path

    def register(self, text: str = POLICY) -> None:
        """Register another policy, as a person would."""
        self.write_policy(text)
        self.config.unlink(missing_ok=True)
        where = places(config=str(self.config), state_dir=str(self.state_dir))
        initialize(where, workspace=self.workspace, policy=self.policy)

    def configure(self, more: str) -> None:
        with self.config.open("a", encoding="utf-8") as file:
            file.write(more)

    def with_apis(self, *, calendar: str = NOWHERE, mail: str = NOWHERE, issuer: str = "") -> None:
        """Add the operations and, with an issuer, a broker and a grant."""
        self.configure(APIS.replace("CALENDAR", calendar).replace("MAIL", mail))
        if issuer:
            self.configure(BROKER.replace("ISSUER", issuer).replace("USER", user_name()))
            Grants(directory=self.state_dir / "state").add(
                Grant(
                    grant_id="g-1",
                    user="alice",
                    agent="demo",
                    audiences={"calendar-api": ("calendar.read",), "mail-api": ("mail.send",)},
                    expires_at=FAR,
                    handle=Secret(HANDLE),
                )
            )

    def cli(self, *words: str) -> tuple[int, str, str]:
        """Run a command in this process: exit status, standard output, standard error."""
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        words = (*self._placed(words),)
        with redirect_stdout(out), redirect_stderr(err):
            try:
                status = main(words)
            except SystemExit as end:
                status = int(end.code or 0)
        out.flush()
        return status, out.buffer.getvalue().decode("utf-8"), err.getvalue()

    def argv(self, *words: str) -> list[str]:
        """The command line of a real process."""
        return [sys.executable, "-m", "gateway.cli.main", *self._placed(words)]

    def process(
        self, *words: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command as a process without a terminal."""
        return subprocess.run(
            self.argv(*words),
            cwd=ROOT,
            input=stdin,
            capture_output=True,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
            timeout=60,
            check=False,
        )

    def records(self) -> list[dict[str, Any]]:
        """Every record of the log."""
        lines = b"".join(path.read_bytes() for path in sorted(self.log_files())).splitlines()
        return [json.loads(line) for line in lines]

    def kinds(self) -> list[str]:
        return [record["kind"] for record in self.records()]

    def log_files(self) -> list[Path]:
        return sorted((self.state_dir / "log").glob("*.jsonl"))

    def _placed(self, words: tuple[str, ...]) -> list[str]:
        at = words.index("--") if "--" in words else len(words)
        return [*words[:at], *self.places, *words[at:]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One way in. Every call opens the gate anew: a session of its own."""

    gate: Gate
    name: str
    more: dict[str, str] = field(default_factory=dict)

    def check(self, tool: str, params: Mapping[str, Any] | None = None, **words: Any) -> Seen:
        return self._ask("check", tool, {**(params or {}), **words})

    def run(self, tool: str, params: Mapping[str, Any] | None = None, **words: Any) -> Seen:
        return self._ask("run", tool, {**(params or {}), **words})

    def narrowed(self, policy: Path) -> Door:
        """The same door, opened with a policy of the caller's choice."""
        return Door(gate=self.gate, name=self.name, more={"policy": str(policy)})

    def _ask(self, verb: str, tool: str, params: dict[str, Any]) -> Seen:
        ask = self._python if self.name == "python" else self._cli
        params = {"cwd": str(self.gate.workspace), **params} if _takes_cwd(tool) else params
        return ask(verb, tool, params)

    def _python(self, verb: str, tool: str, params: dict[str, Any]) -> Seen:
        where = {"config": str(self.gate.config), "state_dir": str(self.gate.state_dir)}
        with Guard(**where, **self.more) as guard:
            if verb == "check":
                return Seen(decision=guard.check(tool, params).to_json())
            answer = guard.call(tool, params)
        result = None if answer.result is None else result_json(answer.result)
        return Seen(decision=answer.decision.to_json(), result=result)

    def _cli(self, verb: str, tool: str, params: dict[str, Any]) -> Seen:
        words = [f"{name}:={json.dumps(value)}" for name, value in params.items()]
        more = [word for name, value in self.more.items() for word in (f"--{name}", value)]
        status, out, err = self.gate.cli(verb, "--json", *more, tool, *words)
        shown = json.loads(out)
        return Seen(decision=shown, result=shown.get("result"), status=status, said=err)


def _takes_cwd(tool: str) -> bool:
    return tool.startswith(("fs.", "shell."))


def make_gate(top: Path) -> Gate:
    """Lay a workspace out and register POLICY."""
    gate = Gate(top=top.resolve())
    for folder in ("src", "out/keep", "notes", "vault"):
        (gate.workspace / folder).mkdir(parents=True)
    for name, text in {
        "src/a.py": "print(1)\n",
        "out/old.txt": "old\n",
        ".env": f"KEY={SECRET}\n",
        "vault/key": SECRET,
    }.items():
        (gate.workspace / name).write_text(text, encoding="utf-8")
    gate.config.parent.mkdir()
    gate.register()
    return gate


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def picture(*folders: Path) -> dict[str, tuple[str, int, int]]:
    """Everything beneath folders: content, modification and change time. Unchanged is equal."""
    found = {}
    for folder in folders:
        for path in (folder, *sorted(folder.rglob("*"))):
            about = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            digest = hashlib.sha256(content).hexdigest()
            found[str(path)] = (digest, about.st_mtime_ns, about.st_ctime_ns)
    return found


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A gate whose asks reach nobody in this process, whatever terminal the tests run on."""
    monkeypatch.setitem(build.APPROVERS, "terminal", NoApprover)
    return make_gate(tmp_path)


@pytest.fixture(params=["python", "cli"])
def door(gate: Gate, request: pytest.FixtureRequest) -> Door:
    """Each door in turn."""
    return Door(gate=gate, name=request.param)
