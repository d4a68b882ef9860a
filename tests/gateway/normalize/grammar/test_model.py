"""The tables themselves: every option can be named one way, every value has a kind."""

from __future__ import annotations

import pytest

from gateway.normalize.grammar import TOOLS
from gateway.normalize.grammar.git import SUBCOMMANDS
from gateway.normalize.grammar.model import KINDS, Parsed, Tool, flags, valued

EVERY = [*TOOLS.values(), *SUBCOMMANDS.values()]


@pytest.mark.parametrize("tool", EVERY, ids=lambda tool: tool.name)
def test_a_table_is_consistent(tool: Tool) -> None:
    longs = [option.long for option in tool.options if option.long]
    shorts = [option.short for option in tool.options if option.short]
    assert len(longs) == len(set(longs))
    assert len(shorts) == len(set(shorts))
    keys = {option.key for option in tool.options}
    for option in tool.options:
        assert option.long or option.short
        assert option.value is None or option.value in KINDS
        assert option.implies is None or option.implies in keys
        assert option.short is None or len(option.short) == 1
        assert option.value is not None or not (option.choices or option.attached or option.bare)
    for named in (tool.number, tool.pattern, tool.recursive):
        assert named is None or named in keys


def test_spellings_become_options() -> None:
    one, two = flags("-n --number", "-e")
    assert (one.long, one.short, one.key) == ("number", "n", "number")
    assert (two.long, two.short, two.key) == (None, "e", "e")
    assert valued("count", "--lines")[0].value == "count"


def test_asking_a_parsed_command() -> None:
    parsed = Parsed(tool=EVERY[0], options=(("a", None), ("n", "1"), ("n", "2")))
    assert parsed.has("a")
    assert not parsed.has("b", "c")
    assert parsed.values("n") == ("1", "2")


@pytest.mark.parametrize(
    "text", ["%h %s", "%H%n%an <%ae>%x00", "100%%", "%+b", "%C(bold red)%h%C(reset)"]
)
def test_formats_of_stored_facts(text: str) -> None:
    assert KINDS["format"].fullmatch(text)


@pytest.mark.parametrize("text", ["%G?", "%GG", "%+GS", "% G?", "%-GK", "%", "%C(a%GG)", "%w(1)"])
def test_formats_that_run_a_program_or_are_unknown(text: str) -> None:
    assert not KINDS["format"].fullmatch(text)
