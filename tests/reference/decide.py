"""The decider as DESIGN.md says it, in one sitting: plain loops over a policy as plain data.

Knows nothing of the production engine. `${workspace}` is `/ws`; a rule with the key `broken` stands
for one whose condition raises.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

ORDER = ["allow", "ask", "deny"]
EGRESS = {"api.call", "net.request", "mcp.call", "mcp.resource", "git.remote", "memory.write"}
Data = dict[str, Any]


def glob(pattern: str, path: str) -> bool:
    """`?` one, `*` a run, `**/` any directories, a final `/**` the directory and all beneath."""
    if not pattern or pattern == "/**":
        return not path or (pattern != "" and path[0] == "/")
    if pattern.startswith("**/"):
        starts = [0] + [i + 1 for i, letter in enumerate(path) if letter == "/"]
        return any(glob(pattern[3:], path[i:]) for i in starts if "//" not in "/" + path[:i])
    inside = path != "" and path[0] != "/"
    if pattern[0] == "*":
        return glob(pattern[1:], path) or (inside and glob(pattern, path[1:]))
    same = inside if pattern[0] == "?" else path != "" and pattern[0] == path[0]
    return same and glob(pattern[1:], path[1:])


def absolute(pattern: str) -> str:
    pattern = pattern.replace("${workspace}", "/ws")
    return "/" + pattern if pattern.startswith("**") else pattern


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def caseless(pattern: str, path: str) -> bool:
    return glob(fold(absolute(pattern)), fold(path))


def protects(pattern: str, path: str) -> bool:
    return caseless(re.sub(r"/\*\*$", "", absolute(pattern)) + "/**", path)


def names(res: Data) -> list[str]:
    return [res["path"], *res["also"]] if "path" in res else []


def judge(rule: Data, res: Data, user: str, taint: set[str]) -> str | None:
    """Return None when the rule does not match, else the effect it has."""
    deny = rule["effect"] == "deny"
    if res["operation"] not in rule["operations"] or user not in rule.get("identities", [user]):
        return None
    if "resources" in rule:
        found = [caseless(g, name) for g in rule["resources"] for name in names(res)]
        exact = [glob(absolute(g), res["path"]) for g in rule["resources"]]
        if not any(found if deny else exact):
            return None
    if "program" in res:
        named = res["program"] in rule.get("programs", [res["program"]])
        if not named or not (deny or res["grammar"]):
            return None
    denies = rule.get("broken", False) or (rule.get("taint") == "none" and bool(taint))
    for name, constraint in rule.get("arguments", {}).items():
        if name not in res["arguments"]:
            denies = denies or not constraint.get("optional", False)
        elif res["arguments"][name] not in constraint["in"]:
            return None
    linked = not deny and res.get("links", 1) > 1 and rule.get("hardlinks") != "allow"
    return "deny" if denies or linked else str(rule["effect"])


def decide(policy: Data, resources: list[Data], user: str, taint: set[str], suspended: bool) -> Any:
    """Return the effect, and whether a protected path was named."""
    secret = any(
        protects(entry, name)
        for entry in policy["protected"]
        for r in resources
        for name in names(r)
    )
    leaves = any(res["operation"] in EGRESS or res.get("network") for res in resources)
    if secret or suspended or (taint and leaves):
        return "deny", secret
    worst = "allow"
    for res in resources:
        said = [(rule["effect"], judge(rule, res, user, taint)) for rule in policy["rules"]]
        matching = [verdict for _, verdict in said if verdict is not None]
        denied = any(effect == "deny" and verdict is not None for effect, verdict in said)
        default = "deny" if res.get("links", 1) > 1 else policy["default"]
        verdict = "deny" if denied else matching[0] if matching else default
        worst = max(worst, verdict, key=ORDER.index)
    return worst, False
