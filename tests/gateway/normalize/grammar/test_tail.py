"""tail: ordinary forms; following a file is refused."""

from __future__ import annotations

import pytest

from gateway.model.action import Refusal
from gateway.normalize.grammar.engine import parse, serialize
from gateway.normalize.grammar.model import Parsed
from gateway.normalize.grammar.tail import TOOL


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("f", "-- f"),
        ("-20 f", "--lines=20 -- f"),
        ("-n +3 f", "--lines=+3 -- f"),
        ("-c 5 f", "--bytes=5 -- f"),
    ],
)
def test_ordinary_forms(words: str, expected: str) -> None:
    parsed = parse(TOOL, words.split())
    assert isinstance(parsed, Parsed), parsed
    assert " ".join(serialize(parsed)) == expected


@pytest.mark.parametrize(
    "words",
    [
        "-f f",
        "-F f",
        "--follow f",
        "--follow=name f",
        "--foll f",
        "-nf f",
        "--pid=1 f",
        "-s 1 f",
        "--retry f",
    ],
)
def test_what_is_left_out(words: str) -> None:
    refusal = parse(TOOL, words.split())
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_option"
