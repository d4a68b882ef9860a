"""The doors a case is tried at. Each answers a step with the decision and what came back."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.corpus.case import Step
from benchmarks.corpus.world import World
from gateway import Guard
from gateway.cli.act import result_json

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a door gave back: the decision as JSON, the result as JSON if it was executed.

    `status` and `said`: exit status and standard error of a process.
    """

    decision: dict[str, Any]
    result: dict[str, Any] | None = None
    status: int | None = None
    said: str = ""

    def holds(self, text: str) -> bool:
        """Whether any of it holds a text, also in content that is no UTF-8."""
        raw = base64.b64decode((self.result or {}).get("content_base64", ""))
        whole = json.dumps([self.decision, self.result, self.said], ensure_ascii=False)
        return text in whole or text.encode() in raw


Door: TypeAlias = Callable[[Step, dict[str, Any]], Seen]


@contextmanager
def python(world: World) -> Iterator[Door]:
    """Open one `Guard` for all steps: one session."""
    where = world.places
    with Guard(config=str(where.config), state_dir=str(where.state_dir), approver="none") as guard:

        def ask(step: Step, params: dict[str, Any]) -> Seen:
            if step.verb == "check":
                return Seen(decision=guard.check(step.tool, params).to_json())
            answer = guard.call(step.tool, params)
            result = None if answer.result is None else result_json(answer.result)
            return Seen(decision=answer.decision.to_json(), result=result)

        yield ask


@contextmanager
def cli(world: World) -> Iterator[Door]:
    """Start one process of `counterfoil` for each step: a session each, without a terminal."""
    where = world.places
    places = ["--config", str(where.config), "--state-dir", str(where.state_dir)]

    def ask(step: Step, params: dict[str, Any]) -> Seen:
        request = {"tool": step.tool, "params": params}
        words = [step.verb, "--json", *places, "--request", "-"]
        done = subprocess.run(
            [sys.executable, "-m", "gateway.cli.main", *words],
            input=json.dumps(request).encode(),
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=120,
            start_new_session=True,
            check=False,
        )
        shown: dict[str, Any] = json.loads(done.stdout)
        said = done.stderr.decode(errors="replace")
        return Seen(decision=shown, result=shown.get("result"), status=done.returncode, said=said)

    yield ask


DOORS: Final[dict[str, Callable[[World], AbstractContextManager[Door]]]] = {
    "python": python,
    "cli": cli,
}
