"""Each call of a trace gets one decision; asks are answered as said; nothing else happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.replay.simulate import OnAsk, Simulated, simulate
from gateway.replay.stand import Session, standing
from gateway.replay.trace import Call, Prompt, Result, Trace
from tests.gateway.replay.test_stand import options

POLICY = """\
version: 1
roots: {workspace: "."}
protected: ["**/.env"]
rules:
  - {id: look, effect: allow, operations: [mcp.call], servers: [mail], tools: ["read_*"]}
  - {id: send, effect: ask, operations: [mcp.call], servers: [mail], tools: [send]}
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY, encoding="utf-8")
    with standing(options(tmp_path), path) as session:
        yield session


def call(name: str, tool: str) -> Call:
    return Call(event="call", id=name, server="mail", tool=tool)


def said(session: Session, on_ask: OnAsk, *events: Call | Prompt | Result) -> list[Simulated]:
    return list(simulate(Trace(name="t", events=events), session, on_ask))


@pytest.mark.parametrize(
    ("on_ask", "wanted"),
    [
        ("approve", ("allow", "approval_granted", "send")),
        ("deny", ("deny", "approval_denied", "send")),
    ],
)
def test_an_ask_is_answered_as_said(session: Session, on_ask: OnAsk, wanted: tuple[str, str, str]):
    one = said(session, on_ask, call("1", "send"))[0]
    got = (one.decision.effect.word, one.decision.reason, one.decision.rule)
    assert (got, one.asked) == (wanted, True)


def test_calls_only_in_order_with_their_ids(session: Session):
    events = [
        Prompt(event="prompt", text="x"),
        call("1", "read_mail"),
        Result(event="result", id="1"),
        call("2", "delete"),
    ]
    found = said(session, "deny", *events)
    assert [(one.id, one.decision.reason) for one in found] == [
        ("1", "rule_match"),
        ("2", "default_decision"),
    ]


def test_taint_of_an_earlier_call_counts_for_a_later_one(session: Session, tmp_path: Path):
    request = {"tool": "fs.read", "params": {"path": str(tmp_path / ".env")}}
    naming = Call(event="call", id="1", request=request)
    found = said(session, "approve", naming, call("2", "read_mail"))
    assert [one.decision.reason for one in found] == ["fs_not_found", "taint_session"]


def test_a_malformed_request_is_a_denied_call(session: Session):
    found = said(session, "approve", Call(event="call", id="1", request={"tool": 5}))
    assert found[0].decision.reason == "request_invalid"


def test_the_line_has_the_id_the_trace_and_the_decision(session: Session):
    line = said(session, "deny", call("1", "send"))[0].to_json()
    assert (line["trace"], line["id"], line["decision"], line["asked"]) == ("t", "1", "deny", True)
