"""What an act owes comes from every rule that let a part of it through."""

from __future__ import annotations

from tests.gateway.decide.build import TAINTED, command, decide, decider, file, rule


def test_obligations_are_those_of_the_matching_rules_and_the_strictest() -> None:
    judge = decider(
        rule(
            "b", "allow", "shell.run", programs=["b"], sandbox={"min_tier": "B", "network": "proxy"}
        ),
        rule("a", "allow", "shell.run", programs=["a"], sandbox={"min_tier": "A"}),
        rule("n", "allow", "shell.run", "fs.read") | {"operations": ["shell.run"]},
        limits={"read_bytes": 7, "approval_timeout_s": 3, "call_timeout_s": 4},
    )
    alone = decide(judge, command("b")).obligations
    assert (alone.min_tier, alone.network) == ("B", "proxy")
    both = decide(judge, command("b"), command("a")).obligations
    assert (both.min_tier, both.network) == ("A", "none")
    none = decide(judge, command("c")).obligations
    assert (none.min_tier, none.network, none.read_bytes) == (None, "none", 7)
    assert (none.approval_timeout_s, none.call_timeout_s) == (3, 4)


def test_how_much_rides_on_an_ask_is_the_most_any_asking_rule_says() -> None:
    judge = decider(
        rule("low", "ask", "fs.read", resources=["/ws/low"], approval="low"),
        rule("high", "ask", "fs.read", resources=["/ws/high"], approval="high"),
        rule("unsaid", "ask", "fs.read", resources=["/ws/unsaid"]),
        rule("all", "allow", "fs.read", resources=["/ws/**"]),
        default="ask",
    )
    for paths, wanted in (
        (["/ws/x"], "low"),
        (["/ws/low", "/ws/x"], "low"),
        (["/ws/low", "/ws/unsaid"], "medium"),
        (["/ws/low", "/out"], "medium"),
        (["/ws/high", "/ws/low"], "high"),
    ):
        assert decide(judge, *map(file, paths)).obligations.approval == wanted, paths
    plain = decider(rule("ask", "ask", "fs.read", resources=["/ws/a"]), default="ask")
    assert decide(plain, file("/ws/a")).obligations.approval == "medium"
    assert decide(plain, file("/ws/b")).obligations.approval == "medium"


def test_what_any_rule_owes_in_record_and_result_is_owed() -> None:
    judge = decider(
        rule("quiet", "allow", "fs.read", resources=["/ws/a"], audit="metadata"),
        rule("clean", "allow", "fs.read", resources=["/ws/b"], redact=["secrets"]),
        rule("never", "deny", "fs.read", resources=["/ws/n"], audit="metadata"),
        rule("all", "allow", "fs.read", audit="digest"),
    )
    owed = decide(judge, file("/ws/a"), file("/ws/b"), file("/ws/c")).obligations
    assert (owed.audit, owed.redact) == ("metadata", {"secrets"})
    assert decide(judge, file("/ws/n")).obligations.audit == "metadata"
    owed = decide(judge, file("/ws/c")).obligations
    assert (owed.audit, owed.redact) == ("digest", frozenset())


def test_what_an_ask_comes_on_top_of_is_still_owed() -> None:
    judge = decider(
        rule("careful", "ask", "shell.run", taint_any=["attempted"], approval="high"),
        rule(
            "run",
            "allow",
            "shell.run",
            sandbox={"min_tier": "A", "network": "proxy"},
            limits={"count": 3},
            redact=["secrets"],
        ),
    )
    clean = decide(judge, command("x"))
    assert (clean.obligations.min_tier, clean.obligations.network) == ("A", "proxy")
    asked = decide(judge, command("x"), state=TAINTED)
    owed = asked.obligations
    assert (asked.effect.word, owed.approval) == ("ask", "high")
    assert (owed.min_tier, owed.network, owed.redact) == ("A", "none", {"secrets"})
    assert asked.spends == {"run": 0}


def test_a_deny_keeps_no_more_than_its_rule_says_and_spends_nothing() -> None:
    judge = decider(
        rule("r", "allow", "fs.read", when="false", audit="metadata", limits={"count": 1})
    )
    decision = decide(judge, file("/ws/a"))
    assert (decision.reason, decision.obligations.audit) == ("when_false", "metadata")
    assert decision.spends == {}
