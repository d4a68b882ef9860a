"""Verification: reads the stored bytes and says what is wrong with them, first fault first.

Shares no code with the writer. Every line must be canonical-looking JSON with the next sequence
number, must name the hash of the line before, must be of this schema; an outcome must follow its
intent; the tree over the first `size` lines must have the root that the signed head says, and the
head's signature must be of the log's own key. Only then the log is reported clean, up to that head.

Source: RFC 9162 section 2.1 (tree), C2SP signed-note and tlog-checkpoint (head).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_NAME: Final = re.compile(r"([0-9]{20})\.jsonl")
_KNOWN: Final = 1
_NEEDED: Final[dict[str, type]] = {
    "v": int,
    "seq": int,
    "id": str,
    "ts": int,
    "mono": int,
    "writer": str,
    "prev": str,
    "kind": str,
}


class Code(IntEnum):
    """Exit status of `audit verify`."""

    OK = 0
    TAMPERED = 2
    TRUNCATED = 4
    CORRUPT = 5
    UNSIGNED = 6
    UNCOVERED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The verdict. `seq` is the first bad record, None when no single one is to blame.

    `unresolved`: action ids of intents without outcome (a crash, or an act still running).
    """

    code: Code
    message: str
    records: int
    head_size: int | None
    seq: int | None = None
    unresolved: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "verdict": self.code.name.lower(),
            "exit_code": int(self.code),
            "message": self.message,
            "records": self.records,
            "head_size": self.head_size,
            "seq": self.seq,
            "unresolved": list(self.unresolved),
        }


class _Bad(Exception):  # noqa: N818 - a verdict on its way to the edge of this module
    def __init__(self, code: Code, message: str, seq: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.seq = seq


@dataclass(slots=True)
class _Walk:
    """What was seen so far. `stack` holds complete subtrees as (size, hash)."""

    count: int = 0
    prev: str = "0" * 64
    stack: list[tuple[int, bytes]] = field(default_factory=list)
    open: dict[str, int] = field(default_factory=dict)

    def line(self, line: bytes) -> None:
        """Check one record and fold it in."""
        record = _parse(line, self.count)
        if record["seq"] != self.count:
            raise _Bad(
                Code.TAMPERED,
                f"record {self.count} is missing, moved or doubled: {record['seq']} stands there",
                self.count,
            )
        if record["prev"] != self.prev:
            at = max(self.count - 1, 0)
            raise _Bad(
                Code.TAMPERED,
                f"record {self.count} does not follow record {at}: one of them was changed",
                at,
            )
        if "segment" in record and record["segment"] != self._header():
            raise _Bad(Code.TAMPERED, f"record {self.count} begins another segment", self.count)
        self._pair(record)
        self.prev = hashlib.sha256(line).hexdigest()
        self._leaf(hashlib.sha256(b"\x00" + line).digest())
        self.count += 1

    def _header(self) -> dict[str, Any]:
        """Return what the first record of a segment says of everything before it."""
        return {"size": self.count, "root": self.root().hex()}

    def root(self) -> bytes:
        """Return the root over everything seen."""
        if not self.stack:
            return hashlib.sha256(b"").digest()
        (_, root), *rest = reversed(self.stack)
        for _, left in rest:
            root = hashlib.sha256(b"\x01" + left + root).digest()
        return root

    def _leaf(self, digest: bytes) -> None:
        size = 1
        while self.stack and self.stack[-1][0] == size:
            _, left = self.stack.pop()
            digest = hashlib.sha256(b"\x01" + left + digest).digest()
            size *= 2
        self.stack.append((size, digest))

    def _pair(self, record: dict[str, Any]) -> None:
        action = str(record.get("action_id"))
        if record["kind"] == "intent":
            if action in self.open:
                raise _Bad(Code.TAMPERED, f"record {self.count} repeats an intent", self.count)
            self.open[action] = self.count
        elif record["kind"] in {"outcome", "unresolved"} and self.open.pop(action, None) is None:
            raise _Bad(Code.TAMPERED, f"record {self.count} closes an intent that is not open",
                       self.count)  # fmt: skip


def verify(log: Path, head: Path, public_key: bytes) -> Report:
    """Verify a log directory against its signed head and the raw Ed25519 public key of it."""
    walk = _Walk()
    size: int | None = None
    try:
        signed = _head(head, public_key)
        size = None if signed is None else signed[0]
        at_head = walk.root() if size == 0 else None
        for line in _lines(log, walk):
            walk.line(line)
            if walk.count == size:
                at_head = walk.root()
        _judge(walk, signed, at_head)
    except _Bad as bad:
        code, message, seq = bad.code, str(bad), bad.seq
    else:
        code, seq = Code.OK, None
        message = f"{walk.count} records, whole, up to the signed head"
    return Report(
        code=code,
        message=message,
        records=walk.count,
        head_size=size,
        seq=seq,
        unresolved=tuple(walk.open),
    )


def _judge(walk: _Walk, signed: tuple[int, bytes] | None, at_head: bytes | None) -> None:
    if signed is None:
        if walk.count:
            raise _Bad(Code.UNSIGNED, "there is no signed head", None)
        raise _Bad(Code.UNSIGNED, "there is neither a log nor a signed head", None)
    size, root = signed
    if walk.count < size:
        raise _Bad(Code.TRUNCATED, f"{size - walk.count} records are cut off the end", walk.count)
    if at_head != root:
        raise _Bad(Code.TAMPERED, f"the first {size} records are not those signed", size - 1)
    if walk.count > size:
        raise _Bad(
            Code.UNCOVERED,
            f"{walk.count - size} records stand beyond the signed head (a crash, or appended)",
            size,
        )


def _lines(log: Path, walk: _Walk) -> Iterator[bytes]:
    """Yield every record's bytes across the segments; names, gaps and the torn end are judged."""
    names = sorted(path.name for path in log.iterdir()) if log.is_dir() else []
    segments = [name for name in names if _NAME.fullmatch(name)]
    for index, name in enumerate(segments):
        if int(name[:20]) != walk.count:
            raise _Bad(
                Code.TAMPERED, f"a segment is missing before {name}: {walk.count} expected",
                walk.count,
            )  # fmt: skip
        if not (log / name).is_file():
            raise _Bad(Code.CORRUPT, f"{name} is not a regular file", walk.count)
        with (log / name).open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    last = "" if index == len(segments) - 1 else ", in the middle of the log"
                    raise _Bad(Code.CORRUPT, f"the last line of {name} is torn{last}", walk.count)
                yield line[:-1]


def _parse(line: bytes, seq: int) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_members, parse_float=_refuse,
                            parse_constant=_refuse)  # fmt: skip
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise _Bad(Code.CORRUPT, f"record {seq} is not a JSON object", seq)
    for name, kind in _NEEDED.items():
        if type(record.get(name)) is not kind:
            raise _Bad(Code.CORRUPT, f"record {seq} has no valid {name!r}", seq)
    if record["v"] != _KNOWN:
        raise _Bad(Code.CORRUPT, f"record {seq} is of unknown version {record['v']}", seq)
    return record


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate member")
    return members


def _refuse(_: str) -> None:
    raise ValueError("a number that no record holds")


def _head(path: Path, public_key: bytes) -> tuple[int, bytes] | None:
    """Return size and root of the signed head, None when there is none."""
    try:
        note = path.read_bytes()
    except FileNotFoundError:
        return None
    name = "counterfoil.log/" + hashlib.sha256(public_key).hexdigest()[:16]
    text, blank, signatures = note.partition(b"\n\n")
    if not blank or not signatures.strip():
        raise _Bad(Code.UNSIGNED, "the head carries no signature")
    text += b"\n"
    try:
        given, size, root, rest = text.decode("ascii").split("\n")
        dash, signer, packed = signatures.decode("utf-8").split(" ")
        raw = base64.b64decode(packed.removesuffix("\n"), validate=True)
        wanted = hashlib.sha256(name.encode() + b"\n\x01" + public_key).digest()[:4]
        if given != name or signer != name or raw[:4] != wanted:
            raise _Bad(Code.TAMPERED, "the head is signed by another key, or of another log")
        if rest or dash != "\u2014" or base64.b64encode(raw).decode() + "\n" != packed:
            raise _Bad(Code.TAMPERED, "the head is not in its normal form")
        Ed25519PublicKey.from_public_bytes(public_key).verify(raw[4:], text)
        return int(size), base64.b64decode(root, validate=True)
    except (ValueError, binascii.Error):
        raise _Bad(Code.TAMPERED, "the head is not a checkpoint") from None
    except InvalidSignature:
        raise _Bad(Code.TAMPERED, "the head's signature does not verify") from None
