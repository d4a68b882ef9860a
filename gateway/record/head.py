"""Reading a signed head back for the writer: its own signature must verify.

Source: C2SP signed-note, tlog-checkpoint.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gateway.record.chain import DASH, key_id, origin
from gateway.record.state import BrokenLogError


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a checkpoint says."""

    size: int
    root: bytes


def parse_head(note: bytes, public_key: bytes) -> Head:
    """Return what our own signed head says.

    Raises:
        BrokenLogError: it is not ours, or was changed.
    """
    name = origin(public_key)
    text, _, signatures = note.partition(b"\n\n")
    text += b"\n"
    try:
        given, size, root, rest = text.decode("ascii").split("\n")
        dash, signer, packed = signatures.decode().split(" ")
        raw = base64.b64decode(packed.removesuffix("\n"), validate=True)
        if given != name or signer != name or raw[:4] != key_id(name, public_key):
            raise BrokenLogError("the signed head is of another log")
        if rest or dash != DASH or base64.b64encode(raw).decode() + "\n" != packed:
            raise BrokenLogError("the signed head is not in its normal form")
        Ed25519PublicKey.from_public_bytes(public_key).verify(raw[4:], text)
        return Head(size=int(size), root=base64.b64decode(root, validate=True))
    except (ValueError, binascii.Error, InvalidSignature):
        raise BrokenLogError(
            "the signed head is damaged or forged; look with `counterfoil audit verify`"
        ) from None
