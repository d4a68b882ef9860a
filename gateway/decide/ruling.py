"""What is said of one resource: the verdict, by which rule, why, and the words an agent gets.

Pure values and texts. Which of them is reached is for :mod:`gateway.decide.engine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from gateway.decide.compile import CompiledRule
from gateway.decide.conditions import Outcome
from gateway.model.names import Effect, Operation
from gateway.model.resource import PathResource, Resource

DEFAULT: Final = "default"
NO_CONSENT: Final = "No answer is not consent."
_SHOWN: Final = 3
_PATH_SHOWN: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The verdict over one resource, and the rules of the policy it comes from.

    `lifted`: it is a deny of the policy that mode observe let through.
    """

    effect: Effect
    rule: str
    reason: str
    message: str
    by: tuple[CompiledRule, ...] = ()
    lifted: bool = False


def strictest(found: Sequence[Ruling]) -> Ruling:
    """Return the strictest of several rulings over one resource; what any rule demands is owed."""
    if len(found) == 1:
        return found[0]
    first = max(found, key=strictness)
    return replace(first, by=tuple(chain.from_iterable(ruling.by for ruling in found)))


def strictness(ruling: Ruling) -> tuple[Effect, bool]:
    """Return what rulings are compared by; of allows, one that was lifted is told first."""
    return ruling.effect, ruling.lifted


def matched(rule: CompiledRule) -> Ruling:
    """Return what a rule says where all its conditions hold."""
    message = _MESSAGES[rule.effect].format(rule=rule.id)
    if rule.model.justification is not None:
        message = f"{message} {rule.model.justification}"
    return Ruling(
        effect=rule.effect, rule=rule.id, reason="rule_match", message=message, by=(rule,)
    )


def lifted(ruling: Ruling) -> Ruling:
    """Let a deny of the policy through; built-in denies, asks and faults stay."""
    if ruling.effect is not Effect.DENY or ruling.reason not in _POLICY_DENIES:
        return ruling
    message = f"Mode observe: this would be denied. {ruling.message}"
    return replace(ruling, effect=Effect.ALLOW, message=message, lifted=True)


def protected(resource: PathResource) -> Ruling:
    """Return the deny of a protected path."""
    how = (
        ""
        if resource.named
        else "; the command would reach it: start lower, or leave it out (grep --exclude=NAME)"
    )
    return denial(
        "builtin:protected",
        "fs_protected",
        f"{resource.path[:_PATH_SHOWN]} is protected by the policy, and no rule can allow it{how}.",
    )


def guarded(resource: PathResource) -> Ruling:
    """Return the deny of a change that only a person makes."""
    return denial(
        "builtin:self-protection",
        "self_protection",
        f"{resource.path[:_PATH_SHOWN]} decides what a program outside the gate starts (hooks, MCP "
        "servers, tasks), so only a person changes it. It may be read.",
    )


def linked(resource: Resource) -> bool:
    """Whether it is a file with several names."""
    return isinstance(resource, PathResource) and resource.links > 1


def hint(operation: Operation, granting: tuple[str, ...]) -> str:
    """Return what a denial may say of the rules that are open to an operation."""
    if not granting:
        return f"No {operation} is allowed at all."
    shown = ", ".join(granting[:_SHOWN])
    more = len(granting) - _SHOWN
    rest = f" and {more} more" if more > 0 else ""
    return f"{operation} is open to these rules: {shown}{rest}."


def denial(rule: str, reason: str, message: str, *, by: CompiledRule | None = None) -> Ruling:
    """Return a deny; `by` is the rule of the policy it comes from, if it is from one."""
    rules = () if by is None else (by,)
    return Ruling(effect=Effect.DENY, rule=rule, reason=reason, message=message, by=rules)


WHY: Final = {
    Outcome.MISSING: "an argument it constrains is missing: give every constrained argument",
    Outcome.TAINTED: "only in a session that has not touched a secret",
    Outcome.RATE: "it let through as many acts as it may in this time: wait",
    Outcome.BUDGET: "it let through as much as it may, until a person clears it",
    Outcome.WHEN_FALSE: "its `when` is false",
    Outcome.WHEN_ERROR: "its `when` could not be judged; a fault never permits",
    Outcome.ERROR: "judging it failed; a fault never permits",
}
_POLICY_DENIES: Final = frozenset(
    {
        "rule_match",
        "default_decision",
        "argument_missing",
        "taint_condition",
        "rate_exceeded",
        "budget_exceeded",
        "when_false",
    }
)
"""Reasons of denies that a policy's author chose."""
_MESSAGES: Final = {
    Effect.ALLOW: "Allowed by rule {rule}.",
    Effect.ASK: f"Rule {{rule}} wants a person to approve. {NO_CONSENT}",
    Effect.DENY: "Denied by rule {rule}.",
}

UNKNOWN: Final = denial(
    "builtin:unknown",
    "unknown_operation",
    "This act could not be named, and what cannot be named is denied.",
)
ABSTAINS: Final = Ruling(
    effect=Effect.ALLOW,
    rule=DEFAULT,
    reason="default_decision",
    message="No rule matches; this layer abstains and leaves it to the others.",
)
OWN: Final = denial(
    "builtin:self-protection",
    "self_protection",
    "The act reaches for counterfoil's own files, commands or services. No rule can allow it.",
)
SUSPENDED: Final = denial(
    "builtin:suspended",
    "session_suspended",
    "The session is suspended until a person resumes it.",
)
TAINTED: Final = denial(
    "builtin:taint",
    "taint_session",
    "The session has touched or tried to touch a secret, so nothing may leave it until a person "
    "clears it. Local reads go on as the policy allows.",
)
HARDLINK: Final = denial(
    "builtin:hardlink",
    "fs_hardlink",
    "The file has more than one name (hard links), so its path does not say what it is. Files "
    "with one name may be allowed.",
)
