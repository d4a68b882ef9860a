from __future__ import annotations

import hashlib
import json
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.kit import canon
from gateway.kit.canon import JsonError


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b'{"a":1,"a":2}', "duplicate member 'a'"),
        (b'[{"b":{"a":1,"a":1}}]', "duplicate member 'a'"),
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"1e999", "not finite"),
        (b"9007199254740992", "beyond 2"),
        (b"-9007199254740992", "beyond 2"),
        (b"1" * 5000, "beyond 2"),
        (b'"\\ud800"', "lone surrogate"),
        (b'{"\\udfff":1}', "lone surrogate"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"[1,]", "not JSON"),
        (b"'a'", "not JSON"),
        (b'"a\nb"', "not JSON"),
        (b"[" * 100_000, "nested deeper than 64"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "nested deeper than 64"),
        (b"[" + b"1," * 100_000 + b"1]", "more than 100000 values"),
    ],
)
def test_what_two_parsers_could_read_differently_is_refused(raw: bytes, says: str) -> None:
    with pytest.raises(JsonError, match=says):
        canon.loads(raw)


def test_a_text_that_is_too_large_is_refused() -> None:
    with pytest.raises(JsonError, match="larger than 10 bytes"):
        canon.loads(b'"aaaaaaaaaaaa"', max_bytes=10)


def test_brackets_inside_strings_are_not_depth() -> None:
    assert canon.loads(b'["' + b"[" * 1000 + b'","\\"[[["]') == ["[" * 1000, '"[[[']


def test_the_depth_limit_itself_is_accepted() -> None:
    raw = b"[" * 64 + b"]" * 64
    assert canon.dumps(canon.loads(raw)) == raw


def test_an_unterminated_string_takes_linear_time() -> None:
    with pytest.raises(JsonError):
        canon.loads(b'"\\' * 500_000)


@pytest.mark.parametrize(
    "value",
    [b"x", {1: 2}, {"a": {1, 2}}, object(), float("nan"), 2**53, ["\ud800"], {"\ud800": 1}],
)
def test_a_python_value_that_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(JsonError):
        canon.check(value)
    with pytest.raises(JsonError):
        canon.digest(value)  # type: ignore[arg-type]


def test_canonical_bytes_are_sorted_and_bare() -> None:
    value = types.MappingProxyType({"b": (1, 2), "a": {"é": None, "Z": True}})
    raw = '{"a":{"Z":true,"é":null},"b":[1,2]}'.encode()
    assert canon.dumps(value) == raw
    assert canon.digest(value) == "sha256:" + hashlib.sha256(raw).hexdigest()
    assert canon.sha256_hex(b"") == hashlib.sha256(b"").hexdigest()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=150, deadline=None)
def test_what_is_written_reads_back_the_same(value: object) -> None:
    raw = canon.dumps(value)  # type: ignore[arg-type]
    assert canon.loads(raw) == value
    assert canon.dumps(canon.loads(raw)) == raw
    assert json.loads(raw) == value


@given(st.binary(max_size=100) | st.text('[]{}",:\\01eN ', max_size=40).map(str.encode))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_a_value_or_our_own_error(raw: bytes) -> None:
    try:
        value = canon.loads(raw)
    except JsonError:
        return
    assert json.loads(raw) == value
