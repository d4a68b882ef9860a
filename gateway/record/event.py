"""From an event to the fields of a record: what is public stands in clear, values as keyed digests.

Public are codes, ids we made, rule ids, audiences, operations, scopes, counts and times. Paths,
argv, URLs, arguments, content and everything an agent wrote are `hmac-sha256:` over field name,
type and value, under the log's own key, numbers and booleans too. A plain digest of a short value
can be guessed; a keyed one cannot, and an operator who holds the key can still search for a value.
The action digest is keyed as well. Nothing of a result but what is listed here is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gateway.kit import canon
from gateway.model.event import Event, Kind
from gateway.model.names import TOOLS, Json, Taint
from gateway.model.plan import RunCompound
from gateway.model.resource import (
    ApiResource,
    CommandResource,
    McpResource,
    MemoryResource,
    PathResource,
    Resource,
    UrlResource,
)
from gateway.record.keys import LogKeys
from gateway.record.state import USAGE

SCHEMA: Final = 1
RESOURCE_BYTES: Final = 2600  # above this the resources become a count and one digest

# What of `Result.data` may stand in a record: numbers and names we or the broker made.
PUBLIC_DATA: Final = frozenset(
    {
        "exit_code",
        "http_status",
        "entries",
        "jti",
        "audience",
        "scope",
        "expires_at",
        "grant_id",
        "signal",
    }
)
CLEARABLE: Final = (*Taint, USAGE)
# What of `Event.detail` may: codes, digests, who answered, why a person cleared a session.
PUBLIC_DETAIL: Final = frozenset({"verdict", "approver", "reason", "policy_digest"})
PUBLIC_CHARS: Final = 256

Fields = dict[str, Json]


def fields(event: Event, keys: LogKeys) -> Fields:
    """Return the fields of an event, without those the writer adds."""
    caller = event.caller
    made: Fields = {
        "kind": str(event.kind),
        "action_id": event.action_id,
        "scope": caller.scope,
        "session": caller.session,
        "user": caller.user,
        "uid": caller.uid,
        "door": caller.door,
    }
    _put(made, "agent", caller.agent)
    _put(made, "approval_id", event.approval_id)
    _put(made, "parent_id", event.parent_id)
    if event.taint:
        made["taint"] = sorted(str(word) for word in event.taint)
    made.update(_action(event, keys))
    made.update(_decision(event))
    made.update(_result(event, keys))
    detail = _public(event.detail, PUBLIC_DETAIL)
    if event.kind is Kind.SESSION_CLEAR:
        detail["cleared"] = _words(event.detail.get("cleared"))
    if detail:
        made["detail"] = detail
    return made


def _put(made: Fields, name: str, value: Json) -> None:
    if value is not None:
        made[name] = value


def _action(event: Event, keys: LogKeys) -> Fields:
    action = event.action
    if action is None:
        return {}
    made: Fields = {
        "tool": action.tool if action.tool in TOOLS else "unknown",
        "op": str(action.operation),
        "action_hmac": keys.digest("action_digest", action.digest),
    }
    if _audit(event) == "metadata":
        return made
    if action.request_id is not None:
        made["request_hmac"] = keys.digest("request_id", action.request_id)
    if event.result is None and action.resources:
        shown: list[Json] = [_resource(resource, keys) for resource in action.resources]
        lines = [canon.dumps(resource) for resource in shown]
        if sum(map(len, lines)) > RESOURCE_BYTES:
            made["resources_count"] = len(lines)
            made["resources_hmac"] = keys.digest_bytes("resources", b"\n".join(lines))
        else:
            made["resources"] = shown
    return made


def _decision(event: Event) -> Fields:
    decision = event.decision
    if decision is None:
        return {}
    made: Fields = {
        "effect": decision.effect.word,
        "rule_id": decision.rule,
        "reason_code": decision.reason,
        "policy_digest": decision.policy_digest,
        "decide_us": decision.decide_us,
    }
    if decision.would is not None:
        made["would"] = decision.would.word
    if decision.labels:
        made["labels"] = list(decision.labels)
    if event.kind is Kind.APPROVAL_REQUEST:
        made["approval"] = decision.obligations.approval
    if decision.spends and _spending(event):
        got = None if event.result is None else len(event.result.content)
        made["spends"] = {
            rule: size if got is None else got for rule, size in decision.spends.items()
        }
    return made


def _spending(event: Event) -> bool:
    """Whether an act counts here: at its intent, and by what it got at its outcome.

    A line is no act beside its parts; but what its parts put out comes out of the line, through
    whatever pipes, so all of it counts there and nothing at a part.
    """
    if event.kind is Kind.INTENT:
        return event.action is None or not isinstance(event.action.plan, RunCompound)
    return event.kind is Kind.OUTCOME and event.parent_id is None


def _audit(event: Event) -> str:
    return "digest" if event.decision is None else event.decision.obligations.audit


def _result(event: Event, keys: LogKeys) -> Fields:
    result = event.result
    if result is None:
        return {}
    made: Fields = {
        "status": str(result.status),
        "result_code": result.reason,
        "result_bytes": len(result.content),
        "truncated": result.truncated,
    }
    if result.content and _audit(event) != "metadata":
        made["result_hmac"] = keys.digest_bytes("result", result.content)
    if facts := _public(result.data, PUBLIC_DATA):
        made["result"] = facts
    return made


def _public(facts: Mapping[str, Json], names: frozenset[str]) -> Fields:
    """Return the facts that may stand in clear: by name, short texts and exact integers only."""
    return {name: value for name, value in facts.items() if name in names and _plain(value)}


def _plain(value: Json) -> bool:
    if isinstance(value, str):
        return len(value) <= PUBLIC_CHARS and value.isprintable()
    return isinstance(value, int) and abs(value) <= canon.MAX_INT


def _words(value: Json) -> list[str]:
    """Return the words of a list that can be cleared: taints, and the usage of limited rules."""
    if not isinstance(value, list | tuple):
        return []
    return [str(word) for word in CLEARABLE if word in value]


def _resource(resource: Resource, keys: LogKeys) -> Fields:
    make = _RESOURCES[type(resource)]
    return {"op": str(resource.operation), **make(resource, keys)}


def _path(resource: PathResource, keys: LogKeys) -> Fields:
    made: Fields = {"path": keys.digest("path", resource.path), "inside": resource.root is not None}
    if resource.also:
        made["also"] = [keys.digest("path", name) for name in resource.also]
    return made


def _command(resource: CommandResource, keys: LogKeys) -> Fields:
    program = resource.program
    return {
        "program": program if resource.grammar else keys.digest("program", program),
        "executable": keys.digest("path", resource.executable),
        "argv": keys.digest("argv", list(resource.argv)),
        "cwd": keys.digest("path", resource.cwd),
    }


def _url(resource: UrlResource, keys: LogKeys) -> Fields:
    return {
        "method": keys.digest("method", resource.method),
        "url": keys.digest("url", resource.href),
        "host": keys.digest("host", resource.host),
    }


def _api(resource: ApiResource, keys: LogKeys) -> Fields:
    return {
        "audience": resource.audience,
        "operation": resource.api_operation,
        "scope": resource.scope,
        "arguments": keys.digest("arguments", dict(resource.arguments)),
    }


def _mcp(resource: McpResource, keys: LogKeys) -> Fields:
    return {
        "server": keys.digest("server", resource.server),
        "name": keys.digest("name", resource.name),
        "arguments": keys.digest("arguments", dict(resource.arguments)),
    }


def _memory(resource: MemoryResource, keys: LogKeys) -> Fields:
    return {
        "memory_scope": keys.digest("memory_scope", resource.scope),
        "sensitivity": keys.digest("sensitivity", resource.sensitivity),
        "bytes": resource.size,
    }


_RESOURCES: Final[dict[type, Callable[..., Fields]]] = {
    PathResource: _path,
    CommandResource: _command,
    UrlResource: _url,
    ApiResource: _api,
    McpResource: _mcp,
    MemoryResource: _memory,
}

# Under which field names a value may stand in a record: what `audit search` looks for.
SEARCHED: Final = (
    "path", "program", "url", "host", "method", "server", "name", "request_id", "action_digest",
)  # fmt: skip
