"""The state after some record, sealed, so that a start need not read the whole log.

Only a durable log is ever put into a snapshot. One that is missing, damaged or not sealed by the
log's own key is passed over and the whole log is read; one that knows more records than the log
has is proof that records were cut.
"""

from __future__ import annotations

import hmac
import json

from gateway.record.keys import LogKeys
from gateway.record.state import Replayed


def pack(replayed: Replayed, keys: LogKeys) -> bytes:
    """Return the bytes of a snapshot: the seal on one line, the state on the next."""
    body = json.dumps(replayed.to_json(), sort_keys=True, separators=(",", ":")).encode()
    return keys.seal(body).encode() + b"\n" + body + b"\n"


def unpack(data: bytes | None, keys: LogKeys) -> Replayed | None:
    """Return the state a snapshot holds, None when it is not one of ours."""
    seal, _, body = (data or b"").rstrip(b"\n").partition(b"\n")
    if not hmac.compare_digest(seal, keys.seal(body).encode()):
        return None
    try:
        return Replayed.from_json(json.loads(body))
    except (ValueError, KeyError, TypeError):
        return None
