"""The argv engine: the rules every table gets, and that rebuilding and reading agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.action import Refusal
from gateway.normalize.grammar import TOOLS
from gateway.normalize.grammar.engine import parse, serialize, with_operands
from gateway.normalize.grammar.git import SUBCOMMANDS
from gateway.normalize.grammar.model import Option, Parsed, Tool, flags, valued

EVERY = [*TOOLS.values(), *SUBCOMMANDS.values()]
SAMPLE = Tool(
    name="sample",
    number="count",
    options=(
        *flags("-a --all", "-b", "--only"),
        *valued("number", "-n --count"),
        *valued("text", "-S"),
        Option(long="when", value="text", choices=("never", "always"), attached=True, bare=True),
        Option(long="mode", value="text", choices=("x",), attached=True),
        Option(long="same", implies="all"),
    ),
)
SPLIT = Tool(name="split", options=flags("-a --all"), split=True)


def rebuilt(tool: Tool, *words: str) -> tuple[str, ...]:
    parsed = parse(tool, words)
    assert isinstance(parsed, Parsed), parsed
    return serialize(parsed)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["f"], ("--", "f")),
        (["-a", "f"], ("--all", "--", "f")),
        (["-ab", "f"], ("--all", "-b", "--", "f")),
        (["-n5"], ("--count=5", "--")),
        (["-n", "5"], ("--count=5", "--")),
        (["-5"], ("--count=5", "--")),
        (["--count", "5"], ("--count=5", "--")),
        (["--count=5"], ("--count=5", "--")),
        (["-S", "-x"], ("-S-x", "--")),
        (["--when"], ("--when", "--")),
        (["--when=never"], ("--when=never", "--")),
        (["--same"], ("--all", "--")),
        (["--", "f", "g"], ("--", "f", "g")),
    ],
)
def test_argv_is_rebuilt(words: list[str], expected: tuple[str, ...]) -> None:
    assert rebuilt(SAMPLE, *words) == expected


@pytest.mark.parametrize(
    ("words", "reason", "named"),
    [
        (["--unknown"], "sh_option", "accepted are"),
        (["--onl"], "sh_option", "--only"),
        (["--al=x"], "sh_option", "--all"),
        (["--all=x"], "sh_option", "takes no value"),
        (["-x"], "sh_option", "'-x'"),
        (["-abx"], "sh_option", "'-x'"),
        (["-an5"], "sh_option", "apart"),
        (["-anS"], "sh_option", "apart"),
        (["-n"], "sh_option", "needs a value"),
        (["-n", "five"], "sh_option", "plain number"),
        (["-S", "a\nb"], "sh_option", "plain text"),
        (["--when", "never"], None, None),
        (["--when=sometimes"], "sh_option", "never, always"),
        (["--mode", "x"], "sh_option", "needs a value"),
        (["f", "-a"], "sh_option", "options come first"),
        (["f", "--", "g"], "sh_option", "options come first"),
        (["--", "-a"], "sh_option", "options come first"),
        (["-"], "sh_operand", "pipe"),
        ([""], "sh_operand", "empty"),
        (["a\nb"], "sh_operand", "newline"),
        (["f"] * 257, "sh_operand", "256"),
    ],
)
def test_what_the_rules_refuse(words: list[str], reason: str | None, named: str | None) -> None:
    refusal = parse(SAMPLE, words)
    if reason is None:
        assert isinstance(refusal, Parsed)
        return
    assert isinstance(refusal, Refusal)
    assert refusal.reason == reason
    assert named is not None
    assert named in refusal.message


def test_a_splitting_tool_keeps_revisions_and_files_apart() -> None:
    parsed = parse(SPLIT, ["-a", "main", "--", "f"])
    assert isinstance(parsed, Parsed)
    assert (parsed.operands, parsed.paths) == (("main",), ("f",))
    assert serialize(with_operands(parsed, ("x",), ("y",))) == ("--all", "x", "--", "y")
    assert isinstance(parse(SPLIT, ["main", "-a"]), Refusal)


def an_option(option: Option) -> st.SearchStrategy[list[str]]:
    names = [f"--{option.long}"] if option.long else []
    names += [f"-{option.short}"] if option.short else []
    if option.value is None:
        return st.sampled_from(names).map(lambda name: [name])
    values = (
        st.sampled_from(option.choices)
        if option.choices
        else st.sampled_from(
            {"format": ["%h %s", "x"], "letters": ["A", "ad"]}.get(option.value, ["3"])
        )
    )
    return st.tuples(st.sampled_from(names), values).map(
        lambda pair: [f"{pair[0]}={pair[1]}" if pair[0].startswith("--") else "".join(pair)]
    )


@st.composite
def command(draw: st.DrawFn) -> tuple[Tool, list[str]]:
    tool = draw(st.sampled_from(EVERY))
    words = [
        word
        for option in draw(st.lists(st.sampled_from(tool.options), max_size=4))
        for word in draw(an_option(option))
    ]
    return tool, [*words, *draw(st.lists(st.sampled_from(["a", "b/c", "d e"]), max_size=3))]


@given(command())
def test_reading_what_was_rebuilt_gives_the_same(made: tuple[Tool, list[str]]) -> None:
    tool, words = made
    parsed = parse(tool, words)
    if isinstance(parsed, Refusal):
        assert tool.pattern is not None, parsed  # grep without a pattern
        return
    assert parse(tool, serialize(parsed)) == parsed


@given(st.sampled_from(EVERY), st.data())
def test_a_prefix_of_a_long_option_is_refused(tool: Tool, data: st.DataObject) -> None:
    longs = {option.long for option in tool.options if option.long}
    name = data.draw(st.sampled_from(sorted(longs)))
    prefix = name[: data.draw(st.integers(1, len(name) - 1))]
    if prefix not in longs:
        assert isinstance(parse(tool, [f"--{prefix}", "x"]), Refusal)


@given(st.sampled_from(EVERY), st.lists(st.text(max_size=12), max_size=6))
def test_anything_gives_a_value(tool: Tool, words: list[str]) -> None:
    parsed = parse(tool, words)
    assert isinstance(parsed, (Parsed, Refusal))
    if isinstance(parsed, Parsed):
        assert not any(one.startswith("-") for one in (*parsed.operands, *parsed.paths))
        assert parse(tool, serialize(parsed)) == parsed
