"""What the road costs, against references in the same run.

- normalize + decide of one `fs.read`, against opening, looking at and closing the same file;
- the same decision under 1,000 rules, against 10;
- the same decision after 2,000 records, against none: state is folded in as it is written;
- syncs on the critical path of one allowed act: counted, not timed (the bar is ONE).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final
from unittest import mock

from benchmarks.report import Figure, finish, ratio
from benchmarks.stand import standing
from gateway.assembly.build import Assembled
from gateway.model.names import Status
from gateway.model.request import ActionRequest

TIMES: Final = 200
_RULE: Final = """
  - id: r{number}
    effect: allow
    operations: [fs.read]
    resources: ["${{workspace}}/d{number}/**"]"""
_POLICY: Final = """\
version: 1
default: deny
roots: {{workspace: {workspace}}}
protected: ["**/.env"]
rules:{rules}
  - {{id: read, effect: allow, operations: [fs.read], resources: ["${{workspace}}/**"]}}
"""
READ: Final = ActionRequest(tool="fs.read", params={"path": "a/b/notes.md"})


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="counterfoil-bench-") as name:
        folder = Path(name)
        file = folder / "workspace" / "a" / "b" / "notes.md"
        file.parent.mkdir(parents=True)
        file.write_text("hello\n", encoding="utf-8")
        with gate(folder, "few", rules=10) as few, gate(folder, "many", rules=1000) as many:
            figures = [
                Figure(
                    name="normalize+decide fs.read / open+fstat+close",
                    value=ratio(judge(few), lambda: _bare(file), times=TIMES),
                    unit="x",
                ),
                Figure(
                    name="decision with 1000 rules / with 10",
                    value=ratio(judge(many), judge(few), times=TIMES),
                    unit="x",
                    bar=1.5,
                ),
                Figure(name="syncs per allowed act", value=_syncs(few), unit="", bar=1),
            ]
            for _ in range(1000):
                few.pipeline.run(READ, few.caller)
            figures.append(
                Figure(
                    name="decision after 2000 records / after few",
                    value=ratio(judge(few), judge(many), times=TIMES),
                    unit="x",
                    bar=1.5,
                )
            )
    return finish(figures)


def gate(folder: Path, name: str, *, rules: int) -> AbstractContextManager[Assembled]:
    """Set up one gate with this many rules beside the one that matches."""
    lines = "".join(_RULE.format(number=number) for number in range(rules))
    policy = _POLICY.format(workspace=folder / "workspace", rules=lines)
    return standing(folder, name, workspace=folder / "workspace", policy=policy)


def judge(assembled: Assembled) -> Callable[[], object]:
    """Return a loop that normalizes and decides once, state looked up as the pipeline does."""
    pipeline, caller = assembled.pipeline, assembled.caller

    def once() -> None:
        action = pipeline.normalizer.normalize(READ)
        pipeline.decider.decide(action, caller, pipeline.recorder.state(caller.scope))
        action.release()

    return once


def _bare(file: Path) -> None:
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    os.fstat(fd)
    os.close(fd)


def _syncs(assembled: Assembled) -> float:
    """Count fsync and fdatasync of one act that was allowed and done."""
    calls = 0
    real = {"fsync": os.fsync, "fdatasync": os.fdatasync}

    def counting(name: str) -> Callable[[int], None]:
        def call(fd: int) -> None:
            nonlocal calls
            calls += 1
            real[name](fd)

        return call

    assembled.pipeline.run(READ, assembled.caller)
    with (
        mock.patch.object(os, "fsync", counting("fsync")),
        mock.patch.object(os, "fdatasync", counting("fdatasync")),
    ):
        answer = assembled.pipeline.run(READ, assembled.caller)
    if answer.result is None or answer.result.status is not Status.DONE:
        raise SystemExit("the act was not done: nothing to measure")
    return calls


if __name__ == "__main__":
    sys.exit(main())
