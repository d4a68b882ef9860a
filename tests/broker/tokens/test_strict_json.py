"""Strict JSON agrees with json.loads on what it takes and refuses what is ambiguous."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.tokens.strict_json import MAX_DEPTH, loads

VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_plain_values_come_back(value: Any) -> None:
    nested = json.dumps(value)
    try:
        assert loads(nested.encode(), max_bytes=1 << 20) == value
    except ValueError as error:
        assert "nested" in str(error)  # noqa: PT017


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60))
def test_bytes_are_a_value_or_a_value_error(raw: bytes) -> None:
    try:
        value = loads(raw, max_bytes=60)
    except ValueError:
        return
    assert value == json.loads(raw.decode())


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"x":{"a":1,"\\u0061":2}}',
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1.0",
        "1e2",
        "9007199254740992",
        "-9007199254740992",
        "9" * 5000,
        '"\\ud800"',
        '{"\\udfff":1}',
        "\ufeff1",
        "01",
        "1 2",
        "'a'",
        "",
    ],
)
def test_ambiguous_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        loads(text.encode(), max_bytes=10_000)


def test_depth_counts_brackets_outside_strings_only() -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert loads(deep.encode(), max_bytes=100)
    with pytest.raises(ValueError, match="nested"):
        loads(f"[{deep}]".encode(), max_bytes=100)
    text = '\\"' + "[" * 20
    assert loads(json.dumps([text]).encode(), max_bytes=100) == [text]


def test_size_and_encoding_are_checked() -> None:
    with pytest.raises(ValueError, match="longer than 3"):
        loads(b"1234", max_bytes=3)
    with pytest.raises(ValueError, match="UTF-8"):
        loads(b'"\xff"', max_bytes=10)
