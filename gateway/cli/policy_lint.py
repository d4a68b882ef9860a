"""`counterfoil policy lint`: what a policy's author did not mean, each with an act that shows it.

Exit status: 0 nothing that fails, 2 an error (with `--strict` a warning too, and a policy that
cannot be used).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gateway.assembly.build import Options, judge_of, options_from, own_paths
from gateway.assembly.layers import PROJECT_FILE, Layers
from gateway.assembly.policies import LoadedPolicy, variables
from gateway.cli import act, policy_files
from gateway.cli.main import say
from gateway.decide.analysis.lint import Finding, Known, Severity, lint
from gateway.errors import PolicyError
from gateway.kit import canon, text
from gateway.model.names import Json
from gateway.normalize.grammar import TOOLS

STARTS: Final = (
    ".git/hooks/pre-commit", ".git/config", ".claude/settings.json", ".mcp.json",
    ".codex/config.toml", ".cursor/mcp.json", ".vscode/tasks.json", PROJECT_FILE,
)  # fmt: skip
"""Files beneath a root that start programs or judge acts: no policy may let them be changed."""
_GRAMMARS: Final = frozenset({*TOOLS, "find"})


def add_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="policy files (default: the registered one)"
    )
    parser.add_argument("--strict", action="store_true", help="warnings fail, too")
    policy_files.add_layer(parser)
    act.add_places(parser)
    parser.set_defaults(usage=parser.error)


def run(args: argparse.Namespace) -> int:
    """Lint each policy."""
    options = options_from(door="cli", policy=None, config=args.config, state_dir=args.state_dir)
    registered = policy_files.registered_path(args)
    files = [Path(name) for name in args.files] or [one for one in [registered] if one is not None]
    if not files:
        args.usage("name a FILE: no policy is registered")
    roots = policy_files.registered_roots(args)
    found = [one for path in files for one in _findings(path, args.layer, roots, options)]
    if args.json:
        shown: list[Json] = [one.to_json() for one in found]
        say(canon.dumps({"findings": shown, "ok": not _fails(found, args)}).decode(), sys.stdout)
        return 2 if _fails(found, args) else 0
    for one in found:
        rule = f" {one.rule}:" if one.rule else ""
        where = f"{one.source}:{one.line}"
        level = one.severity.name.lower()
        say(text.escape(f"{where}: {level} {one.code}:{rule} {one.message}"), sys.stdout)
        if one.witness is not None:
            say(text.escape(f"    shown by {canon.dumps(one.witness).decode()}"), sys.stdout)
    counts = [f"{sum(one.severity is level for one in found)} {level.name.lower()}"
              for level in reversed(Severity)]  # fmt: skip
    say(f"{len(files)} policies: {', '.join(counts)}", sys.stdout)
    return 2 if _fails(found, args) else 0


def _fails(found: list[Finding], args: argparse.Namespace) -> bool:
    least = Severity.WARNING if args.strict else Severity.ERROR
    return any(one.severity >= least for one in found)


def _findings(
    path: Path, role: str | None, roots: Mapping[str, str] | None, options: Options
) -> tuple[Finding, ...]:
    try:
        loaded = policy_files.load_as(path, role, roots)
    except PolicyError as error:
        return (_refused(path, error),)
    layers = Layers(main=loaded)
    judge = judge_of(options, layers)
    try:
        return lint(judge.deciders[0], _known(loaded, layers, options))
    finally:
        judge.close()


def _known(loaded: LoadedPolicy, layers: Layers, options: Options) -> Known:
    apis = None if options.config is None else options.config.apis
    beneath = [f"{root}/{name}" for root in loaded.policy.roots.values() for name in STARTS]
    files = loaded.policy.document.files
    return Known(
        texts={name: Path(name).read_text(encoding="utf-8") for name in files},
        variables=variables(),
        programs=_GRAMMARS,
        apis={name: frozenset(api.operations) for name, api in apis.items()} if apis else None,
        own=(*beneath, *own_paths(options.places, layers)),
    )


def _refused(path: Path, error: PolicyError) -> Finding:
    return Finding(
        code="unusable",
        severity=Severity.ERROR,
        rule="",
        source=error.source or str(path),
        line=error.line or 1,
        message=error.detail,
    )
