"""`counterfoil policy`: work on policy files. Now: `check`.

`check` reads each file as the gateway would (includes, roots beside the file, variables), then
judges the rules' own examples. Exit status: 0 every file can be used, 1 wrong usage or a file that
cannot be read, 2 a file is refused; each fault is `file:line: key: what and what to write instead`.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import sys
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from gateway.decide.compile import Policy, compile_policy
from gateway.decide.examples import check_examples
from gateway.decide.glob import GlobError, expand
from gateway.decide.parse import parse
from gateway.decide.yaml_strict import MAX_BYTES
from gateway.errors import PolicyError
from gateway.model.names import Json

OK: Final = 0
USAGE: Final = 1
REFUSED: Final = 2

Report: TypeAlias = dict[str, Any]


class Subparsers(Protocol):
    """What `argparse.ArgumentParser.add_subparsers` returns, as far as it is used here."""

    def add_parser(self, name: str, *, help: str) -> argparse.ArgumentParser:  # noqa: A002
        """Add one subcommand."""
        ...


def register(subparsers: Subparsers) -> None:
    """Add `policy`; the parsed namespace's `run` takes it and returns the exit status."""
    parser = subparsers.add_parser("policy", help="check policy files")
    verbs = parser.add_subparsers(dest="verb", required=True)
    check = verbs.add_parser("check", help="say whether policy files can be used, and why not")
    check.add_argument("files", nargs="+", metavar="FILE", help="policy file (YAML)")
    check.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    check.set_defaults(run=run_check)


def run_check(arguments: argparse.Namespace) -> int:
    """Check every file and return the worst exit status."""
    status = OK
    reports: list[Report] = []
    for name in arguments.files:
        try:
            report, one = _check(Path(name))
        except OSError as error:
            report, one = _report(name, [], problem=f"{name}: {error.strerror}"), USAGE
        status = max(status, one)
        reports.append(report)
    if arguments.json:
        sys.stdout.write(json.dumps({"ok": status == OK, "files": reports}) + "\n")
    else:
        for report in reports:
            _show(report)
    return status


def load_policy(path: Path) -> Policy:
    """Read and compile a policy file; its roots are resolved beside it.

    Raises:
        PolicyError: the policy is refused.
        OSError: the main file cannot be read.
    """
    directory = path.resolve().parent
    variables = {"home": pwd.getpwuid(os.getuid()).pw_dir}

    def read_include(source: str, relative: str) -> bytes:
        included = (Path(source).parent / relative).resolve()
        if not included.is_relative_to(directory):
            raise PolicyError(f"{relative}: leaves the policy's directory", source=source)
        try:
            return _read(included)
        except OSError as error:
            raise PolicyError(f"{relative}: {error.strerror}", source=source) from None

    document = parse(str(path), _read(path), read_include=read_include)
    roots = {}
    for name, text in document.roots.items():
        try:
            roots[name] = os.path.realpath(directory / expand(text, variables))
        except GlobError as error:
            document.main.at("roots", name).fail(str(error))
    return compile_policy(document, roots=roots, variables=variables)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _check(path: Path) -> tuple[Report, int]:
    try:
        policy = load_policy(path)
    except PolicyError as error:
        return _report(str(path), [error]), REFUSED
    errors = check_examples(policy)
    report = _report(str(path), errors)
    report |= {"digest": policy.digest, "rules": len(policy.rules)}
    return report, REFUSED if errors else OK


def _report(name: str, errors: list[PolicyError], *, problem: str | None = None) -> Report:
    found: list[Json] = [
        {"source": error.source, "line": error.line, "message": error.detail} for error in errors
    ]
    if problem is not None:
        found.append({"source": name, "line": None, "message": problem})
    return {"file": name, "ok": not found, "errors": found}


def _show(report: Report) -> None:
    if report["ok"]:
        sys.stdout.write(f"{report['file']}: ok, {report['rules']} rules, {report['digest']}\n")
    for error in report["errors"]:
        line = "" if error["line"] is None else f":{error['line']}"
        sys.stderr.write(f"{error['source']}{line}: {error['message']}\n")
