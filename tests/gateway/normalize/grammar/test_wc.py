"""wc: ordinary forms; a file of file names is refused."""

from __future__ import annotations

import pytest

from gateway.model.action import Refusal
from gateway.normalize.grammar.engine import parse, serialize
from gateway.normalize.grammar.model import Parsed
from gateway.normalize.grammar.wc import TOOL


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-l a b", "--lines -- a b"),
        ("-lwc f", "--lines --words --bytes -- f"),
        ("-m f", "--chars -- f"),
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
        "--files0-from=f",
        "--files0-from f",
        "--files0=f",
        "-lx f",
    ],
)
def test_what_is_left_out(words: str) -> None:
    refusal = parse(TOOL, words.split())
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_option"
