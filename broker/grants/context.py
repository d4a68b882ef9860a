"""What every act of the broker needs: configuration, store, keys, clock, randomness.

The clock and the random source come from outside, so that tests own time and secrets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker.tokens.keys import b64url

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker.config import Config
    from broker.store.database import Store
    from broker.store.sealed import Sealer
    from broker.tokens.keys import SigningKey

_SECRET_BYTES = 32
_ID_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """The broker as one value; endpoints and commands pass it on."""

    config: Config
    store: Store
    signing_key: SigningKey
    sealer: Sealer
    clock: Callable[[], int]
    random: Callable[[int], bytes]

    def new_secret(self) -> str:
        """Make 256 random bits as text: a handle, a code, a session, a consent."""
        return b64url(self.random(_SECRET_BYTES))

    def new_id(self) -> str:
        """Make a public identifier."""
        return self.random(_ID_BYTES).hex()
