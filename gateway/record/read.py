"""Reading the log for people: the last records, counts, and search by value.

Nothing is proved here; that is :mod:`gateway.record.verify`. Lines that are not records are passed
over.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateway.model.names import Json
from gateway.record.event import SEARCHED
from gateway.record.keys import LogKeys

Record = dict[str, Any]


def records(log: Path) -> Iterator[Record]:
    """Yield every record in order."""
    for path in sorted(log.glob("*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    yield record


def tail(log: Path, count: int) -> list[Record]:
    """Return the last records."""
    return list(deque(records(log), maxlen=count))


def last(log: Path, kind: str) -> Record | None:
    """Return the last record of a kind."""
    found = deque((one for one in records(log) if one.get("kind") == kind), maxlen=1)
    return found[0] if found else None


def summary(log: Path) -> dict[str, Json]:
    """Count records by kind, decisions by effect, operation and reason."""
    kinds: Counter[str] = Counter()
    effects: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    operations: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    for record in records(log):
        kinds[record.get("kind", "")] += 1
        if record.get("kind") in {"intent", "denied", "decision"}:
            effects[record.get("effect", "")] += 1
            reasons[record.get("reason_code", "")] += 1
            operations[record.get("op", "")] += 1
        elif record.get("kind") == "outcome":
            statuses[record.get("status", "")] += 1
    return {
        "records": kinds.total(),
        "kinds": dict(kinds.most_common()),
        "effects": dict(effects.most_common()),
        "reasons": dict(reasons.most_common()),
        "operations": dict(operations.most_common()),
        "outcomes": dict(statuses.most_common()),
    }


def search(log: Path, keys: LogKeys, value: str) -> list[Record]:
    """Return the records that hold this value, as a keyed digest or, where public, in clear."""
    wanted = {keys.digest(name, value) for name in SEARCHED} | {value}
    return [record for record in records(log) if _holds(record, wanted)]


def _holds(item: Any, wanted: set[str]) -> bool:
    if isinstance(item, dict):
        return any(_holds(value, wanted) for value in item.values())
    if isinstance(item, list):
        return any(_holds(value, wanted) for value in item)
    return isinstance(item, str) and item in wanted
