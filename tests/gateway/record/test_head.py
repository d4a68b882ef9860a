"""A signed head is read back only if it is ours and in its one form."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.record import chain
from gateway.record.head import Head, parse_head
from gateway.record.state import BrokenLogError
from tests.gateway.record.test_chain import KEY, PUBLIC, frontier_of


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=8), max_size=20))
def test_a_signed_head_reads_back(lines: list[bytes]) -> None:
    frontier = frontier_of(lines)
    note = chain.checkpoint(frontier, PUBLIC, KEY.sign)
    assert parse_head(note, PUBLIC) == Head(size=len(lines), root=frontier.root())


def test_no_changed_byte_of_a_signed_head_is_accepted() -> None:
    note = chain.checkpoint(frontier_of([b"a", b"b"]), PUBLIC, KEY.sign)
    for at in range(0, len(note), 3):
        changed = note[:at] + bytes([note[at] ^ 1]) + note[at + 1 :]
        with pytest.raises(BrokenLogError):
            parse_head(changed, PUBLIC)


def test_another_keys_head_is_refused() -> None:
    other = Ed25519PrivateKey.from_private_bytes(b"2" * 32)
    note = chain.checkpoint(chain.Frontier(), other.public_key().public_bytes_raw(), other.sign)
    with pytest.raises(BrokenLogError, match="another log"):
        parse_head(note, PUBLIC)
