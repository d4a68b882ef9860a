"""`counterfoil policy`: check policy files, register a changed one.

`check` reads each file as the gateway would and judges the rules' own examples; each fault is
`file:line: key: what, and what to write instead`. Exit status: 0 usable, 2 refused. `trust`
registers the file's present content, if it could be used and its examples hold; it asks the person
at the terminal.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Final

from gateway.assembly.build import check_apart
from gateway.assembly.config import load_config
from gateway.assembly.places import places
from gateway.assembly.policies import load_policy
from gateway.assembly.setup import register
from gateway.cli import act, policy_simulate, policy_test
from gateway.cli.confirm import confirm
from gateway.cli.main import say
from gateway.decide.examples import check_examples
from gateway.errors import ConfigError, PolicyError
from gateway.kit import canon

Report = dict[str, Any]

_ACTIONS: Final = (
    ("simulate", policy_simulate, "decide every call of a trace under a policy; executes nothing"),
    ("test", policy_test, "run test cases of a policy, and show which rules they reach"),
)


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb and its actions."""
    parser = verbs.add_parser("policy", help=text, description=text)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="say whether policy files can be used, and why not")
    check.add_argument("files", nargs="+", metavar="FILE", help="policy file (YAML)")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    trust = actions.add_parser("trust", help="register the policy as it is now; asks you")
    act.add_places(trust)
    trust.add_argument("file", nargs="?", metavar="FILE", help="default: the registered file")
    check.set_defaults(act=_check)
    trust.set_defaults(act=_trust)
    for name, module, line in _ACTIONS:
        action = actions.add_parser(name, help=line, description=line)
        module.add_parser(action)
        action.set_defaults(act=module.run)


def run(args: argparse.Namespace) -> int:
    """Run the action that was named."""
    status: int = args.act(args)
    return status


def _check(args: argparse.Namespace) -> int:
    reports = [_report(Path(name)) for name in args.files]
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


def _report(path: Path) -> Report:
    shown: Report = {"file": str(path), "ok": False}
    try:
        policy = load_policy(path).policy
        errors = check_examples(policy)
        shown |= {"digest": policy.digest, "rules": len(policy.rules), "ok": not errors}
    except PolicyError as error:
        errors = [error]
    faults = [{"source": one.source, "line": one.line, "message": one.detail} for one in errors]
    return shown | {"errors": faults}


def _trust(args: argparse.Namespace) -> int:
    where = places(config=args.config, state_dir=args.state_dir)
    config = load_config(where.config)
    if config is None or config.policy is None:
        raise ConfigError(f"{where.config}: no policy is registered; run `counterfoil init`")
    path = Path(os.path.abspath(args.file or config.policy.path))  # noqa: PTH100
    policy = load_policy(path).policy
    if (str(path), policy.digest) == (config.policy.path, config.policy.digest):
        say(f"{path}: is registered as it is", sys.stdout)
        return 0
    check_apart(where, policy.roots)
    for fault in check_examples(policy):
        raise fault
    confirm(
        f"Register {path}\n  now  {policy.digest} ({len(policy.rules)} rules)\n"
        f"  was  {config.policy.digest} ({config.policy.path})"
    )
    register(where, config.policy, path=str(path), digest=policy.digest)
    say(f"registered {path}", sys.stdout)
    return 0
