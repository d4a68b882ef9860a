"""Lines of faults; includes that only add."""

from __future__ import annotations

import itertools

import pytest

from gateway.decide.engine import Decide
from gateway.decide.parse import MAX_INCLUDE_DEPTH, no_includes, parse
from gateway.errors import PolicyError
from gateway.model.names import Effect
from tests.gateway.decide import build
from tests.gateway.decide.build import ROOT, decide, file

MAIN = b"""\
version: 1
include: [team.yaml]
roots: {workspace: "."}
rules:
  - {id: no-write, effect: deny, operations: [fs.write]}
  - {id: ask-read, effect: ask, operations: [fs.read], resources: ["${workspace}/**"]}
"""


def refusal(data: bytes, files: build.Files | None = None) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        build.compiled(data, build.reader(files or {}))
    return caught.value


def test_a_fault_names_file_line_and_key() -> None:
    error = refusal(
        b"version: 1\nroots: {workspace: .}\nrules:\n"
        b"  - id: a\n    effect: allow\n    operations:\n      - fs.read\n    hosst: [x]\n"
    )
    assert str(error) == ("policy.yaml:8: rules[0].hosst: unknown key (did you mean `hosts`?)")


def test_a_missing_key_is_named_where_its_mapping_stands() -> None:
    error = refusal(
        b"version: 1\nroots: {workspace: .}\nrules:\n  - effect: deny\n    operations: [unknown]\n"
    )
    assert (error.line, error.detail) == (4, "rules[0].id: missing")


def test_the_first_fault_of_the_file_is_told() -> None:
    error = refusal(b"version: 1\nfirst: 1\nroots: {workspace: .}\nrules: []\n")
    assert error.line == 2


@pytest.mark.parametrize("text", [b"- a\n", b"just words\n", b"~\n"])
def test_a_file_that_is_no_mapping_is_refused(text: bytes) -> None:
    assert "a mapping of keys" in str(refusal(text))


def test_a_duplicate_id_names_both_places() -> None:
    error = refusal(
        MAIN,
        {
            "team.yaml": b"version: 1\nrules:\n  - {id: no-write, effect: deny, operations: [unknown]}\n"
        },
    )
    assert str(error).startswith("team.yaml:3: ")
    assert "policy.yaml:5" in str(error)


def test_an_include_never_removes_a_local_deny() -> None:
    team = b"""\
version: 1
protected: ["**/.secret"]
rules:
  - {id: team-write, effect: allow, operations: [fs.write, fs.read, fs.list]}
"""
    judge = Decide(build.compiled(MAIN, build.reader({"team.yaml": team})))
    assert decide(judge, file(f"{ROOT}/a", "fs.write")).effect is Effect.DENY
    assert decide(judge, file(f"{ROOT}/a", "fs.read")).effect is Effect.ASK
    assert decide(judge, file(f"{ROOT}/a", "fs.list")).effect is Effect.ALLOW
    assert decide(judge, file(f"{ROOT}/.secret", "fs.list")).effect is Effect.DENY


@pytest.mark.parametrize("key", ["default: ask", "roots: {x: .}", "limits: {read_bytes: 1}"])
def test_an_include_cannot_set_what_belongs_to_the_main_file(key: str) -> None:
    error = refusal(MAIN, {"team.yaml": f"version: 1\n{key}\n".encode()})
    assert str(error).startswith("team.yaml:2: ")
    assert "unknown key" in str(error)


@pytest.mark.parametrize("name", ["/etc/x.yaml", "../x.yaml", "a/../../x.yaml", "~/x", "a\\b"])
def test_an_include_is_relative(name: str) -> None:
    data = MAIN.replace(b"team.yaml", f"'{name}'".encode())
    error = refusal(data)
    assert (error.line, "relative path" in str(error)) == (2, True)


def test_a_cycle_of_includes_is_refused() -> None:
    files = {"team.yaml": b"version: 1\ninclude: [policy.yaml]\n", "policy.yaml": MAIN}
    assert "a cycle of includes: policy.yaml -> team.yaml -> policy.yaml" in str(
        refusal(MAIN, files)
    )


def test_a_file_is_included_once() -> None:
    data = MAIN.replace(b"[team.yaml]", b"[team.yaml, ./team.yaml]")
    assert "included twice" in str(
        refusal(data, dict.fromkeys(("team.yaml", "./team.yaml"), b"version: 1\n"))
    )


def test_includes_nest_three_deep_and_no_deeper() -> None:
    names = ["team.yaml", "b.yaml", "c.yaml", "d.yaml"]
    files = {
        name: f"version: 1\ninclude: [{after}]\n".encode()
        for name, after in itertools.pairwise(names)
    }
    files["d.yaml"] = b"version: 1\n"
    assert f"nest deeper than {MAX_INCLUDE_DEPTH}" in str(refusal(MAIN, files))
    files["c.yaml"] = b"version: 1\n"
    document = parse("policy.yaml", MAIN, read_include=build.reader(files))
    assert document.files == ("policy.yaml", "team.yaml", "b.yaml", "c.yaml")


def test_names_shared_by_two_files_are_refused() -> None:
    data = MAIN + b"groups: {g: [a]}\n"
    error = refusal(data, {"team.yaml": b"version: 1\ngroups:\n  g: [b]\n"})
    assert str(error) == "team.yaml:3: groups.g: already defined at policy.yaml:7"


def test_no_includes_refuses_each() -> None:
    with pytest.raises(PolicyError, match="cannot be read here"):
        parse("policy.yaml", MAIN, read_include=no_includes)


def test_an_included_file_is_named_relative_to_its_includer() -> None:
    seen: list[tuple[str, str]] = []

    def read(source: str, relative: str) -> bytes:
        seen.append((source, relative))
        return b"version: 1\ninclude: [b.yaml]\n" if relative == "team.yaml" else b"version: 1\n"

    document = parse("dir/policy.yaml", MAIN, read_include=read)
    assert seen == [("dir/policy.yaml", "team.yaml"), ("dir/team.yaml", "b.yaml")]
    assert document.roots == {"workspace": "."}


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        (b'resources: ["${workspace}/**"]', b"resources:", "rules[0].resources"),
        (b'resources: ["${workspace}/**"]', b"resources: ~", "rules[0].resources"),
        (b"protected: [a]", b"protected:", "protected"),
        (b"default: deny", b"default: null", "default"),
        (b"identities: [bob]", b"identities: [bob, ~]", "rules[0].identities[1]"),
    ],
)
def test_a_key_without_a_value_is_no_missing_condition(old: bytes, new: bytes, where: str) -> None:
    text = (
        b"version: 1\ndefault: deny\nroots: {workspace: .}\nprotected: [a]\nrules:\n"
        b"  - id: r\n    effect: allow\n    operations: [fs.read]\n    identities: [bob]\n"
        b'    resources: ["${workspace}/**"]\n'
    )
    assert old in text
    with pytest.raises(PolicyError, match="nothing is written here") as caught:
        parse("p.yaml", text.replace(old, new), read_include=no_includes)
    assert f"{where}: nothing is written here" in str(caught.value)
    assert caught.value.line is not None


def test_null_is_a_value_in_an_example() -> None:
    text = (
        b"version: 1\nroots: {workspace: .}\nrules:\n  - id: r\n    effect: allow\n"
        b"    operations: [mcp.call]\n    examples:\n"
        b"      match: [{tool: mcp.call, params: {server: s, tool: t, arguments: {a: null}}}]\n"
    )
    assert parse("p.yaml", text, read_include=no_includes).rules


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"resorces: [x]", "unknown key (did you mean `resources`?)"),
        (b"zzz: 1", "unknown key"),
        (b"methods: [get]", "a method in capitals, such as GET"),
        (b"paths: [guide]", "a path begins with `/`"),
        (b'paths: ["/guide/*"]', "no wildcards here"),
    ],
)
def test_a_message_says_what_to_write(line: bytes, words: str) -> None:
    text = (
        b"version: 1\nroots: {workspace: .}\nrules:\n"
        b"  - id: r\n    effect: allow\n    operations: [net.request]\n    " + line + b"\n"
    )
    with pytest.raises(PolicyError) as caught:
        parse("p.yaml", text, read_include=no_includes)
    assert words in str(caught.value)


def test_a_missing_include_stands_where_it_is_named() -> None:
    text = b"version: 1\ninclude: [team.yaml]\nroots: {workspace: .}\nrules: []\n"

    def gone(_source: str, relative: str) -> bytes:
        raise PolicyError("No such file", source=relative)

    with pytest.raises(PolicyError, match=r"p.yaml:2: include\[0\]: team.yaml: No such file"):
        parse(
            "p.yaml",
            text.replace(b"rules: []", b"rules: [{id: a, effect: deny, operations: [fs.read]}]"),
            read_include=gone,
        )
