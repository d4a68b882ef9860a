"""What a log means: the state that follows from its records, one line after the other.

`Replayed.apply` checks that a line continues the log (sequence number and `prev`) and folds it in:
the tree, the taint of each scope, what its limited rules let through, the intents that still lack
an outcome. A line that does not continue the log is tampering or corruption and raises. `to_json`
and `from_json` carry the state into a snapshot, so that a start does not read the whole log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.errors import RecordError
from gateway.model.names import Json, Taint
from gateway.model.session import SessionState, Usage
from gateway.record.chain import GENESIS, Frontier, leaf_hash, line_hash

USAGE: Final = "usage"
"""The word by which a person clears what limited rules have let through."""
CLOSING: Final = frozenset({"outcome", "unresolved"})


class BrokenLogError(RecordError):
    """A line does not continue the log before it."""


class BusyError(RecordError):
    """The lock could not be had in time; nothing is wrong with the log."""


class HaltedError(RecordError):
    """A writer could not go on, and nobody has recovered the log since."""


@dataclass(slots=True)
class Replayed:
    """The state after `frontier.size` records.

    `segment` is the first sequence number of the segment in hand, `offset` the bytes of it that
    are folded in. `open_intents` maps the action id of an intent without outcome to its writer.
    """

    frontier: Frontier = field(default_factory=Frontier)
    prev: str = GENESIS
    segment: int = 0
    offset: int = 0
    scopes: dict[str, SessionState] = field(default_factory=dict)
    open_intents: dict[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many records there are; the next one's sequence number."""
        return self.frontier.size

    def apply(self, line: bytes) -> dict[str, Any]:
        """Fold one record in (its bytes without the newline) and return it.

        Raises:
            BrokenLogError: it does not continue the log.
        """
        try:
            record: dict[str, Any] = json.loads(line)
            continues = record["seq"] == self.size and record["prev"] == self.prev
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BrokenLogError(self._where("is not a record")) from None
        if not continues:
            raise BrokenLogError(self._where("does not continue the log"))
        try:
            self._fold(record)
        except (ValueError, TypeError, AttributeError, KeyError):
            raise BrokenLogError(self._where("says what this version does not know")) from None
        self.frontier = self.frontier.append(leaf_hash(line))
        self.prev = line_hash(line)
        self.offset += len(line) + 1
        return record

    def scope(self, name: str) -> SessionState:
        """Return the state of one scope."""
        return self.scopes.get(name, SessionState())

    def to_json(self) -> dict[str, Json]:
        """Return the state as JSON."""
        return {
            "size": self.size,
            "nodes": [node.hex() for node in self.frontier.nodes],
            "prev": self.prev,
            "segment": self.segment,
            "offset": self.offset,
            "open": dict(self.open_intents),
            "scopes": {
                name: {
                    "version": state.version,
                    "taint": sorted(str(word) for word in state.taint),
                    "suspended": state.suspended,
                    "sources": [list(pair) for pair in state.sources],
                    "usage": {
                        rule: [used.count, used.bytes, list(used.times)]
                        for rule, used in state.usage.items()
                    },
                }
                for name, state in self.scopes.items()
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Replayed:
        """Read what `to_json` wrote."""
        return cls(
            frontier=Frontier(
                size=data["size"], nodes=tuple(bytes.fromhex(node) for node in data["nodes"])
            ),
            prev=data["prev"],
            segment=data["segment"],
            offset=data["offset"],
            open_intents=dict(data["open"]),
            scopes={
                name: SessionState(
                    version=state["version"],
                    taint=frozenset(Taint(word) for word in state["taint"]),
                    suspended=state["suspended"],
                    sources=tuple((word, source) for word, source in state["sources"]),
                    usage={
                        rule: Usage(count=count, bytes=size, times=tuple(times))
                        for rule, (count, size, times) in state["usage"].items()
                    },
                )
                for name, state in data["scopes"].items()
            },
        )

    def _fold(self, record: dict[str, Any]) -> None:
        kind, action = record.get("kind"), record.get("action_id", "")
        if kind == "intent":
            self.open_intents[action] = record.get("writer", "")
        elif kind in CLOSING:
            self.open_intents.pop(action, None)
        name = record.get("scope")
        if name is None:
            return
        before = self.scope(name)
        if kind == "session.clear":
            words = set(record.get("detail", {}).get("cleared", ()))
            cleared = {Taint(word) for word in words - {USAGE}}
            after = replace(
                before,
                taint=before.taint - cleared,
                sources=tuple(pair for pair in before.sources if Taint(pair[0]) not in cleared),
                usage={} if USAGE in words else before.usage,
            )
        else:
            words = {Taint(word) for word in record.get("taint", ())} - before.taint
            after = replace(
                before,
                taint=before.taint | words,
                sources=(*before.sources, *((str(word), action) for word in sorted(words))),
                usage=_used(before.usage, record),
            )
        if after != before:
            self.scopes[name] = replace(after, version=record["seq"] + 1)

    def _where(self, what: str) -> str:
        return (
            f"record {self.size} (segment {self.segment:020}, byte {self.offset}) {what}; "
            "look with `counterfoil audit verify`"
        )


def _used(before: Mapping[str, Usage], record: Mapping[str, Any]) -> Mapping[str, Usage]:
    """Fold in what limited rules let through: an intent is an act, an outcome adds its bytes."""
    spends = record.get("spends")
    if not spends:
        return before
    after = dict(before)
    for rule, size in spends.items():
        used = after.get(rule, Usage())
        began = record["kind"] == "intent"
        after[rule] = used.with_act(size, record["ts"]) if began else used.with_bytes(size)
    return after
