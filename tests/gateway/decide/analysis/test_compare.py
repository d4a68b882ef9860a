"""Acts made from two policies show how they differ."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings

from gateway.decide.analysis.compare import candidates, complete, differing
from gateway.decide.engine import Decide
from tests.gateway.decide.build import ALICE, CLEAN, act, policy, rule
from tests.reference.draw import RESOURCES, Data, a_policy, real, real_policy

READ = rule("r", "allow", "fs.read", resources=["${workspace}/**"])


def shown(first: Any, second: Any) -> set[tuple[str, str, str]]:
    """Return what was decided otherwise: the request's tool, and both effects."""
    one, two = Decide(first), Decide(second)
    found = set()
    for made in candidates(first, second, {"home": "/home/u"}):
        before, after = (j.decide(made.action, made.caller, made.state) for j in (one, two))
        if before.effect is not after.effect:
            found.add((str(made.request["tool"]), before.effect.word, after.effect.word))
    return found


def with_(**more: Any) -> dict[str, Any]:
    return {**READ, **more}


@pytest.mark.parametrize(
    ("first", "second", "change"),
    [
        ([READ], [with_(effect="ask")], ("fs.read", "allow", "ask")),
        ([READ], [with_(resources=["${workspace}/src/**"])], ("fs.read", "allow", "deny")),
        ([with_(resources=["${workspace}/*.py"])], [with_(resources=["${workspace}/*.p?"])],
         ("fs.read", "deny", "allow")),
        ([READ], [rule("no", "deny", "fs.read", resources=["**/a"]), READ],
         ("fs.read", "allow", "deny")),
        ([READ], [READ, rule("w", "ask", "fs.write", resources=["/ws/x"])],
         ("fs.write", "deny", "ask")),
        ([rule("n", "allow", "net.request", hosts=["a.example"])],
         [rule("n", "allow", "net.request", hosts=["*.example"])], ("net.request", "deny", "allow")),
        ([rule("n", "allow", "net.request", hosts=["a.b"], ports=[443])],
         [rule("n", "allow", "net.request", hosts=["a.b"])], ("net.request", "deny", "allow")),
        ([rule("c", "allow", "shell.run", programs=["cat"])],
         [rule("c", "allow", "shell.run", programs=["cat", "ls"])], ("shell.run", "deny", "allow")),
        ([with_(identities=["bob"])], [READ], ("fs.read", "deny", "allow")),
        ([rule("m", "allow", "mcp.call", servers=["s"], tools=["read_*"])],
         [rule("m", "allow", "mcp.call", servers=["s"], tools=["*"])], ("mcp.call", "deny", "allow")),
    ],
)  # fmt: skip
def test_a_difference_is_shown(
    first: list[dict[str, Any]], second: list[dict[str, Any]], change: tuple[str, str, str]
) -> None:
    one, two = policy(*first), policy(*second)
    assert change in shown(one, two)
    assert (change[0], change[2], change[1]) in shown(two, one)
    assert shown(one, one) == set()


def test_a_protected_entry_that_is_gone_is_shown() -> None:
    one, two = policy(READ, protected=["**/.env", "**/vault"]), policy(READ, protected=["**/.env"])
    assert shown(one, two) == {("fs.read", "deny", "allow")}


def test_rules_that_differ_are_named_without_their_examples() -> None:
    example = {"match": [{"tool": "fs.read", "params": {"path": "a"}}]}
    one = policy(READ, rule("gone", "deny", "fs.read"), rule("w", "allow", "fs.list", when="true"))
    two = policy(
        with_(examples=example), rule("new", "deny", "fs.read"), rule("w", "allow", "fs.list")
    )
    assert differing(one, two) == ("gone", "w", "new")


@settings(max_examples=20, deadline=None)
@given(data=a_policy(), more=a_policy(), resources=RESOURCES)
def test_policies_over_files_that_show_no_difference_decide_alike(
    data: Data, more: Data, resources: list[Data]
) -> None:
    first, second = (plain(one) for one in (data, more))
    assume(first["rules"])
    assume(second["rules"])
    compiled = [real_policy(one) for one in (first, second)]
    if shown(*compiled):
        return
    for one in resources:
        if "path" in one:
            alone = act(real({**one, "also": [], "links": 1}))
            effects = [Decide(p).decide(alone, ALICE, CLEAN).effect for p in compiled]
            assert effects[0] is effects[1], one


def plain(data: Data) -> Data:
    """Keep rules over files that say nothing but their globs."""
    kept = {"id", "effect", "operations", "resources"}
    rules = [
        {k: v for k, v in one.items() if k in kept}
        for one in data["rules"]
        if one["operations"][0].startswith("fs.")
    ]
    return {**data, "default": "deny", "rules": rules}


def test_it_is_told_when_not_every_pair_is_looked_at() -> None:
    few = policy(READ)
    many = policy(*({**READ, "id": f"r{n}"} for n in range(200)))
    assert complete(few, few, {})
    assert not complete(few, many, {})
