"""The arithmetic against a naive recursive tree and the reference canonical form."""

from __future__ import annotations

import hashlib

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.kit import canon
from gateway.record import chain

KEY = Ed25519PrivateKey.from_private_bytes(b"1" * 32)
PUBLIC = KEY.public_key().public_bytes_raw()

names = st.text("abcdefghijklmnopqrstuvwxyz0123456789_.", min_size=1, max_size=12)
numbers = st.integers(-canon.MAX_INT, canon.MAX_INT)
leaves = st.none() | st.booleans() | numbers | st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4)
)


def naive_root(lines: list[bytes]) -> bytes:
    """RFC 9162 section 2.1.1, word for word."""
    if not lines:
        return hashlib.sha256(b"").digest()
    if len(lines) == 1:
        return hashlib.sha256(b"\x00" + lines[0]).digest()
    split = 1
    while split * 2 < len(lines):
        split *= 2
    left, right = naive_root(lines[:split]), naive_root(lines[split:])
    return hashlib.sha256(b"\x01" + left + right).digest()


def frontier_of(lines: list[bytes]) -> chain.Frontier:
    frontier = chain.Frontier()
    for line in lines:
        frontier = frontier.append(chain.leaf_hash(line))
    return frontier


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=8), max_size=70))
def test_the_root_is_that_of_rfc_9162(lines: list[bytes]) -> None:
    frontier = frontier_of(lines)
    assert frontier.size == len(lines)
    assert frontier.root() == naive_root(lines)


def test_every_size_to_a_few_hundred_has_the_right_root() -> None:
    lines = [str(number).encode() for number in range(260)]
    frontier = chain.Frontier()
    for size, line in enumerate(lines, 1):
        frontier = frontier.append(chain.leaf_hash(line))
        if size % 7 == 0 or size & (size - 1) == 0:
            assert frontier.root() == naive_root(lines[:size]), size
        assert len(frontier.nodes) == size.bit_count()


@settings(max_examples=150)
@given(st.dictionaries(names, values, max_size=8))
def test_the_canonical_form_of_a_record_is_rfc_8785(record: dict[str, object]) -> None:
    assert canon.dumps(record) == rfc8785.dumps(record)  # type: ignore[arg-type]


def test_the_line_hash_is_what_sha256sum_says() -> None:
    assert chain.line_hash(b"{}") == hashlib.sha256(b"{}").hexdigest()


def test_a_signed_head_has_the_form_of_a_checkpoint() -> None:
    text, signature, *rest = (
        chain.checkpoint(chain.Frontier(), PUBLIC, KEY.sign).decode().split("\n\n")
    )
    assert text.split("\n")[1] == "0"
    assert text.split("\n")[0] == chain.origin(PUBLIC)
    assert signature.startswith(f"\u2014 {chain.origin(PUBLIC)} ")
    assert rest == []
