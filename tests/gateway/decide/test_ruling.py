"""Rulings: the strictest of several, and what mode observe lifts."""

from __future__ import annotations

from gateway.decide.conditions import DENIES
from gateway.decide.ruling import (
    ABSTAINS,
    HARDLINK,
    OWN,
    SUSPENDED,
    TAINTED,
    UNKNOWN,
    WHY,
    denial,
    hint,
    lifted,
    matched,
    strictest,
)
from gateway.model.names import Effect, Operation
from gateway.model.reasons import REASONS
from tests.gateway.decide.build import policy, rule

RULES = policy(
    rule("yes", "allow", "fs.read"), rule("ask", "ask", "fs.read"), rule("no", "deny", "fs.read")
).rules
YES, ASK, NO = map(matched, RULES)


def test_the_strictest_counts_and_every_rule_is_kept() -> None:
    assert strictest([YES]) is YES
    for found in ([YES, ASK], [ASK, YES]):
        first = strictest(found)
        assert (first.effect, first.rule) == (Effect.ASK, "ask")
        assert {rule.id for rule in first.by} == {"yes", "ask"}
    assert strictest([ASK, denial("default", "default_decision", "")]).rule == "default"
    assert strictest([ASK, ABSTAINS]).rule == "ask"


def test_of_equals_the_first_and_of_allows_the_lifted_one_is_told() -> None:
    assert strictest([YES, ABSTAINS]).rule == "yes"
    assert strictest([YES, lifted(NO)]).rule == "no"
    assert strictest([lifted(NO), ASK]).rule == "ask"


def test_only_what_the_policys_author_chose_is_lifted() -> None:
    for one in (UNKNOWN, OWN, SUSPENDED, TAINTED, HARDLINK, YES, ASK):
        assert lifted(one) is one
    lift = {reason: lifted(denial("r", reason, "m")).lifted for reason in REASONS}
    assert {reason for reason, yes in lift.items() if yes} == {
        "rule_match", "default_decision", "argument_missing", "taint_condition", "rate_exceeded",
        "budget_exceeded", "when_false",
    }  # fmt: skip
    assert lifted(NO).effect is Effect.ALLOW


def test_every_outcome_that_denies_has_words() -> None:
    assert set(WHY) == DENIES


def test_a_hint_shows_some_rules_and_counts_the_others() -> None:
    assert hint(Operation.FS_READ, ()) == "No fs.read is allowed at all."
    assert hint(Operation.FS_READ, ("a", "b", "c", "d", "e")).endswith("a, b, c and 2 more.")
