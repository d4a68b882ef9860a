"""Sealing of the upstream refresh token: AES-256-GCM, bound to its place by associated data.

A sealed value opens only with the key it names and only as the column of the grant it was sealed
for; moved to another row it is refused. No endpoint and no command opens one.

Source: NIST SP 800-38D, RFC 5116.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from broker.config import read_private
from broker.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY_BYTES = 32
_NONCE_BYTES = 12


class Sealer:
    """One sealing key; `key_id` is stored beside what it sealed."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self.key_id = hashlib.sha256(b"counterfoil seal key\0" + key).hexdigest()[:16]

    def seal(self, secret: str, *, grant_id: str, random: Callable[[int], bytes]) -> bytes:
        """Seal the upstream token of one grant."""
        nonce = random(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, secret.encode(), self._place(grant_id))

    def open(self, sealed: bytes, *, grant_id: str) -> str:
        """Open what `seal` made for this grant; anything else is refused."""
        nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, body, self._place(grant_id)).decode()
        except (InvalidTag, ValueError):
            raise StoreError(f"grant {grant_id}: the sealed token does not open") from None

    def _place(self, grant_id: str) -> bytes:
        return f"counterfoil|{self.key_id}|grants|{grant_id}|upstream_sealed".encode()


def load_sealer(path: Path) -> Sealer:
    """Read the sealing key, 32 bytes in a file of mode 0600."""
    key = read_private(path)
    if len(key) != KEY_BYTES:
        raise ConfigError(f"keys: {path} holds {len(key)} bytes, a sealing key has {KEY_BYTES}")
    return Sealer(key)
