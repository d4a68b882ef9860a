"""head: ordinary forms, and nothing that is not declared."""

from __future__ import annotations

import pytest

from gateway.model.action import Refusal
from gateway.normalize.grammar.engine import parse, serialize
from gateway.normalize.grammar.head import TOOL
from gateway.normalize.grammar.model import Parsed


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("f", "-- f"),
        ("-5 f", "--lines=5 -- f"),
        ("-n 5 f", "--lines=5 -- f"),
        ("-n -5 f", "--lines=-5 -- f"),
        ("-n5 f", "--lines=5 -- f"),
        ("--lines=5 f", "--lines=5 -- f"),
        ("-c 10k f", "--bytes=10k -- f"),
        ("-q -n 1 f g", "--quiet --lines=1 -- f g"),
    ],
)
def test_ordinary_forms(words: str, expected: str) -> None:
    parsed = parse(TOOL, words.split())
    assert isinstance(parsed, Parsed), parsed
    assert " ".join(serialize(parsed)) == expected


@pytest.mark.parametrize(
    "words",
    [
        "--line=5 f",
        "-n f",
        "-qn5 f",
        "-5x f",
        "f -5",
    ],
)
def test_what_is_left_out(words: str) -> None:
    refusal = parse(TOOL, words.split())
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_option"
