"""`counterfoil policy`: check policy files; the other actions are modules of their own.

`check` reads each file as the gateway would and judges the rules' own examples; each fault is
`file:line: key: what, and what to write instead`. A layer other than `user` is judged under the
roots of the registered policy, or its own where none is registered. Exit status: 0 usable, 2
refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gateway.cli import (
    act,
    policy_diff,
    policy_files,
    policy_lint,
    policy_schema,
    policy_simulate,
    policy_test,
    policy_trust,
)
from gateway.cli.main import say
from gateway.decide.examples import check_examples
from gateway.errors import PolicyError
from gateway.kit import canon

Report = dict[str, Any]

_ACTIONS: Final = (
    ("lint", policy_lint, "say what a policy's author did not mean, each with an act to show it"),
    ("trust", policy_trust, "register a policy, or a project's own, as it is now; asks you"),
    ("diff", policy_diff, "say what another policy would decide otherwise, each with an act"),
    ("schema", policy_schema, "print the JSON Schema of policy files, for editors"),
    ("simulate", policy_simulate, "decide every call of a trace under a policy; executes nothing"),
    ("test", policy_test, "run test cases of a policy, and show which rules they reach"),
)


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb and its actions."""
    parser = verbs.add_parser("policy", help=text, description=text)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="say whether policy files can be used, and why not")
    check.add_argument("files", nargs="+", metavar="FILE", help="policy file (YAML)")
    act.add_places(check)
    policy_files.add_layer(check)
    check.set_defaults(act=_check)
    for name, module, line in _ACTIONS:
        action = actions.add_parser(name, help=line, description=line)
        module.add_parser(action)
        action.set_defaults(act=module.run)


def run(args: argparse.Namespace) -> int:
    """Run the action that was named."""
    status: int = args.act(args)
    return status


def _check(args: argparse.Namespace) -> int:
    roots = policy_files.registered_roots(args)
    reports = [_report(Path(name), args.layer, roots) for name in args.files]
    good = all(report["ok"] for report in reports)
    if args.json:
        say(canon.dumps({"ok": good, "files": reports}).decode(), sys.stdout)
    for report in [] if args.json else reports:
        if report["ok"]:
            line = f"{report['file']}: ok, {report['rules']} rules, {report['digest']}"
            say(line, sys.stdout)
        for error in report["errors"]:
            line = "" if error["line"] is None else f":{error['line']}"
            say(f"{error['source']}{line}: {error['message']}", sys.stderr)
    return 0 if good else 2


def _report(path: Path, role: str | None, registered: Mapping[str, str] | None) -> Report:
    shown: Report = {"file": str(path), "ok": False}
    try:
        policy = policy_files.load_as(path, role, registered).policy
        errors = check_examples(policy)
        shown |= {"digest": policy.digest, "rules": len(policy.rules), "ok": not errors}
    except PolicyError as error:
        errors = [error]
    faults = [{"source": one.source, "line": one.line, "message": one.detail} for one in errors]
    return shown | {"errors": faults}
