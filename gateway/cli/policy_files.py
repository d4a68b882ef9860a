"""Policy files named on the command line, each read as what it is meant to be."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from gateway.assembly.config import load_config
from gateway.assembly.layers import PROJECT_FILE, ROLES
from gateway.assembly.places import places
from gateway.assembly.policies import LoadedPolicy, load_policy
from gateway.errors import CounterfoilError


def add_layer(parser: argparse.ArgumentParser) -> None:
    """Add the option that says what a file is meant as."""
    parser.add_argument(
        "--layer",
        choices=ROLES,
        help="what it is meant as (default: project for .counterfoil.yaml, else user)",
    )


def load_as(path: Path, role: str | None, registered: Mapping[str, str] | None) -> LoadedPolicy:
    """Load a policy as a role; a layer beside the user's stands under the registered roots.

    Raises:
        PolicyError: it cannot be used; with file and line.
    """
    role = role or ("project" if path.name == PROJECT_FILE else "user")
    if role == "user":
        return load_policy(path)
    return load_policy(path, roots=registered, layer=role)


def registered_roots(args: argparse.Namespace) -> Mapping[str, str] | None:
    """Return the roots of the registered policy; None when none can be had."""
    try:
        path = registered_path(args)
        return None if path is None else load_policy(path).policy.roots
    except CounterfoilError:
        return None


def registered_path(args: argparse.Namespace) -> Path | None:
    """Return where the registered policy lies; None when none is registered.

    Raises:
        ConfigError: the configuration cannot be used.
    """
    config = load_config(places(config=args.config, state_dir=args.state_dir).config)
    return None if config is None or config.policy is None else Path(config.policy.path)
