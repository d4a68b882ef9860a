"""ls: ordinary forms; options that follow symlinks are refused."""

from __future__ import annotations

import pytest

from gateway.model.action import Refusal
from gateway.normalize.grammar.engine import parse, serialize
from gateway.normalize.grammar.ls import TOOL
from gateway.normalize.grammar.model import Parsed


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", "--"),
        ("-la src", "-l --all -- src"),
        ("-1", "-1 --"),
        ("-lahtr", "-l --all --human-readable -t --reverse --"),
        ("-R src", "--recursive -- src"),
        ("-ld src", "-l --directory -- src"),
        ("--color=never", "--color=never --"),
        ("--sort=size", "--sort=size --"),
    ],
)
def test_ordinary_forms(words: str, expected: str) -> None:
    parsed = parse(TOOL, words.split())
    assert isinstance(parsed, Parsed), parsed
    assert " ".join(serialize(parsed)) == expected


@pytest.mark.parametrize(
    "words",
    [
        "-L",
        "-H",
        "--dereference",
        "--deref",
        "-lL",
        "--color=foo",
        "--rec",
        "-I x",
        "--hide=x",
        "src -la",
        "--hyperlink",
        "-Z",
    ],
)
def test_what_is_left_out(words: str) -> None:
    refusal = parse(TOOL, words.split())
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_option"
