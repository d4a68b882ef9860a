"""Real values for the log's tests: keys, settings, actions, decisions, events."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gateway.kit import canon
from gateway.model.action import Action
from gateway.model.decision import Decision
from gateway.model.event import Event, Kind
from gateway.model.names import Effect, Operation, Status, Taint
from gateway.model.outcome import Result
from gateway.model.request import Caller
from gateway.model.resource import PathResource
from gateway.record.keys import LogKeys
from gateway.record.stage import open_log
from gateway.record.verify import Report, verify
from gateway.record.writer import Log, Settings

KEYS = LogKeys(secret=b"k" * 32, head=Ed25519PrivateKey.from_private_bytes(b"h" * 32))
OTHER_KEYS = LogKeys(secret=b"o" * 32, head=Ed25519PrivateKey.from_private_bytes(b"x" * 32))
SCOPE = "alice@project"
_numbers = itertools.count()


def settings(*, lock_timeout_s: float = 10.0, segment_bytes: int = 1 << 26) -> Settings:
    return Settings(
        clock_ns=time.time_ns,
        mono_ns=time.monotonic_ns,
        random=os.urandom,
        lock_timeout_s=lock_timeout_s,
        segment_bytes=segment_bytes,
    )


def opened(root: Path, **changes: float) -> Log:
    return open_log(root, KEYS, settings(**changes))  # type: ignore[arg-type]


def verified(root: Path, keys: LogKeys = KEYS) -> Report:
    return verify(root / "log", root / "head" / "checkpoint", keys.public)


def caller(scope: str = SCOPE) -> Caller:
    return Caller(user="alice", uid=1000, door="python", session="s1", scope=scope)


def action(path: str = "/home/alice/project/notes.txt") -> Action:
    normalized = {"path": path}
    return Action(
        tool="fs.read",
        operation=Operation.FS_READ,
        normalized=normalized,
        digest=canon.digest(normalized),
        resources=(PathResource(operation=Operation.FS_READ, path=path, root="workspace"),),
    )


def decision(
    act: Action, effect: Effect = Effect.ALLOW, taint: frozenset[Taint] = frozenset()
) -> Decision:
    return Decision(
        effect=effect,
        rule="read-workspace",
        reason="rule_match",
        message="a rule of the policy matched",
        operation=act.operation,
        normalized=act.normalized,
        action_digest=act.digest,
        policy_digest="sha256:" + "0" * 64,
        taint=taint,
        decide_us=12,
    )


def new_id() -> str:
    return f"act-{os.getpid()}-{next(_numbers)}"


def event(
    kind: Kind,
    action_id: str = "",
    *,
    taint: frozenset[Taint] = frozenset(),
    scope: str = SCOPE,
    act: Action | None = None,
) -> Event:
    act = act or action()
    effect = Effect.ALLOW if kind is Kind.INTENT else Effect.DENY
    judged = decision(act, effect, taint)
    return Event.of(kind, caller(scope), action_id or new_id(), act, judged)


def intent(action_id: str = "", **more: object) -> Event:
    return event(Kind.INTENT, action_id, **more)  # type: ignore[arg-type]


def denied(action_id: str = "", **more: object) -> Event:
    return event(Kind.DENIED, action_id, **more)  # type: ignore[arg-type]


def outcome(action_id: str, result: Result | None = None) -> Event:
    act = action()
    return Event(
        kind=Kind.OUTCOME,
        caller=caller(),
        action_id=action_id,
        action=act,
        decision=decision(act),
        result=result or Result(status=Status.DONE, content=b"text of the file"),
    )


def run_one(log: Log) -> str:
    """Append an intent and its outcome; return the action id."""
    action_id = new_id()
    log.append(intent(action_id), sync=True)
    log.append(outcome(action_id), sync=False)
    return action_id
