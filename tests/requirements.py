"""The promises of the design as a manifest: which test shows each, or which area will.

A promise is shown when a test of that name exists: the promise's words joined by `_`, after
`test_`. `LATER` names the area of work a promise waits for; as soon as such a test exists the
promise must leave `LATER`. `tests/repo/test_requirements.py` checks both ways.
"""

from __future__ import annotations

import re

SHOWN = (
    "deny trumps allow",
    "no match is the default, and the default is never allow",
    "order never makes a deny disappear",
    "an erroring rule never permits",
    "a missing constrained argument denies",
    "a caller never selects a looser policy or another session",
    "a cloned repository's policy never widens",
    "nothing is executed before its intent is durable",
    "an outcome without an intent cannot exist",
    "what was approved is what ran",
    "an approval is used once",
    "a cancelled or expired approval never executes later",
    "no door reaches execute except through the pipeline",
    "the same attack gets the same answer at every door",
    "a new session never launders taint",
    "killing any component never loosens a decision",
    "an ambiguous outcome is never retried automatically",
    "no token value is ever in a log, a record, an error or the agent's view",
    "after a revoke returns, no token of that grant is ever active again",
    "a killed process loses no acknowledged record",
    "a tampered, truncated or reordered log is never reported clean",
    "a full disk halts visibly and recovers by one documented command",
    "removing the sandbox means deny, not less sandbox",
)

LATER = {
    "a changed tool definition never inherits an approval": "MCP door",
    "a ticket is accepted once": "broker",
    "a stolen gateway key cannot mint an unapproved ask operation": "broker",
    "a sandboxed child reaches no counterfoil socket": "sandbox",
    "(level separate) the agent's uid cannot read a key, answer an approval or forge a prompt": (
        "daemon and levels"
    ),
}


def test_name(promise: str) -> str:
    """Return the name of the test that shows a promise."""
    return "test_" + re.sub(r"[^a-z0-9]+", "_", promise.lower().replace("'", "")).strip("_")


test_name.__test__ = False  # type: ignore[attr-defined]
