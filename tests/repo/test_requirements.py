"""The manifest of promises, both ways: every shown promise has its test, no later one has."""

from __future__ import annotations

import ast
import re

from tests.repo.tree import ROOT, modules, parsed
from tests.requirements import LATER, SHOWN, test_name

PAGE = ROOT / "docs" / "promises.md"
ROW = re.compile(r"^\| (?!promise|-)(.+?) \| (.+?) \|$", re.MULTILINE)


def _tests() -> set[str]:
    return {
        node.name
        for path in modules("tests")
        for node in ast.walk(parsed(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def test_every_shown_promise_is_a_test_of_that_name():
    names = _tests()
    assert not [promise for promise in SHOWN if test_name(promise) not in names]


def test_a_promise_with_a_test_is_not_put_off():
    names = _tests()
    assert not [promise for promise in LATER if test_name(promise) in names]


def test_the_page_says_what_the_manifest_says():
    rows = dict(ROW.findall(PAGE.read_text(encoding="utf-8")))
    assert list(rows) == [*(p for p in rows if p in SHOWN or p in LATER)]
    assert set(rows) == {*SHOWN, *LATER}
    assert not [promise for promise in LATER if not rows[promise].startswith("later")]
    assert not [promise for promise in SHOWN if rows[promise].startswith("later")]
