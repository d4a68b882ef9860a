"""Test cases of a policy: acts, and what must be decided of each.

    version: 1
    files: {src/a.py: "print(1)"}          # laid out for every case, beneath the first root
    cases:
      - name: source is read
        request: {tool: fs.read, params: {path: src/a.py}}
        files: {}                          # more, for this case
        user: alice                        # default: who runs the test
        taint: [attempted]                 # default: none
        expect: {decision: allow, rule: read-workspace, reason: rule_match}

Every root of the policy is a fresh scratch directory, so the cases neither need nor touch the real
workspace; `${NAME}` at the start of a text is that root. What is judged is the whole road up to the
decision: real files, links and grammars. `examples` inside a policy judge by spelling alone.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field

from gateway.assembly.build import Options
from gateway.assembly.policies import file_bytes
from gateway.decide.parse import PolicyDocument, validate
from gateway.decide.schema import SOME, Strict, Text
from gateway.decide.yaml_strict import read
from gateway.errors import PolicyError
from gateway.model.decision import Decision
from gateway.model.names import Json, Taint
from gateway.model.request import ActionRequest
from gateway.model.session import SessionState
from gateway.replay.stand import standing

_NAMED: Final = re.compile(r"\$\{([a-z][a-z0-9_-]*)\}")
_PLACED: Final = ("fs.", "shell.")


def _relative(files: Mapping[str, str]) -> Mapping[str, str]:
    for name in files:
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"{name}: a file lies beneath the first root: write a relative path")
    return files


Files: TypeAlias = Annotated[Mapping[Text, str], AfterValidator(_relative)]


class Request(Strict):
    """An act as an agent would ask for it."""

    tool: Text
    params: Mapping[str, Any] = Field(default_factory=dict)


class Expect(Strict):
    """What must be decided; what is left out may be anything."""

    decision: Literal["allow", "ask", "deny"]
    rule: Text | None = None
    reason: Text | None = None


class Case(Strict):
    """One act and what must come of it."""

    name: Text
    request: Request
    expect: Expect
    files: Files = Field(default_factory=dict)
    user: Text | None = None
    taint: tuple[Literal["attempted", "exposed"], ...] = ()
    suspended: bool = False


class CaseFile(Strict):
    """A file of cases."""

    version: Literal[1]
    files: Files = Field(default_factory=dict)
    cases: Annotated[tuple[Case, ...], SOME]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What came of one case; `wrong` is empty when it was as expected."""

    source: str
    line: int
    name: str
    decision: Decision
    wrong: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """Return one entry of the report."""
        return {
            "source": self.source,
            "line": self.line,
            "name": self.name,
            "ok": not self.wrong,
            "wrong": list(self.wrong),
            "decision": self.decision.effect.word,
            "rule": self.decision.rule,
            "reason": self.decision.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of all cases, and the ids of the policy's rules."""

    tested: tuple[Tested, ...]
    rules: tuple[str, ...]

    @property
    def not_reached(self) -> tuple[str, ...]:
        """Rules that decided no case."""
        reached = {one.decision.rule for one in self.tested}
        return tuple(rule for rule in self.rules if rule not in reached)

    @property
    def coverage(self) -> int:
        """How many of the rules decided a case, in whole percent."""
        return 100 * (len(self.rules) - len(self.not_reached)) // len(self.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """The cases of one file, each with its line."""

    source: str
    file: CaseFile
    lines: tuple[int, ...]


def read_cases(path: Path) -> Cases:
    """Read a file of cases.

    Raises:
        PolicyError: with file and line.
    """
    parsed = read(str(path), file_bytes(path))
    file: CaseFile = validate(CaseFile, parsed)
    lines = tuple(parsed.line(("cases", i)) for i in range(len(file.cases)))
    return Cases(source=str(path), file=file, lines=lines)


def _scratch(top: Path, names: Iterable[str]) -> dict[str, str]:
    """Make an empty directory for each root."""
    found = {}
    for name in names:
        (top / name).mkdir(parents=True)
        found[name] = os.path.realpath(top / name)
    return found


def _lay(first: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (first / name).parent.mkdir(parents=True, exist_ok=True)
        (first / name).write_text(text, encoding="utf-8")


def run_cases(options: Options, policy: Path, files: Sequence[Cases]) -> Report:
    """Judge every case, each in fresh roots.

    Raises:
        PolicyError: the policy or a case cannot be used.
    """
    rules: tuple[str, ...] = ()
    tested = []
    for cases in files:
        for number in range(len(cases.file.cases)):
            one, rules = _run(options, policy, cases, number)
            tested.append(one)
    return Report(tested=tuple(tested), rules=rules)


def _run(
    options: Options, policy: Path, cases: Cases, number: int
) -> tuple[Tested, tuple[str, ...]]:
    case = cases.file.cases[number]
    state = SessionState(taint=frozenset(map(Taint, case.taint)), suspended=case.suspended)
    with tempfile.TemporaryDirectory(prefix="counterfoil-test-") as folder:
        roots: dict[str, str] = {}

        def made(document: PolicyDocument) -> Mapping[str, str]:
            roots.update(_scratch(Path(folder), document.roots))
            _lay(Path(next(iter(roots.values()))), {**cases.file.files, **case.files})
            return roots

        with standing(options, policy, roots=made, user=case.user, state=state) as session:
            params = _placed(case.request, roots)
            decision = session.judge(ActionRequest(tool=case.request.tool, params=params))
            rules = tuple(rule.id for rule in session.policy.rules)
    tested = Tested(
        source=cases.source,
        line=cases.lines[number],
        name=case.name,
        decision=decision,
        wrong=tuple(_wrong(case.expect, decision)),
    )
    return tested, rules


def _wrong(expect: Expect, decision: Decision) -> Sequence[str]:
    pairs = (
        ("decision", expect.decision, decision.effect.word),
        ("rule", expect.rule, decision.rule),
        ("reason", expect.reason, decision.reason),
    )
    return [
        f"{name} must be {wanted}, is {got}"
        for name, wanted, got in pairs
        if wanted not in {None, got}
    ]


def _placed(request: Request, roots: Mapping[str, str]) -> dict[str, Json]:
    params = {name: _filled(value, roots) for name, value in request.params.items()}
    if request.tool.startswith(_PLACED):
        params.setdefault("cwd", next(iter(roots.values())))
    return params


def _filled(value: Any, roots: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        named = _NAMED.match(value)
        if named is None:
            return value
        if named.group(1) not in roots:
            raise PolicyError(f"unknown root {named.group()} (known: {', '.join(roots)})")
        return roots[named.group(1)] + value[named.end() :]
    if isinstance(value, Mapping):
        return {name: _filled(item, roots) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_filled(item, roots) for item in value]
    return value  # type: ignore[no-any-return]
