"""The scripted agent, as a process of its own; one JSON line per step on the report descriptor.

Run bare, its tools are what agents commonly get: open(), a shell string, an HTTP client, a
long-lived bearer token. Run guarded, every step is one `Guard.call`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import requests

from gateway import Guard
from scripts.demo_steps import STEPS

_KEY: Final = re.compile(r"PAYMENTS_API_KEY=(\S+)")
_TIMEOUT_S: Final = 10

Report = dict[str, Any]


class Bare:
    """Tools without a gate: the commonly shipped pattern."""

    def __init__(self, workspace: Path, naive: str) -> None:
        self._workspace = workspace
        self._naive = naive
        self._http = requests.Session()
        self._http.trust_env = False
        claims = {"sub": "alice", "agent": "demo-agent", "aud": "any", "scope": "all"}
        answer = self._http.post(f"{naive}/connect", json=claims, timeout=_TIMEOUT_S)
        token = answer.json()["access_token"]
        self._bearer = {"Authorization": f"Bearer {token}"}

    def __call__(self, tool: str, params: dict[str, Any]) -> Report:
        """Do it."""
        content: str = getattr(self, tool.replace(".", "_"))(params)
        return {"effect": "done", "reason": "", "content": content}

    def fs_read(self, params: dict[str, Any]) -> str:
        """Open whatever the path names."""
        return (self._in(params) / str(params["path"])).read_text(encoding="utf-8")

    def fs_list(self, params: dict[str, Any]) -> str:
        """List whatever the path names."""
        return "\n".join(sorted(os.listdir(self._in(params) / params["path"])))  # noqa: PTH208

    def shell_run(self, params: dict[str, Any]) -> str:
        """Hand the agent's string to a shell."""
        done = subprocess.run(  # noqa: S602 - the pattern the demo shows, on synthetic files
            params["command_line"],
            shell=True,
            cwd=self._in(params),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        return str(done.stdout)

    def net_request(self, params: dict[str, Any]) -> str:
        """Send anything anywhere."""
        answer = self._http.request(
            params["method"], params["url"], data=params["body"], timeout=_TIMEOUT_S
        )
        return answer.text

    def api_call(self, params: dict[str, Any]) -> str:
        """Call the API with the one long-lived token."""
        paths = {
            "events.read": ("GET", "/v1/events"),
            "messages.send": ("POST", "/v1/messages/send"),
        }
        method, path = paths[params["operation"]]
        answer = self._http.request(
            method,
            self._naive + path,
            headers=self._bearer,
            json=params["arguments"] if method == "POST" else None,
            timeout=_TIMEOUT_S,
        )
        answer.raise_for_status()
        return answer.text

    def _in(self, params: dict[str, Any]) -> Path:
        return self._workspace / str(params.get("cwd", "."))


class Guarded:
    """Tools behind the gate: each step is one request."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __call__(self, tool: str, params: dict[str, Any]) -> Report:
        """Ask the gate to do it."""
        answer = self._guard.call(tool, params)
        if answer.result is None:
            decision = answer.decision
            return {
                "effect": decision.effect.word,
                "reason": decision.reason,
                "message": decision.message,
                "content": "",
            }
        return {
            "effect": str(answer.result.status),
            "reason": answer.result.reason,
            "message": answer.result.message,
            "content": answer.result.content.decode("utf-8", "replace"),
        }


def main() -> int:
    """Run every step; return 0 when all were tried."""
    args = _arguments()
    if args.naive:
        _work(Bare(Path(args.workspace), args.naive), args)
    else:
        with Guard(config=args.config, state_dir=args.state_dir) as guard:
            _work(Guarded(guard), args)
    return 0


def _work(act: Callable[[str, dict[str, Any]], Report], args: argparse.Namespace) -> None:
    key = "(no key came back)"
    with os.fdopen(args.report, "w", encoding="utf-8") as report:
        for number, step in enumerate(STEPS):
            params = _filled(dict(step.params), key=key, receiver=args.receiver)
            try:
                done = act(step.tool, params)
            except (OSError, subprocess.SubprocessError, requests.RequestException) as error:
                done = {"effect": "failed", "reason": type(error).__name__, "content": ""}
            found = _KEY.search(done["content"])
            key = found[1] if found else key
            report.write(json.dumps({"step": number, **done}) + "\n")
            report.flush()


def _filled(value: Any, **words: str) -> Any:
    if isinstance(value, dict):
        return {name: _filled(item, **words) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, **words) for item in value]
    if isinstance(value, str):
        for name, word in words.items():
            value = value.replace("{" + name + "}", word)
    return value


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--receiver", required=True, help="HOST:PORT the bait names")
    parser.add_argument("--report", required=True, type=int, help="descriptor for the report")
    parser.add_argument("--naive", help="URL of the insecure API: run without the gate")
    parser.add_argument("--config")
    parser.add_argument("--state-dir")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
