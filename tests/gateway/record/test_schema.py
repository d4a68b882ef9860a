"""`docs/record.schema.json` says exactly what is written: nothing less, nothing more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from gateway.model.event import Event, Kind
from gateway.model.names import Effect, Status, Taint
from gateway.model.outcome import Result
from gateway.model.resource import Resource
from gateway.record.event import PUBLIC_DATA, SCHEMA
from gateway.record.stage import recover
from tests.gateway.record.processes import records
from tests.gateway.record.samples import KEYS, action, caller, decision, opened, settings
from tests.gateway.record.test_event import RESOURCES

SCHEMA_FILE = Path(__file__).parents[3] / "docs" / "record.schema.json"
DOCUMENT = json.loads(SCHEMA_FILE.read_text())
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
}


def check(value: Any, schema: dict[str, Any], where: str, seen: set[str]) -> None:
    """The few words of JSON Schema that the document uses."""
    while "$ref" in schema:
        schema = DOCUMENT["$defs"][schema["$ref"].rpartition("/")[2]]
    if "const" in schema:
        assert value == schema["const"], where
    if "enum" in schema:
        assert value in schema["enum"], where
    if "type" in schema:
        assert type(value) is TYPES[schema["type"]], where
    if "pattern" in schema:
        assert re.fullmatch(schema["pattern"], value), where
    if "minimum" in schema:
        assert value >= schema["minimum"], where
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), where
        for name, member in value.items():
            known = schema.get("properties", {})
            if name not in known and "$ref" in (schema.get("additionalProperties") or {}):
                check(member, schema["additionalProperties"], f"{where}.*", seen)
                continue
            assert name in known, f"{where}.{name} is not in the schema"
            seen.add(f"{where}.{name}")
            check(member, known[name], f"{where}.{name}", seen)
    if isinstance(value, list):
        for item in value:
            check(item, schema["items"], f"{where}[]", seen)


def described(schema: dict[str, Any], where: str) -> Iterator[str]:
    for name, member in schema.get("properties", {}).items():
        yield f"{where}.{name}"
        yield from described(member, f"{where}.{name}")
    if "items" in schema:
        yield from described(schema["items"], f"{where}[]")


def rich_events() -> Iterator[Event]:
    """Every kind of event and resource, every field set."""
    resources = tuple(make("value") for make in RESOURCES.values())
    assert {type(one) for one in resources} == set(get_args(Resource))
    act = replace(action(), resources=resources, request_id="r", tool="shell.run")
    judged = replace(
        decision(act),
        labels=("attempted",),
        taint=frozenset(Taint),
        would=Effect.DENY,
        spends={"few": 3},
    )
    whole = Event(
        kind=Kind.DENIED,
        caller=replace(caller(), agent="helper"),
        action_id="a",
        action=act,
        decision=judged,
        approval_id="q",
        parent_id="p",
        taint=frozenset(Taint),
    )
    for kind in Kind:
        if kind not in {Kind.OUTCOME, Kind.SESSION_CLEAR}:
            yield replace(whole, kind=kind, action=replace(act, resources=resources[:4]))
            yield replace(
                whole, kind=kind, action_id="b", action=replace(act, resources=resources[4:])
            )
    data = {
        name: name if name in {"jti", "audience", "scope", "grant_id"} else 1
        for name in PUBLIC_DATA
    }
    result = Result(status=Status.DONE, content=b"x", data=data)
    yield replace(whole, kind=Kind.OUTCOME, result=result)
    detail = {
        "verdict": "approval_granted",
        "approver": "bob",
        "reason": "seen",
        "policy_digest": "policy-v1:sha256:0",
        "cleared": ["attempted"],
    }
    yield replace(whole, kind=Kind.SESSION_CLEAR, detail=detail)
    many = tuple(RESOURCES["path"](str(number)) for number in range(40))
    yield replace(whole, kind=Kind.DENIED, action=replace(act, resources=many))


def test_every_record_fits_the_schema_and_every_field_of_it_is_written(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        for event in rich_events():
            log.append(event, sync=False)
    segment = tmp_path / "log" / ("0" * 20 + ".jsonl")
    with segment.open("ab") as file:
        file.write(b"torn")
    opened(tmp_path).close()
    (tmp_path / "head" / "checkpoint").unlink()
    recover(tmp_path, KEYS, settings())[0].close()
    seen: set[str] = set()
    for record in records(tmp_path):
        check(record, DOCUMENT, "record", seen)
    assert set(described(DOCUMENT, "record")) - seen == set()


def test_the_lists_of_the_schema_are_those_of_the_code() -> None:
    properties = DOCUMENT["properties"]
    assert properties["v"]["const"] == SCHEMA
    assert set(properties["kind"]["enum"]) == {*map(str, Kind), "recovered", "unresolved"}
    assert properties["effect"]["enum"] == [effect.word for effect in Effect]
    assert properties["status"]["enum"] == [str(status) for status in Status]
    assert DOCUMENT["$defs"]["taint"]["items"]["enum"] == sorted(map(str, Taint))
    assert set(properties["result"]["properties"]) == PUBLIC_DATA
