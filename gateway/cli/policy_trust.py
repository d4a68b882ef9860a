"""`counterfoil policy trust`: register what a policy file says now.

For the registered policy, or another file in its place. For a project's own `.counterfoil.yaml` in
the first root: its allows and asks count from then on, as long as its digest stays. A file that
could not be used, or whose examples do not hold, is refused. It asks the person at the terminal.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from gateway.assembly.build import check_apart
from gateway.assembly.config import Config, PolicyRef, load_config
from gateway.assembly.layers import PROJECT_FILE, project_of, project_path
from gateway.assembly.places import Places, places
from gateway.assembly.policies import load_policy
from gateway.assembly.setup import register, trust_project
from gateway.cli import act
from gateway.cli.confirm import confirm
from gateway.cli.main import say
from gateway.decide.compile import Policy
from gateway.decide.examples import check_examples
from gateway.errors import ConfigError
from gateway.kit import text as texts

_SHOWN = 20


def add_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    act.add_places(parser)
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help=f"default: the registered file; or a project's {PROJECT_FILE}",
    )


def run(args: argparse.Namespace) -> int:
    """Show what would be trusted, ask, write it down."""
    where = places(config=args.config, state_dir=args.state_dir)
    config = load_config(where.config)
    if config is None or config.policy is None:
        raise ConfigError(f"{where.config}: no policy is registered; run `counterfoil init`")
    path = Path(os.path.abspath(args.file or config.policy.path))  # noqa: PTH100
    if path.name == PROJECT_FILE:
        return _trust_project(where, config, config.policy, path)
    policy = load_policy(path).policy
    if (str(path), policy.digest) == (config.policy.path, config.policy.digest):
        say(f"{path}: is registered as it is", sys.stdout)
        return 0
    check_apart(where, policy.roots)
    _check_examples(policy)
    confirm(
        f"Register {path}\n  now  {policy.digest} ({len(policy.rules)} rules)\n"
        f"  was  {config.policy.digest} ({config.policy.path})"
    )
    register(where, config, path=str(path), digest=policy.digest)
    say(f"registered {path}", sys.stdout)
    return 0


def _trust_project(where: Places, config: Config, user: PolicyRef, path: Path) -> int:
    registered = load_policy(Path(user.path), digest=user.digest).policy
    wanted = project_path(registered)
    if Path(os.path.realpath(path.parent)) / path.name != wanted:
        raise ConfigError(f"{path}: the project's policy of the registered one is {wanted}")
    project = project_of(registered)
    if project is None:
        raise ConfigError(f"{path}: no such file")
    policy = project.policy
    if any((one.path, one.digest) == (str(wanted), policy.digest) for one in config.projects):
        say(f"{wanted}: is trusted as it is", sys.stdout)
        return 0
    _check_examples(policy)
    confirm(f"Trust {wanted}\n  {policy.digest} ({len(policy.rules)} rules)\n{_opens(policy)}")
    trust_project(where, config, path=str(wanted), digest=policy.digest)
    say(f"trusted {wanted}", sys.stdout)
    return 0


def _opens(policy: Policy) -> str:
    """Return what its allows and asks would open, a line each."""
    lines = [
        texts.escape(f"{operation}: {summary}")
        for operation, summaries in policy.granting.items()
        for summary in summaries
    ]
    more = [f"... and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join(f"  opens {line}" for line in [*lines[:_SHOWN], *more]) or "  opens nothing"


def _check_examples(policy: Policy) -> None:
    for fault in check_examples(policy):
        raise fault
