"""An API's own account of what really happened: one JSON line per request, appended, never changed.

It is the witness the demo and the tests believe, so it holds what the API did and not what anybody
claimed: a refused request has effect `none`. It never holds a token, a body or a query.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NO_EFFECT = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One request: what became of it, who it was for, which decision it carried."""

    outcome: Literal["accepted", "refused"]
    status: int
    reason: str | None = None
    operation: str | None = None
    sub: str | None = None
    agent: str | None = None
    jti: str | None = None
    decision_id: str | None = None
    effect: str = NO_EFFECT


class Journal:
    """The journal file of one API."""

    def __init__(self, path: Path, *, api: str, clock: Callable[[], int]) -> None:
        self._path = path
        self._api = api
        self._clock = clock
        self._lock = threading.Lock()
        os.close(self._open())

    def write(self, entry: Entry) -> None:
        """Append one entry."""
        line = json.dumps({"at": self._clock(), "api": self._api, **asdict(entry)}) + "\n"
        with self._lock, os.fdopen(self._open(), "ab") as file:
            file.write(line.encode("ascii"))

    def entries(self) -> list[dict[str, Any]]:
        """Return every entry of the file, oldest first."""
        with self._lock:
            text = self._path.read_text(encoding="ascii")
        return [json.loads(line) for line in text.splitlines()]

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
