"""grep: the pattern is always an option value once rebuilt; files of patterns are refused."""

from __future__ import annotations

import pytest

from gateway.model.action import Refusal
from gateway.normalize.grammar.engine import parse, serialize
from gateway.normalize.grammar.grep import TOOL
from gateway.normalize.grammar.model import Parsed


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("foo f", "--regexp=foo -- f"),
        ("-rn foo src", "--recursive --line-number --regexp=foo -- src"),
        ("-e foo -e bar f", "--regexp=foo --regexp=bar -- f"),
        ("-e -x f", "--regexp=-x -- f"),
        ("-A3 -B 2 foo f", "--after-context=3 --before-context=2 --regexp=foo -- f"),
        ("-3 foo f", "--context=3 --regexp=foo -- f"),
        ("-rIl foo", "--recursive -I --files-with-matches --regexp=foo --"),
        ("--include=*.py -r foo .", "--include=*.py --recursive --regexp=foo -- ."),
        ("-c foo", "--count --regexp=foo --"),
        ("-m1 -q foo f", "--max-count=1 --quiet --regexp=foo -- f"),
    ],
)
def test_ordinary_forms(words: str, expected: str) -> None:
    parsed = parse(TOOL, words.split())
    assert isinstance(parsed, Parsed), parsed
    assert " ".join(serialize(parsed)) == expected


@pytest.mark.parametrize(
    "words",
    [
        "-R foo .",
        "--dereference-recursive foo .",
        "-f pats f",
        "-fpats f",
        "--file=pats f",
        "--fil=pats f",
        "-rf pats .",
        "-rnf pats",
        "foo -r src",
        "foo src --include=*.py",
        "--include=[ab] -r foo",
        "--include=a?c -r foo",
        "--include=a/b -r foo",
        "-d recurse foo .",
        "-D read foo .",
        "--devices=read foo",
        "--exclude-from=f -r foo",
        "--binary-files=text foo f",
        "-rA3 foo .",
    ],
)
def test_what_is_left_out(words: str) -> None:
    refusal = parse(TOOL, words.split())
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "sh_option"
