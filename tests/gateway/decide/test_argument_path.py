"""Paths into arguments: what they select, what is missing, what does not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.decide.argument_path import (
    MAX_STEPS,
    ArgumentPathError,
    Every,
    Found,
    parse_argument,
    select,
)

CALL: dict[str, Any] = {
    "path": "/a",
    "to": [{"mail": "a@x", "cc": ["c"]}, {"mail": "b@x", "cc": []}],
    "options": {"deep": {"n": 1}, "a.b": True},
    "rows": [[1, 2], [3]],
    "none": None,
}


@pytest.mark.parametrize(
    ("text", "values", "missing", "misfit"),
    [
        ("path", ["/a"], False, False),
        ("gone", [], True, False),
        ("options.deep.n", [1], False, False),
        ("options.deep.m", [], True, False),
        ("options.gone.n", [], True, False),
        ('options."a.b"', [True], False, False),
        ("to", [CALL["to"]], False, False),
        ("to[].mail", ["a@x", "b@x"], False, False),
        ("to[].cc[]", ["c"], False, False),
        ("to[].bcc", [], True, False),
        ("rows[][]", [1, 2, 3], False, False),
        ("rows[].x", [], False, True),
        ("path[]", [], False, True),
        ("path.x", [], False, True),
        ("none.x", [], False, True),
        ("none", [None], False, False),
        ("options.**", ["deep", "n", 1, "a.b", True], False, False),
        ("rows.**", [1, 2, 3], False, False),
        ("path.**", ["/a"], False, False),
        ("gone.**", [], True, False),
    ],
)
def test_what_a_path_selects(text: str, values: list[Any], missing: bool, misfit: bool) -> None:
    found = Found(values=tuple(values), missing=missing, misfit=misfit)
    assert select(parse_argument(text), CALL) == found


def test_two_stars_reach_every_value_and_every_name() -> None:
    found = select(parse_argument("**"), CALL)
    assert found.values == (
        "path", "/a", "to", "mail", "a@x", "cc", "c", "mail", "b@x", "cc",
        "options", "deep", "n", 1, "a.b", True, "rows", 1, 2, 3, "none", None,
    )  # fmt: skip
    assert not found.missing
    assert select((Every.DEEP,), {}).values == ()


def test_one_element_without_the_member_is_missing_beside_the_others() -> None:
    found = select(parse_argument("l[].a"), {"l": [{"a": 1}, {}]})
    assert found == Found(values=(1,), missing=True, misfit=False)


@pytest.mark.parametrize(
    "text",
    ["", ".", "a.", ".a", "a..b", "[]", "a[0]", "a[", "a]", "a*", "*", "**.a", "a.**.b", 'a"b"',
     '"a', '"a"b', '"\\q"', "a[]b", "a***"],
)  # fmt: skip
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ArgumentPathError):
        parse_argument(text)


def test_the_number_of_steps_is_bounded() -> None:
    assert len(parse_argument(".".join("a" * MAX_STEPS))) == MAX_STEPS
    with pytest.raises(ArgumentPathError, match="more than 16 steps"):
        parse_argument(".".join("a" * (MAX_STEPS + 1)))


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_any_names_can_be_written_quoted(names: list[str]) -> None:
    assert parse_argument(".".join(map(json.dumps, names))) == tuple(names)


@given(st.text(alphabet='ab.[]*" \\', max_size=12))
def test_whatever_is_written_is_a_path_or_refused(text: str) -> None:
    try:
        steps = parse_argument(text)
    except ArgumentPathError:
        return
    assert steps
    assert select(steps, {}) == Found(values=(), missing=steps[0] is not Every.DEEP, misfit=False)
