"""The arithmetic of the log: hash chain, Merkle tree, checkpoint. Pure: no I/O, no clock.

A record is one line of canonical JSON. `prev` in it is the SHA-256 of the line before (without its
newline), so the chain can be followed with `sha256sum`. The tree over the same lines is that of
RFC 9162 section 2.1.1 (leaf prefix 0x00, node prefix 0x01); its root and size, signed, are the
head: a C2SP checkpoint in a C2SP signed note (Ed25519).

Source: RFC 9162 section 2.1; C2SP tlog-checkpoint, signed-note.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

GENESIS: Final = "0" * 64
EMPTY_ROOT: Final = hashlib.sha256(b"").digest()

_ED25519: Final = b"\x01"
DASH: Final = "\u2014"


def line_hash(line: bytes) -> str:
    """Return the hexadecimal SHA-256 of a record's bytes, what the next record's `prev` holds."""
    return hashlib.sha256(line).hexdigest()


def leaf_hash(line: bytes) -> bytes:
    """Return the tree's leaf hash of a record's bytes."""
    return hashlib.sha256(b"\x00" + line).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """The roots of the complete subtrees of a tree of `size` leaves, largest first.

    Their sizes are the powers of two in `size`; that is all an append or a root needs.
    """

    size: int = 0
    nodes: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> Frontier:
        """Return the frontier with one more leaf."""
        nodes = list(self.nodes)
        node, size = leaf, self.size
        while size & 1:
            node = node_hash(nodes.pop(), node)
            size >>= 1
        return Frontier(size=self.size + 1, nodes=(*nodes, node))

    def root(self) -> bytes:
        """Return the root of the tree."""
        if not self.nodes:
            return EMPTY_ROOT
        root = self.nodes[-1]
        for node in reversed(self.nodes[:-1]):
            root = node_hash(node, root)
        return root


def origin(public_key: bytes) -> str:
    """Return the log's name: it follows from the raw Ed25519 public key of its head."""
    return "counterfoil.log/" + hashlib.sha256(public_key).hexdigest()[:16]


def key_id(name: str, public_key: bytes) -> bytes:
    """Return the four bytes that name a key in a signed note."""
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + public_key).digest()[:4]


def checkpoint(frontier: Frontier, public_key: bytes, sign: Callable[[bytes], bytes]) -> bytes:
    """Return the signed head of a tree.

    Args:
        frontier: the tree.
        public_key: raw Ed25519 public key (32 bytes).
        sign: makes an Ed25519 signature (64 bytes) over what it is given.
    """
    name = origin(public_key)
    root = base64.b64encode(frontier.root()).decode()
    text = f"{name}\n{frontier.size}\n{root}\n".encode()
    signature = base64.b64encode(key_id(name, public_key) + sign(text)).decode()
    return text + f"\n{DASH} {name} {signature}\n".encode()
