"""`when` narrows and never widens; what is not true denies and does not fall through."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gateway.decide.when import FUNCTIONS, MAX_NODES, MAX_TEXT, NAMES, WhenError, compile_when, view
from gateway.errors import PolicyError
from gateway.model.resource import MemoryResource
from tests.gateway.decide.build import (
    ALICE,
    CLEAN,
    TAINTED,
    api,
    command,
    decide,
    decider,
    file,
    mcp,
    policy,
    rule,
    said,
    url,
)

OPERATIONS = ("api.call", "mcp.call", "fs.read", "shell.run", "net.request", "memory.write")
MEMORY = MemoryResource(scope="session", sensitivity="low", size=3)


def judge(source: str, effect: str = "allow") -> Any:
    return decider(rule("if", effect, *OPERATIONS, when=source), rule("all", "allow", *OPERATIONS))


@pytest.mark.parametrize(
    ("source", "resource", "reason"),
    [
        ("size(params.attendees) <= 2", api(attendees=["a", "b"]), "rule_match"),
        ("size(params.attendees) <= 2", api(attendees=["a", "b", "c"]), "when_false"),
        ("size(params.attendees) <= 2", api(), "when_error"),
        ("has(params.attendees)", api(), "when_false"),
        ("params.n > 1", mcp(n=2), "rule_match"),
        ("params.n > 1", mcp(n=None), "when_error"),
        ("params.n > 1", mcp(n="2"), "when_error"),
        ("params.n", mcp(n=1), "when_error"),
        ("params.n", mcp(n="true"), "when_error"),
        ("1 / params.n == 1", mcp(n=0), "when_error"),
        ("params.to.all(one, one.endsWith('@example.com'))", mcp(to=["a@example.com"]), "rule_match"),
        ("params.to.all(one, one.endsWith('@example.com'))", mcp(to=["a@evil.com"]), "when_false"),
        ("params.to.exists(one, one == 'a') && user == 'alice'", mcp(to=["a"]), "rule_match"),
        ("'read' in [resource.name] && resource.server == 'files'", mcp(), "rule_match"),
        ("resource.path.startsWith('/ws/') && resource.root == 'workspace'", file("/ws/a"), "rule_match"),
        ("resource.argv[1] == '-l' && resource.program == 'ls'", command("ls", "-l"), "rule_match"),
        ("resource.argv[7] == '-l'", command("ls", "-l"), "when_error"),
        ("resource.port == 443 && resource.path == '/x'", url("a.example.com", path="/x"), "rule_match"),
        ("resource.scope == 'session' && resource.size < 4", MEMORY, "rule_match"),
        ("resource.audience == 'calendar-api' && operation == 'api.call'", api(), "rule_match"),
        ("resource.operation == 'events.read'", api(), "rule_match"),
        ("door == 'test' && taint == []", api(), "rule_match"),
        ("'//' == '//' && '(' != ')'", api(), "rule_match"),
    ],
)  # fmt: skip
def test_what_is_not_true_denies_here_and_no_later_rule_decides(
    source: str, resource: Any, reason: str
) -> None:
    decision = decide(judge(source), resource)
    effect = "allow" if reason == "rule_match" else "deny"
    assert said(decision) == (effect, "if", reason)
    asked = decide(judge(source, "ask"), resource)
    assert said(asked) == ("ask" if effect == "allow" else "deny", "if", reason)


def test_the_taint_of_the_session_is_seen() -> None:
    one = decider(rule("if", "allow", "fs.read", when="taint == []"))
    assert decide(one, file("/ws/a")).effect.word == "allow"
    assert decide(one, file("/ws/a"), state=TAINTED).reason == "when_false"


def test_a_rule_that_does_not_match_is_not_denied_by_its_when() -> None:
    one = decider(
        rule("if", "allow", "fs.read", resources=["/ws/a"], when="false"),
        rule("all", "allow", "fs.read"),
    )
    assert said(decide(one, file("/ws/b"))) == ("allow", "all", "rule_match")


@pytest.mark.parametrize(
    "arguments",
    [
        {"l": list(range(MAX_NODES))},
        {"l": [[]] * MAX_NODES},
        {"s": "x" * (MAX_TEXT + 1)},
        {"l": ["x" * 1000] * 66},
        {f"n{number}": 1 for number in range(MAX_NODES // 2)},
    ],
)
def test_an_input_that_is_dear_to_judge_denies(arguments: dict[str, Any]) -> None:
    assert decide(judge("true"), mcp(**arguments)).reason == "when_error"


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("size(", "does not compile"),
        ("params.a ==", "does not compile"),
        ("parms.a == 1", "unknown name 'parms'"),
        ("params.all(x, y == 1)", "unknown name 'y'"),
        ("params.s.matches('a*')", "no such function 'matches'"),
        ("timestamp('2020-01-01T00:00:00Z') == timestamp('2020-01-01T00:00:00Z')", "timestamp"),
        ("duration('1s') == duration('1s')", "duration"),
        ("type(params.a) == int", "unknown name 'int'"),
        ("dyn(1) == 1", "no such function 'dyn'"),
        ("optional.of(1).hasValue()", "unknown name 'optional'"),
        ("params.a.foo()", "no such function 'foo'"),
        ("params.a.map(x, x) == []", "`map` is not accepted"),
        ("params.a.filter(x, true) == []", "`filter` is not accepted"),
        ("params.a . map (x, x) == []", "`map` is not accepted"),
        ("params.a.all(x, params.a.all(y, x == y))", "macro inside a macro"),
        ("params.a.all(x, (params.a.exists(y, x == y)))", "macro inside a macro"),
        ("params.a.all(x, ')' == '(' || params.a.exists(y, x == y))", "macro inside a macro"),
        ("params.a.all(params, true)", "has a meaning already"),
        ("params.a.all(1, true)", "takes a name and a condition"),
        ("[params.a + params.a].all(x, size(x) > 0)", "`+`"),
        ('params.a == "\\n"', "escapes"),
        ("params.a == r'x'", "raw or bytes"),
        ("params.a == b'x'", "raw or bytes"),
        ("params.a == '''x'''", "triple quotes"),
        ('params.a == """x"""', "triple quotes"),
        ("true // always", "comment"),
        ("params.`a-b` == 1", "quoted names"),
        ("params.a == 'x", "does not end"),
        ("true\n&& true", "one line"),
        ("params.a == '\u202e'", "printable"),
        ("true" + " && true" * 127 + " &&", "does not compile"),
    ],
)
def test_what_could_mislead_or_be_slow_is_refused_with_its_line(source: str, word: str) -> None:
    with pytest.raises(WhenError, match=re.escape(word)):
        compile_when(source)
    with pytest.raises(PolicyError, match="when: ") as caught:
        policy(rule("if", "allow", "mcp.call", when=source[:1024]))
    assert caught.value.line is not None


@pytest.mark.parametrize(
    "source", ["(" * 512 + "true" + ")" * 508, "!" * 1020 + "true", "[" * 1000, "-" * 1000 + "1",
               "params" + ".a" * 500, "params" + "[0]" * 330, "true?" * 200, "1+" * 510 + "1"],
)  # fmt: skip
def test_deep_expressions_are_judged_or_refused(source: str) -> None:
    try:
        program = compile_when(source)
    except WhenError:
        return
    assert program.source == source


def test_the_tables_say_what_an_expression_can_use() -> None:
    assert set(view(file("/a"), ALICE, CLEAN)) == NAMES
    for name in FUNCTIONS:
        called = (
            f"'a'.{name}('a')" if name in {"startsWith", "endsWith", "contains"} else f"{name}('1')"
        )
        assert compile_when(f"{called} == {called}").functions()


@pytest.mark.parametrize(
    ("operations", "source", "known"),
    [
        (["fs.write"], "resource.sizee < 3", "path, root, size"),
        (["fs.write"], "resource . audience == 'x'", "path, root, size"),
        (["api.call"], "resource.path == 'x'", "audience, operation, scope"),
        (["shell.run", "git.read"], "resource.size == 1", "argv, cwd, program"),
    ],
)
def test_a_member_the_operations_do_not_have_is_refused(
    operations: list[str], source: str, known: str
) -> None:
    with pytest.raises(PolicyError, match=f"it has: {known}"):
        policy(rule("r", "allow", *operations, when=source))
    assert policy(rule("r", "allow", "fs.write", when="resource.size < 3 && 'resource.x' != ''"))


def test_what_a_macro_would_look_at_again_and_again_is_bounded() -> None:
    long = [str(number) for number in range(1500)]
    for source in (
        "params.l.all(x, params.l == params.l)",
        "params.l.all(x, x in params.l && x in params.l)",
    ):
        assert decide(judge(source), mcp(l=long)).reason == "when_error"
        assert decide(judge(source), mcp(l=long[:50])).reason == "rule_match"
    assert decide(judge("params.l.all(x, x != 'evil')"), mcp(l=long)).reason == "rule_match"
