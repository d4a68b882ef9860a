"""cat: ordinary forms, and nothing that is not declared."""

from __future__ import annotations

import pytest

from gateway.model.action import Refusal
from gateway.normalize.grammar.cat import TOOL
from gateway.normalize.grammar.engine import parse, serialize
from gateway.normalize.grammar.model import Parsed


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("f", "-- f"),
        ("-n f g", "--number -- f g"),
        ("-vET f", "--show-nonprinting --show-ends --show-tabs -- f"),
        ("", "--"),
    ],
)
def test_ordinary_forms(words: str, expected: str) -> None:
    parsed = parse(TOOL, words.split())
    assert isinstance(parsed, Parsed), parsed
    assert " ".join(serialize(parsed)) == expected


@pytest.mark.parametrize(
    "words",
    [
        "--num f",
        "-u f",
        "-nx f",
        "f -n",
        "--help",
        "--version",
    ],
)
def test_what_is_left_out(words: str) -> None:
    refusal = parse(TOOL, words.split())
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_option"
