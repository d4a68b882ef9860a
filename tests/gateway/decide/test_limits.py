"""Limits of a rule: acts, bytes, acts in a time; counted from the state, never falling through."""

from __future__ import annotations

import pytest

from gateway.decide.limits import sent
from gateway.model.plan import RunCompound
from gateway.model.resource import MemoryResource
from gateway.model.session import MAX_RATE, SessionState, Usage
from tests.gateway.decide.build import (
    ALICE,
    act,
    api,
    command,
    decide,
    decider,
    file,
    mcp,
    rule,
    said,
    url,
)

NOW = 1_000_000_000_000


def state(*times: int, count: int = 0, size: int = 0, rule_id: str = "few") -> SessionState:
    used = Usage(count=count, bytes=size, times=times)
    return SessionState(usage={rule_id: used}, now_us=NOW)


def ago(seconds: float) -> int:
    return NOW - int(seconds * 1_000_000)


def few(**limits: object) -> object:
    return decider(
        rule("few", "allow", "fs.read", "fs.write", "mcp.call", limits=limits),
        rule("all", "allow", "fs.read", "fs.write", "mcp.call"),
    )


@pytest.mark.parametrize(
    ("limits", "used", "reason"),
    [
        ({"count": 2}, {"count": 1}, "rule_match"),
        ({"count": 2}, {"count": 2}, "budget_exceeded"),
        ({"count": 0}, {}, "budget_exceeded"),
        ({"bytes": 10}, {"size": 9}, "rule_match"),
        ({"bytes": 10}, {"size": 10}, "budget_exceeded"),
        ({"bytes": 0}, {}, "budget_exceeded"),
        ({"count": 9, "bytes": 10}, {"count": 9}, "budget_exceeded"),
        ({"count": 1}, {"count": 5, "rule_id": "all"}, "rule_match"),
    ],
)
def test_acts_and_bytes(limits: dict, used: dict, reason: str) -> None:
    decision = decide(few(**limits), file("/ws/a"), state=state(**used))
    assert (decision.rule, decision.reason) == ("few", reason)
    assert decision.effect.word == ("allow" if reason == "rule_match" else "deny")


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ([], "rule_match"),
        ([ago(1)], "rule_match"),
        ([ago(9), ago(1)], "rate_exceeded"),
        ([ago(10.1), ago(1)], "rule_match"),
        ([ago(10), ago(1)], "rule_match"),
        ([ago(-3600), ago(-3600)], "rate_exceeded"),  # the clock was set back
    ],
)
def test_a_rate(times: list[int], reason: str) -> None:
    judge = few(rate={"count": 2, "seconds": 10})
    decision = decide(judge, file("/ws/a"), state=state(*times, count=99))
    assert (decision.rule, decision.reason) == ("few", reason)


def test_what_would_be_sent_never_passes_the_limit() -> None:
    judge = few(bytes=100)
    for size, effect in ((40, "allow"), (41, "deny")):
        writing = file("/ws/a", "fs.write", size=size)
        assert decide(judge, writing, state=state(size=60)).effect.word == effect
    assert decide(judge, mcp(text="x" * 40), state=state()).effect.word == "allow"
    assert decide(judge, mcp(text="x" * 90), state=state()).effect.word == "deny"


def test_what_is_known_to_be_sent() -> None:
    assert sent(file("/ws/a", "fs.write", size=7)) == 7
    assert sent(MemoryResource(scope="session", sensitivity="low", size=3)) == 3
    assert sent(mcp(a="b")) == sent(api(a="b")) == len('{"a":"b"}')
    assert sent(command("ls")) == sent(url("a.example.com")) == 0


def test_a_decision_says_what_it_spends() -> None:
    judge = decider(
        rule("few", "allow", "fs.write", resources=["/ws/few/**"], limits={"count": 9}),
        rule("ask", "ask", "fs.write", resources=["/ws/ask/**"], limits={"bytes": 90}),
        rule("all", "allow", "fs.write"),
    )

    def write(path: str) -> object:
        return file(path, "fs.write", size=5)

    assert decide(judge, write("/ws/few/a")).spends == {"few": 5}
    assert decide(judge, write("/ws/few/a"), write("/ws/few/b")).spends == {"few": 10}
    assert decide(judge, write("/ws/few/a"), write("/ws/ask/b")).spends == {"few": 5, "ask": 5}
    assert decide(judge, write("/ws/a")).spends == {}
    assert decide(judge, write("/ws/few/a"), state=state(count=9)).spends == {}


def test_of_a_compound_line_the_parts_count_not_the_line() -> None:
    judge = decider(rule("few", "allow", "shell.run", limits={"count": 1}))
    line = act(command("ls"), command("cat"))
    plain = judge.decide(line, ALICE, SessionState())
    assert plain.spends == {"few": 0}
    object.__setattr__(line, "plan", RunCompound(segments=()))
    decision = judge.decide(line, ALICE, SessionState())
    assert (said(decision), decision.spends) == (("allow", "few", "rule_match"), {"few": 0})
    assert judge.decide(line, ALICE, state(count=1)).reason == "budget_exceeded"


def test_usage_keeps_a_bounded_number_of_times() -> None:
    used = Usage()
    for time in range(MAX_RATE + 5):
        used = used.with_act(1, time)
    assert (used.count, used.bytes) == (MAX_RATE + 5, MAX_RATE + 5)
    assert used.times == tuple(range(5, MAX_RATE + 5))
    assert used.with_bytes(3).bytes == used.bytes + 3
    assert used.with_act(0, None).times == used.times
