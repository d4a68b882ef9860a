"""The decider as DESIGN.md says it, in one sitting: plain loops over a policy as plain data.

Knows nothing of the production engine. `${workspace}` is `/ws`; a rule that is `broken` has a
condition that raises; `when` is one of the expressions of WHEN.
"""

import re
import unicodedata
from typing import Any

Data = dict[str, Any]
ORDER = ["allow", "ask", "deny"]
NO_LIMIT = {"count": 99}
EGRESS = {"api.call", "net.request", "mcp.call", "mcp.resource", "git.remote", "memory.write"}
WHEN: Data = {
    "true": lambda _res, _user, _taint: True,
    "user == 'alice'": lambda _res, user, _taint: user == "alice",
    "taint == []": lambda _res, _user, taint: not taint,
    "params.p == 1": lambda res, _user, _taint: res["arguments"]["p"] == 1,
}


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


def caseless(pattern: str, path: str) -> bool:
    nfc = [unicodedata.normalize("NFC", text) for text in (absolute(pattern), path)]
    return glob(*(unicodedata.normalize("NFC", text.casefold()) for text in nfc))


def matches(rule: Data, res: Data, user: str, taint: set[str]) -> bool:
    deny, names = rule["effect"] == "deny", [res.get("path"), *res.get("also", [])]
    found = res["operation"] in rule["operations"] and user in rule.get("identities", [user])
    found = found and ("taint_any" not in rule or not taint.isdisjoint(rule["taint_any"]))
    if found and "path" in res and "resources" in rule:
        by_any_name = any(caseless(g, name) for g in rule["resources"] for name in names)
        exactly = any(glob(absolute(g), res["path"]) for g in rule["resources"])
        found = by_any_name if deny else exactly
    if found and "argv" in res:
        exact = "commands" in rule and res["argv"] in rule["commands"]
        named = "commands" not in rule and res["argv"][0] in rule.get("programs", res["argv"])
        found = exact or (named and (deny or res["grammar"]))
    if found and "host" in res and "hosts" in rule:
        above = ["*." + res["host"].split(".", i)[-1] for i in range(1, res["host"].count(".") + 1)]
        found = bool({"*", res["host"], *above} & set(rule["hosts"]))
    given = res["arguments"]
    return found and all(
        given[k] in c["in"] for k, c in rule.get("arguments", {}).items() if k in given
    )


def judge(rule: Data, res: Data, user: str, taint: set[str], used: Data) -> str:
    """Return the effect of a rule that matches; what it cannot vouch for it denies."""
    deny = rule["effect"] == "deny" or rule.get("broken", False)
    limit = rule.get("limits", NO_LIMIT)["count"]
    needed = {k for k, c in rule.get("arguments", {}).items() if not c["optional"]}
    deny = deny or bool(needed - set(res["arguments"])) or used.get(rule["id"], 0) >= limit
    deny = deny or (rule.get("taint") == "none" and bool(taint))
    deny = deny or (res.get("links", 1) > 1 and rule.get("hardlinks") != "allow")
    try:
        deny = deny or not WHEN[rule.get("when", "true")](res, user, taint)
    except KeyError:
        deny = True
    return "deny" if deny else str(rule["effect"])


def decide(policy: Data, resources: list[Data], user: str, state: Data) -> Any:
    """Return the effect, and whether a protected path was named."""
    entries = [re.sub(r"/\*\*$", "", absolute(e)) + "/**" for e in policy["protected"]]
    names = [name for r in resources if "path" in r for name in [r["path"], *r["also"]]]
    secret, taint = any(caseless(e, name) for e in entries for name in names), state["taint"]
    leaves = any(res["operation"] in EGRESS or res.get("network") for res in resources)
    if secret or state["suspended"] or (taint and leaves):
        return "deny", secret
    worst = "allow"
    for res in resources:
        found = [rule for rule in policy["rules"] if matches(rule, res, user, taint)]
        first = next((i for i, rule in enumerate(found) if "taint_any" not in rule), len(found))
        asked = [r for i, r in enumerate(found) if r["effect"] == "deny" or i <= first]
        said = [judge(rule, res, user, taint, state["used"]) for rule in asked]
        default = "deny" if res.get("links", 1) > 1 else policy["default"]
        worst = max(worst, *said, default if first == len(found) else worst, key=ORDER.index)
    return worst, False
