"""No value of an act stands in a record; equal values can still be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.kit import canon
from gateway.model.action import Action
from gateway.model.event import Event, Kind
from gateway.model.names import Json, Operation, Status, Taint
from gateway.model.outcome import Result
from gateway.model.resource import (
    ApiResource,
    CommandResource,
    McpResource,
    MemoryResource,
    PathResource,
    Resource,
    UrlResource,
)
from gateway.record.event import fields
from gateway.record.writer import MAX_LINE
from tests.gateway.record.samples import KEYS, OTHER_KEYS, action, caller, decision, denied

Maker = Callable[[str], Resource]

RESOURCES: dict[str, Maker] = {
    "path": lambda value: PathResource(operation=Operation.FS_READ, path=value, also=(value,)),
    "root": lambda value: PathResource(operation=Operation.FS_READ, path="/", root=value),
    "program": lambda value: CommandResource(
        operation=Operation.SHELL_RUN,
        program=value,
        executable=value,
        argv=(value, value),
        cwd=value,
        grammar=False,
    ),
    "argv": lambda value: CommandResource(
        operation=Operation.SHELL_RUN,
        program="cat",
        executable=value,
        argv=("cat", value),
        cwd=value,
        grammar=True,
    ),
    "url": lambda value: UrlResource(
        href=value, scheme=value, host=value, port=1, method=value, path=value, query=value
    ),
    "arguments": lambda value: ApiResource(
        audience="mail-api", api_operation="send", scope="mail.send", arguments={value: [value]}
    ),
    "mcp": lambda value: McpResource(
        operation=Operation.MCP_CALL, server=value, name=value, arguments={value: value}
    ),
    "memory": lambda value: MemoryResource(scope=value, sensitivity=value, size=3),
}


def line(event: Event) -> str:
    return canon.dumps(fields(event, KEYS)).decode()


def of(*resources: Resource, **changes: object) -> Event:
    return denied("d", act=replace(action(), resources=resources, **changes))  # type: ignore[arg-type]


canaries = st.text("CANARY0123456789", min_size=10, max_size=20).map("ZQX".__add__)


@pytest.mark.parametrize("kind", RESOURCES)
@settings(max_examples=20)
@given(canary=canaries)
def test_no_value_of_a_resource_reaches_a_record(kind: str, canary: str) -> None:
    assert canary not in line(of(RESOURCES[kind](canary)))


@settings(max_examples=60)
@given(canary=canaries)
def test_no_value_of_a_request_or_result_reaches_a_record(canary: str) -> None:
    act = Action(
        tool=canary,
        operation=Operation.UNKNOWN,
        normalized={canary: canary},
        digest=canary,
        resources=tuple(make(canary) for make in RESOURCES.values()),
        request_id=canary,
    )
    judged = replace(decision(act), message=canary)
    before = Event.of(Kind.INTENT, caller(), "i", act, judged)
    result = Result(
        status=Status.FAILED,
        content=canary.encode(),
        message=canary,
        data={"stderr": canary, canary: 1, "jti": [canary], "scope": {"a": canary}},
    )
    after = replace(before, kind=Kind.OUTCOME, result=result, detail={"value": canary})
    assert canary not in line(before)
    assert canary not in line(after)


def test_what_is_public_stands_in_clear() -> None:
    act = replace(action(), resources=(RESOURCES["arguments"]("x"),))
    result = Result(status=Status.DONE, data={"jti": "j-1", "scope": "mail.send", "exit_code": 3})
    event = Event(
        kind=Kind.OUTCOME,
        caller=caller(),
        action_id="i",
        action=act,
        decision=decision(act),
        result=result,
        taint=frozenset({Taint.EXPOSED}),
    )
    made = fields(event, KEYS)
    assert made["scope"] == caller().scope, "the facts of a result replace nothing"
    assert made["result"] == {"jti": "j-1", "scope": "mail.send", "exit_code": 3}
    assert (made["status"], made["rule_id"], made["taint"]) == (
        "done",
        "read-workspace",
        ["exposed"],
    )
    shown = fields(replace(event, result=None), KEYS)["resources"]
    assert isinstance(shown, list)
    assert (shown[0]["audience"], shown[0]["operation"]) == ("mail-api", "send")


@pytest.mark.parametrize("value", ["x" * 257, "a\nb", "\ud800", 2**60, 1.5, None, ["a"]])
def test_a_public_name_lets_no_odd_value_through(value: Json) -> None:
    result = Result(status=Status.DONE, data={"jti": value})
    made = fields(replace(denied("d"), result=result), KEYS)
    assert "result" not in made
    canon.dumps(made)


@pytest.mark.parametrize("count", [1, 30, 20_000])
def test_a_record_stays_small_however_many_resources(count: int) -> None:
    act = of(*(RESOURCES["path"](f"/p/{number}") for number in range(count)))
    assert len(line(act)) < MAX_LINE - 700, "the writer's own fields need room as well"


def test_many_resources_are_one_digest_that_tells_them_apart() -> None:
    many = [RESOURCES["path"](f"/p/{number}") for number in range(50)]
    one, same = fields(of(*many), KEYS), fields(of(*many), KEYS)
    other = fields(of(*many[:-1], RESOURCES["path"]("/p/x")), KEYS)
    assert one["resources_count"] == 50
    assert one["resources_hmac"] == same["resources_hmac"] != other["resources_hmac"]


@settings(max_examples=100)
@given(st.text() | st.integers(-9, 9) | st.booleans() | st.none())
def test_equal_values_give_equal_digests_under_one_key_and_name(value: Json) -> None:
    assert KEYS.digest("path", value) == KEYS.digest("path", value)
    assert KEYS.digest("path", value) != OTHER_KEYS.digest("path", value)
    assert KEYS.digest("path", value) != KEYS.digest("url", value)


def test_types_differ_in_their_digests() -> None:
    values: list[Json] = [1, True, "1", "True", None, "None", [1], ["1"], {"1": 1}, "[1]", 0, False]
    assert len({KEYS.digest("x", value) for value in values}) == len(values)


def test_a_file_name_that_is_no_unicode_has_a_digest() -> None:
    line(of(RESOURCES["path"]("/p/\udcff")))
    assert KEYS.digest("path", "\udcff") != KEYS.digest("path", "?")


def test_only_taint_words_can_be_cleared() -> None:
    detail: dict[str, Json] = {"cleared": ["attempted", "secret", 3], "reason": "looked at it"}
    event = Event(kind=Kind.SESSION_CLEAR, caller=caller(), action_id="c", detail=detail)
    assert fields(event, KEYS)["detail"] == {"cleared": ["attempted"], "reason": "looked at it"}
