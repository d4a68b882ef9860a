"""Every planted fault is found with an act that shows it; a sound policy is left alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gateway.decide.analysis.lint import SECRETS, Finding, Known, Severity, lint
from gateway.decide.engine import Decide
from tests.gateway.decide.build import ALICE, CLEAN, act, compiled, file, policy, rule, text_of

PROTECTED = ["**/.env", "**/.netrc", "**/.git-credentials", "**/.ssh", "**/.aws", "**/*.key"]
READ = rule("read", "allow", "fs.read", resources=["${workspace}/**"])
ARGUMENTS = {"path": {"under": ["${workspace}"]}, "o[].n": {"type": "integer", "min": 3}}


def known(**more: Any) -> Known:
    return Known(
        texts=more.pop("texts", {}),
        variables={"home": "/home/u"},
        programs=frozenset({"cat", "ls"}),
        **more,
    )


def found(*rules: dict[str, Any], about: Known | None = None, **more: Any) -> list[Finding]:
    more = {"protected": PROTECTED, **more}
    return list(lint(Decide(policy(*rules, **more)), about or known()))


def codes(*rules: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    return [(one.code, one.rule) for one in found(*rules, **more)]


SOUND = [
    READ,
    rule("no-gen", "deny", "fs.write", resources=["/out/gen/**"]),
    rule("write", "allow", "fs.write", resources=["${workspace}/out/**"]),
    rule("ask", "ask", "fs.write", resources=["${workspace}/**"]),
    rule("look", "allow", "shell.run", programs=["cat", "ls"]),
    rule("one", "allow", "shell.run", commands=[["date", "-u"]]),
    rule("docs", "allow", "net.request", hosts=["a.example.com", "*.b.example.com"]),
    rule("tool", "allow", "mcp.call", servers=["s"], tools=["read_*"], arguments=ARGUMENTS),
    rule("note", "allow", "mcp.resource", servers=["s"], uris=["note:*"]),
    rule("api", "allow", "api.call", api={"audience": "a", "operations": ["x"]}),
    rule("mem", "allow", "memory.write", memory={"scope": "session"}),
]


def test_a_sound_policy_is_left_alone() -> None:
    assert found(*SOUND) == []


@pytest.mark.parametrize(
    ("rules", "code", "name", "severity", "words"),
    [
        ([READ, rule("again", "allow", "fs.read", resources=["${workspace}/src/**"])],
         "shadowed", "again", "WARNING", "read decides all it matches"),
        ([rule("a", "allow", "fs.read", resources=["/ws/a/**"]),
          rule("b", "allow", "fs.read", resources=["/ws/b/**"]),
          rule("both", "allow", "fs.read", resources=["/ws/a/**", "/ws/b/*.py"])],
         "shadowed", "both", "WARNING", "a, b decides all it matches"),
        ([rule("all", "allow", "fs.write", resources=["/ws/x/**"]),
          rule("never", "ask", "fs.write", resources=["/ws/x/*"])],
         "shadowed", "never", "ERROR", "this ask never happens"),
        ([rule("look", "allow", "shell.run", programs=["cat", "ls"]),
          rule("cat", "ask", "shell.run", programs=["cat"])],
         "shadowed", "cat", "ERROR", "never happens"),
        ([rule("all", "allow", "mcp.call", servers=["s"], tools=["*"]),
          rule("one", "ask", "mcp.call", servers=["s"], tools=["delete"])],
         "shadowed", "one", "ERROR", "never happens"),
        ([rule("w", "allow", "fs.read", resources=["/ws/a/**"], when="false"),
          rule("later", "allow", "fs.read", resources=["/ws/a/b"])],
         "shadowed", "later", "WARNING", "w decides all it matches"),
        ([rule("no", "deny", "fs.write", resources=["${workspace}/**"]),
          rule("yes", "allow", "fs.write", resources=["${workspace}/out/*"])],
         "never-allows", "yes", "ERROR", "no denies it all"),
        ([rule("yes", "allow", "fs.read", resources=["${workspace}/a/.env"])],
         "never-allows", "yes", "ERROR", "built-in denies and protected entries denies it all"),
        ([rule("no", "deny", "net.request", hosts=["*"]),
          rule("yes", "allow", "net.request", hosts=["docs.example.com"])],
         "never-allows", "yes", "ERROR", "no denies it all"),
        ([rule("no", "deny", "fs.read", resources=["**/x/**"]),
          rule("more", "deny", "fs.read", resources=["${workspace}/x/*"])],
         "needless-deny", "more", "INFO", "denied without it, by no"),
        ([rule("no", "deny", "fs.read", resources=["**/.env.bak", "**/.env"]), READ],
         "conflict", "read", "INFO", "no takes a part of it away"),
        ([rule("w", "allow", "fs.write", resources=["/**"])],
         "over-broad", "w", "WARNING", "fs.write everywhere beneath /ws"),
        ([rule("d", "allow", "fs.delete")],
         "over-broad", "d", "WARNING", "fs.delete everywhere beneath /ws"),
        ([rule("n", "allow", "net.request")], "over-broad", "n", "WARNING", "any host"),
        ([rule("n", "allow", "net.request", hosts=["*"])], "over-broad", "n", "WARNING", "any host"),
        ([rule("m", "allow", "mcp.call", servers=["s"])],
         "over-broad", "m", "WARNING", "every tool"),
        ([rule("a", "allow", "api.call")], "over-broad", "a", "WARNING", "every API"),
        ([rule("p", "allow", "shell.run", commands=[["python3", "run.py"]])],
         "over-broad", "p", "WARNING", "python3 runs what others write"),
        ([rule("p", "allow", "shell.run", programs=["pytest"])],
         "dead-name", "p", "WARNING", "no grammar knows the program pytest"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(
    rules: list[dict[str, Any]], code: str, name: str, severity: str, words: str
) -> None:
    of_it = [one for one in found(*rules) if (one.code, one.rule) == (code, name)]
    assert len(of_it) == 1, found(*rules)
    assert of_it[0].severity is Severity[severity]
    assert words in of_it[0].message
    assert of_it[0].line > 1
    if code != "dead-name":
        assert of_it[0].witness is not None
    json.dumps(of_it[0].to_json())


@pytest.mark.parametrize(
    "rules",
    [
        [rule("a", "allow", "fs.read", resources=["/ws/a/**"], identities=["bob"]),
         rule("b", "allow", "fs.read", resources=["/ws/a/*"])],
        [rule("a", "ask", "fs.read", resources=["/ws/a/**"], taint_any=["attempted"]),
         rule("b", "allow", "fs.read", resources=["/ws/a/*"])],
        [rule("a", "allow", "mcp.call", tools=["t"], servers=["s"], arguments={"p": {"in": [1]}}),
         rule("b", "allow", "mcp.call", tools=["t"], servers=["s"])],
        [rule("a", "allow", "memory.write", memory={"scope": "session"}),
         rule("b", "allow", "memory.write", memory={"scope": "project"})],
        [rule("a", "allow", "net.request", hosts=["x.example"], schemes=["https"]),
         rule("b", "allow", "net.request", hosts=["x.example"])],
        [rule("no", "deny", "mcp.call", tools=["t"], arguments={"**": {"in": ["x"]}}),
         rule("b", "allow", "mcp.call", tools=["t"], servers=["s"])],
        [rule("no", "deny", "fs.read", resources=["/ws/A/*"]),
         rule("b", "allow", "fs.read", resources=["/ws/a/**"])],
    ],
)  # fmt: skip
def test_what_only_narrows_covers_nothing(rules: list[dict[str, Any]]) -> None:
    assert {code for code, _ in codes(*rules)} <= {"conflict"}


def test_a_finding_the_engine_does_not_confirm_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [READ, rule("again", "allow", "fs.read", resources=["${workspace}/src/**"])]
    judge = Decide(policy(*rules, protected=PROTECTED))
    real = judge.decide(act(file("/ws/src/a")), ALICE, CLEAN)
    assert real.rule == "read"

    def decide(*_: Any) -> Any:
        return replace(real, rule="again")

    monkeypatch.setattr(Decide, "decide", decide)
    assert [one.code for one in lint(judge, known())] == []


def test_what_commonly_holds_secrets_is_missed_by_name() -> None:
    (one,) = found(READ, protected=["**/.env"])
    assert (one.code, one.rule) == ("unprotected", "read")
    assert one.message.endswith(", ".join(SECRETS[1:]))
    assert one.witness is not None
    assert one.witness["params"] == {"path": "/ws/.netrc"}
    assert found(rule("narrow", "allow", "fs.read", resources=["/ws/src/**"]), protected=[]) == []


def test_an_act_against_the_gate_itself_is_an_error_where_nothing_stops_it() -> None:
    about = known(own=("/ws/policy.yaml", "/ws/.git/config", "/etc/counterfoil/config.yaml"))
    write = rule("w", "ask", "fs.write", resources=["${workspace}/**"])
    bare = found(write, about=about)
    assert [(one.code, one.severity.name) for one in bare] == [("self-protection", "ERROR")]
    assert "/ws/policy.yaml" in bare[0].message
    guarded = Decide(policy(write, protected=PROTECTED), self_paths=["/ws/policy.yaml"])
    assert list(lint(guarded, about)) == []


def test_names_that_nothing_goes_by() -> None:
    about = known(apis={"a": frozenset({"x"})})
    rules = [
        rule("x", "allow", "api.call", api={"audience": "a", "operations": ["x", "y"]}),
        rule("z", "deny", "api.call", api={"audience": "b", "operations": ["x"]}),
    ]
    messages = {one.message for one in found(*rules, about=about, groups={"unused": ["x"]})}
    assert messages == {
        "no rule uses the group unused", "a has no operation y", "no API b is configured",
    }  # fmt: skip
    assert found(*rules) == []  # nothing is configured, so nothing is known


TEXT = """\
version: 1
roots: {workspace: .}
protected: ["**/.env", "**/.netrc", "**/.git-credentials", "**/.ssh", "**/.aws", "**/*.key"]
rules:
  # lint: allow over-broad a throwaway container
  # (see the README)
  - {id: a, effect: allow, operations: [fs.write]}
  - {id: b, effect: allow, operations: [fs.delete]}  # lint: allow over-broad the same
  # lint: allow over-broad
  - {id: c, effect: allow, operations: [net.request]}
  # lint: allow shadowed nothing like this
  # and why
  - {id: d, effect: allow, operations: [api.call]}
"""


def test_a_finding_is_excused_on_its_line_or_above_with_a_reason() -> None:
    judge = Decide(compiled(TEXT.encode()))
    shown = [(one.code, one.line) for one in lint(judge, known(texts={"policy.yaml": TEXT}))]
    assert shown == [
        ("allowance", 10), ("over-broad", 10), ("allowance", 13), ("over-broad", 13),
    ]  # fmt: skip


def test_nothing_is_said_of_what_cannot_be_determined() -> None:
    rules = [
        rule("a", "allow", "fs.read", resources=["/ws/x\u0301/**"]),
        rule("b", "allow", "fs.read", resources=["/ws/x\u0301/y"]),
    ]
    assert {(one.code, one.severity) for one in found(*rules)} == {("undetermined", Severity.INFO)}


def test_a_rule_over_guarded_files_alone_never_happens() -> None:
    (one,) = found(rule("h", "allow", "fs.write", resources=["${workspace}/.git/hooks/**"]))
    assert (one.code, one.rule) == ("never-allows", "h")
    assert found(rule("h", "allow", "fs.read", resources=["${workspace}/.git/hooks/**"])) == []


def test_an_act_that_its_own_rule_does_not_match_shows_nothing() -> None:
    rules = [
        rule("no", "deny", "mcp.call", servers=["s"]),
        rule("yes", "allow", "mcp.call", servers=["s"], tools=["t"],
             arguments={"p": {"not_in": ["x"]}}),
    ]  # fmt: skip
    assert [one.code for one in found(*rules)] == []


def test_a_rule_outside_every_root_never_happens() -> None:
    (one,) = found(rule("x", "allow", "fs.write", resources=["/opt/elsewhere/**"]))
    assert (one.code, one.severity.name) == ("never-allows", "ERROR")
    assert "beneath a root" in one.message


def test_what_a_rule_denies_itself_is_not_too_broad() -> None:
    for more in ({"when": "1 == 2"}, {"limits": {"count": 0}}, {"when": "resource.size"}):
        assert found(rule("w", "allow", "fs.write", **more)) == []


def test_too_many_rules_are_said_to_be_too_many() -> None:
    rules = [rule(f"r{n}", "deny", "fs.read", resources=[f"/ws/{n}"]) for n in range(501)]
    assert [(one.code, one.severity.name) for one in found(*rules)] == [("undetermined", "INFO")]


def test_many_rules_are_looked_at_in_reasonable_numbers() -> None:
    rules = [
        rule(f"r{n}", "allow", "fs.read", resources=[f"${{workspace}}/d{n}/**"]) for n in range(60)
    ]
    data = text_of(rules, protected=PROTECTED)
    assert list(lint(Decide(compiled(data)), known())) == []
