"""`counterfoil policy test`: test cases of a policy, and which rules they reach.

Exit status: 0 when every case came out as expected (and enough rules were reached, with
`--min-coverage`), 2 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gateway.assembly.build import options_from
from gateway.cli import act
from gateway.cli.main import say
from gateway.kit import canon
from gateway.kit import text as texts
from gateway.model.names import Json
from gateway.replay.cases import Report, read_cases, run_cases


def add_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("policy", metavar="POLICY", help="the policy to test")
    parser.add_argument("cases", nargs="+", metavar="CASES", help="files of cases (YAML)")
    parser.add_argument(
        "--min-coverage",
        type=int,
        metavar="PERCENT",
        help="fail when the cases reach fewer of the rules",
    )
    act.add_places(parser)


def run(args: argparse.Namespace) -> int:
    """Run every case."""
    options = options_from(door="cli", policy=None, config=args.config, state_dir=args.state_dir)
    cases = [read_cases(Path(name)) for name in args.cases]
    report = run_cases(options, Path(args.policy), cases)
    right = all(not one.wrong for one in report.tested)
    good = right and report.coverage >= (args.min_coverage or 0)
    if args.json:
        whole: dict[str, Json] = {
            "ok": good,
            "cases": [one.to_json() for one in report.tested],
            "coverage": {
                "percent": report.coverage,
                "rules": len(report.rules),
                "not_reached": list(report.not_reached),
            },
        }
        say(canon.dumps(whole).decode(), sys.stdout)
    else:
        _show(report)
    return 0 if good else 2


def _show(report: Report) -> None:
    for one in report.tested:
        for fault in one.wrong:
            say(f"{one.source}:{one.line}: {texts.escape(one.name)}: {fault}", sys.stderr)
    failed = sum(bool(one.wrong) for one in report.tested)
    count = len(report.tested)
    say(f"{count - failed} of {count} cases as expected", sys.stdout)
    missing = report.not_reached
    rest = f"; not reached: {', '.join(missing)}" if missing else ""
    say(f"{report.coverage} % of the rules decided a case{rest}", sys.stdout)
