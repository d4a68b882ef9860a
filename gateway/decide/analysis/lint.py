"""Faults of a policy that its author did not mean, each shown by an act.

| code | severity | the rule |
|---|---|---|
| `never-allows` | error | allows or asks only what denies and protected entries take away |
| `shadowed` | error, warning | is never asked: earlier rules decide all it matches |
| `needless-deny` | info | denies only what other denies and protected entries deny |
| `conflict` | info | allows something that a deny takes away |
| `over-broad` | warning | allows more than anyone means: all writes, any host, an interpreter |
| `dead-name` | warning | speaks of a name that nothing goes by |
| `unprotected` | warning | lets a file be read that commonly holds secrets |
| `self-protection` | error | lets an act change the gate's own files or what starts programs |
| `allowance` | warning | is excused without a reason (which excuses nothing), or of nothing |
| `undetermined` | info | cannot be compared: too many states, odd letters, or too many rules |

Every act is judged by the engine itself before it is shown; a finding that the engine does not
confirm is none. `# lint: allow CODE reason`, on the line of the rule or above it, silences a
finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from gateway.decide.analysis.acts import Act, act_at
from gateway.decide.analysis.automata import Language, Verdict, overlap
from gateway.decide.analysis.broad import broad
from gateway.decide.analysis.space import Area, Cover, areas, covered, point_in
from gateway.decide.compile import CompiledRule, Policy
from gateway.decide.conditions import Outcome
from gateway.decide.engine import Decide
from gateway.decide.glob import Glob, covering, parse_path
from gateway.decide.guarded import GUARDED
from gateway.model.decision import Decision
from gateway.model.names import FS_OPERATIONS, Effect, Json, Operation

ALLOWANCE: Final = "# lint: allow "
BUILT_IN: Final = frozenset({"builtin:protected", "builtin:self-protection"})
MAX_RULES: Final = 500

_CHANGES: Final = frozenset({Operation.FS_WRITE, Operation.FS_DELETE})
_GUARDED: Final = tuple(covering(parse_path(text, {})) for text in GUARDED)


class Severity(IntEnum):
    """How bad it is; only errors fail a check, unless it is strict."""

    INFO = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault, where it stands, and the act that shows it (None where there is none to show)."""

    code: str
    severity: Severity
    rule: str
    source: str
    line: int
    message: str
    witness: Mapping[str, Json] | None = None

    def to_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "code": self.code,
            "severity": self.severity.name.lower(),
            "rule": self.rule,
            "source": self.source,
            "line": self.line,
            "message": self.message,
            "witness": None if self.witness is None else dict(self.witness),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the policy speaks of and does not say itself.

    `texts`: each file of the policy by its source. `variables`: as it was compiled with.
    `programs`: those with a grammar. `apis`: audience -> operations, None when not configured.
    `own`: absolute paths of the gate's files, and of what starts programs, in the roots.
    """

    texts: Mapping[str, str]
    variables: Mapping[str, str]
    programs: frozenset[str]
    apis: Mapping[str, frozenset[str]] | None = None
    own: tuple[str, ...] = ()


def lint(decider: Decide, known: Known) -> tuple[Finding, ...]:
    """Return the findings in the order of the files' lines."""
    linter = _Linter(decider=decider, known=known, areas=areas(decider.policy, known.variables))
    found = [*linter.coverage(), *linter.breadth(), *linter.names(), *linter.protection()]
    excused = {place for place, reason in _allowances(known.texts) if reason}
    kept = [one for one in found if (one.source, one.line, one.code) not in excused]
    told = {(one.source, one.line, one.code) for one in found}
    for (source, line, code), reason in _allowances(known.texts):
        fault = "gives no reason" if not reason else "excuses nothing here"
        if not reason or (source, line, code) not in told:
            kept.append(_at(source, line, "allowance", f"`{ALLOWANCE}{code}` {fault}"))
    return tuple(sorted(kept, key=lambda one: (one.source, one.line, -one.severity, one.code)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Linter:
    decider: Decide
    known: Known
    areas: tuple[Area, ...]

    @property
    def policy(self) -> Policy:
        return self.decider.policy

    def coverage(self) -> Iterator[Finding]:
        denies = [area for area in self.areas if area.rule.effect is Effect.DENY]
        granting = [area for area in self.areas if area.rule.effect is not Effect.DENY]
        if len(self.policy.rules) > MAX_RULES:
            message = f"more than {MAX_RULES} rules: they are not compared with each other"
            yield self._finding(self.policy.rules[0], "undetermined", Severity.INFO, message)
            return
        for rule in self.policy.rules:
            mine = [area for area in self.areas if area.rule is rule]
            if rule.effect is Effect.DENY:
                before = self._earlier(rule, denies)
                taken = [self._taken(area, before) for area in mine]
                words = "all it denies is denied without it, by {by}"
                yield from self._covered(rule, mine, taken, "needless-deny", words)
                continue
            if all(map(self._outside, mine)):
                message = "nothing it matches lies beneath a root"
                yield self._finding(rule, "never-allows", Severity.ERROR, message)
                continue
            taken = [self._taken(area, denies) for area in mine]
            words = f"nothing it would {rule.effect.word} is left: {{by}} denies it all"
            never = list(self._covered(rule, mine, taken, "never-allows", words))
            if never:
                yield from never
                continue
            earlier = self._earlier(rule, granting)
            shadows = [covered(area, earlier) for area in mine]
            words = "{by} decides all it matches, and stands before it"
            yield from self._covered(rule, mine, shadows, "shadowed", words)
            if not all(cover.whole for cover in shadows):
                yield from self._conflicts(mine, denies)

    def _covered(
        self,
        rule: CompiledRule,
        mine: Sequence[Area],
        covers: Sequence[Cover],
        code: str,
        words: str,
    ) -> Iterator[Finding]:
        """Say that others decide all a rule matches, if the engine agrees on an act of it."""
        if any(cover.verdict is Verdict.UNDETERMINED for cover in covers):
            message = "whether other rules decide all it matches cannot be determined"
            yield self._finding(rule, "undetermined", Severity.INFO, message)
        if not all(cover.whole for cover in covers):
            return
        act = self._act(mine[0], bare=code == "shadowed")
        if act is None or not self._matches(rule, act):
            return
        decision = self._judged(act)
        by = {name for cover in covers for name in cover.by} - {rule.id}
        if decision.rule not in by | BUILT_IN:
            return
        severity, message = _SEVERITY[code], words.format(by=_names(covers, rule))
        if code == "shadowed" and decision.effect < rule.effect:
            severity = Severity.ERROR
            message += f"; so this {rule.effect.word} never happens"
        yield self._finding(rule, code, severity, message, act)

    def _matches(self, rule: CompiledRule, act: Act) -> bool:
        outcome, _ = rule.judge(act.resource, act.caller, act.state)
        return outcome is not Outcome.FAILS

    def _earlier(self, rule: CompiledRule, among: Sequence[Area]) -> list[Area]:
        ids = [one.id for one in self.policy.rules]
        before = frozenset(ids[: ids.index(rule.id)])
        return [area for area in among if area.rule.id in before]

    def _taken(self, area: Area, denies: Sequence[Area]) -> Cover:
        """Say whether denies, protected entries and guarded files leave nothing of an area."""
        protected = self.policy.protected_globs
        if area.operation in _CHANGES:  # one guarded entry alone: together they are too many states
            for glob in _GUARDED:
                cover = covered(area, [_over(area, (glob,))])
                if cover.whole:
                    return cover
        if area.operation in FS_OPERATIONS and protected:
            return covered(area, [*denies, _over(area, protected)])
        return covered(area, denies)

    def _outside(self, area: Area) -> bool:
        """Whether it names files that lie beneath no root: normalization refuses every one."""
        tops = tuple(covering(Glob(text=top, tokens=(top,))) for top in self.policy.roots.values())
        path = area.sets.get("path")
        return path is not None and overlap(path, Language(exact=tops)).none

    def _conflicts(self, mine: Sequence[Area], denies: Sequence[Area]) -> Iterator[Finding]:
        told = set()
        for area in mine:
            for deny in denies:
                if deny.operation is not area.operation or deny.rule.id in told:
                    continue
                act = self._act(area, also=deny, bare=True)
                shown = act is not None and self._matches(area.rule, act)
                if act is not None and shown and self._judged(act).rule == deny.rule.id:
                    told.add(deny.rule.id)
                    message = f"{deny.rule.id} takes a part of it away, as a deny does"
                    yield self._finding(area.rule, "conflict", Severity.INFO, message, act)

    def breadth(self) -> Iterator[Finding]:
        for area in self.areas:
            if area.rule.effect is not Effect.ALLOW:
                continue
            for message, point in broad(area, self.policy.roots):
                act = act_at(area, point, self.policy.roots)
                decision = self._judged(act)
                if decision.rule == area.rule.id and decision.effect is not Effect.DENY:
                    yield self._finding(area.rule, "over-broad", Severity.WARNING, message, act)

    def names(self) -> Iterator[Finding]:
        used = {value for rule in self.policy.rules for value in _texts(rule)}
        used |= {entry for entry, _ in self.policy.document.protected}
        for name, (_, place) in self.policy.document.groups.items():
            if f"@{name}" not in used:
                message = f"no rule uses the group {name}"
                yield _at(place.source, place.line, "dead-name", message)
        for rule in self.policy.rules:
            for message in [*self._programs(rule), *self._operations(rule)]:
                yield self._finding(rule, "dead-name", Severity.WARNING, message)

    def _programs(self, rule: CompiledRule) -> Iterator[str]:
        granting = rule.effect is not Effect.DENY and rule.model.commands is None
        if not granting or Operation.SHELL_RUN not in rule.model.operations:
            return
        for area in self.areas:
            if area.rule is rule and area.operation is Operation.SHELL_RUN:
                for name in sorted(glob.literal for glob in area.sets["program"].exact):
                    if name and name not in self.known.programs:
                        yield f"no grammar knows the program {name}: allow it by `commands`"

    def _operations(self, rule: CompiledRule) -> Iterator[str]:
        api, apis = rule.model.api, self.known.apis
        if api is None or apis is None:
            return
        if api.audience not in apis:
            yield f"no API {api.audience} is configured"
            return
        for name in api.operations:
            if name not in apis[api.audience]:
                yield f"{api.audience} has no operation {name}"

    def protection(self) -> Iterator[Finding]:
        """Try what must not be readable, and what must not be changed, at the engine itself."""
        readable: dict[str, tuple[CompiledRule, Act, list[str]]] = {}
        for name in SECRETS:
            found = self._reachable(Operation.FS_READ, f"{self._root}/{name}")
            if found is not None:
                rule, act = found
                readable.setdefault(rule.id, (rule, act, []))[2].append(name)
        for rule, act, names in readable.values():
            message = f"no entry protects what commonly holds secrets: {', '.join(names)}"
            yield self._finding(rule, "unprotected", Severity.WARNING, message, act)
        for path in self.known.own:
            for operation in (Operation.FS_WRITE, Operation.FS_DELETE):
                found = self._reachable(operation, path)
                if found is not None:
                    rule, act = found
                    message = f"{path} starts programs or judges acts; only a person changes it"
                    yield self._finding(rule, "self-protection", Severity.ERROR, message, act)

    @property
    def _root(self) -> str:
        return next(iter(self.policy.roots.values()))

    def _reachable(self, operation: Operation, path: str) -> tuple[CompiledRule, Act] | None:
        for area in self.areas:
            if area.operation is not operation or area.rule.effect is Effect.DENY:
                continue
            point = point_in(area, likely={"path": [path]})
            if point is None or point["path"] != path:
                continue
            act = act_at(area, point, self.policy.roots)
            decision = self._judged(act)
            if decision.effect is not Effect.DENY and decision.rule == area.rule.id:
                return area.rule, act
        return None

    def _act(self, area: Area, *, also: Area | None = None, bare: bool = False) -> Act | None:
        """Return an act in an area; a `bare` one names no protected path."""
        likely = {"path": [f"{self._root}/example"], "cwd": [self._root]}
        never = {"path": Language(caseless=self.policy.protected_globs)} if bare else {}
        point = point_in(area, also=also, never=never, likely=likely)
        return None if point is None else act_at(area, point, self.policy.roots)

    def _judged(self, act: Act) -> Decision:
        return self.decider.decide(act.action, act.caller, act.state)

    def _finding(
        self, rule: CompiledRule, code: str, severity: Severity, message: str,
        act: Act | None = None,
    ) -> Finding:  # fmt: skip
        return Finding(
            code=code,
            severity=severity,
            rule=rule.id,
            source=rule.place.source,
            line=rule.place.line,
            message=message,
            witness=None if act is None else act.to_json(),
        )


_SEVERITY: Final = {
    "needless-deny": Severity.INFO,
    "never-allows": Severity.ERROR,
    "shadowed": Severity.WARNING,
}
SECRETS: Final = (
    ".env", ".netrc", ".git-credentials", ".ssh/id_ed25519", ".aws/credentials", "server.key",
)  # fmt: skip


def _over(area: Area, globs: tuple[Glob, ...]) -> Area:
    """Return the part of everything that built-in denies take, as an area beside another."""
    return replace(area, sets={**area.sets, "path": Language(caseless=globs)}, narrowed=False)


def _at(source: str, line: int, code: str, message: str) -> Finding:
    return Finding(
        code=code, severity=Severity.WARNING, rule="", source=source, line=line, message=message
    )


def _names(covers: Sequence[Cover], rule: CompiledRule) -> str:
    """Name what covers a rule; its own id stands for what is built in or protected."""
    ids = dict.fromkeys(name for cover in covers for name in cover.by)
    built_in = ["built-in denies and protected entries"] if rule.id in ids else []
    return ", ".join([*(name for name in ids if name != rule.id), *built_in])


def _texts(rule: CompiledRule) -> Iterator[str]:
    model = rule.model
    lists = (model.programs, model.hosts, model.servers, model.tools, model.uris)
    for many in (*lists, model.resources, model.cwd, model.identities):
        yield from many or ()
    for constraint in (model.arguments or {}).values():
        yield from constraint.under or ()


def _allowances(texts: Mapping[str, str]) -> Iterator[tuple[tuple[str, int, str], str]]:
    """Yield each allowance: the line of the rule it is for, its code, and its reason."""
    for source, text in texts.items():
        waiting: list[tuple[str, str]] = []
        for number, line in enumerate(text.splitlines(), 1):
            before, mark, said = line.partition(ALLOWANCE)
            if mark:
                code, _, reason = said.strip().partition(" ")
                waiting.append((code, reason.strip()))
            if before.strip() and not before.strip().startswith("#"):
                yield from (((source, number, code), reason) for code, reason in waiting)
                waiting = []
