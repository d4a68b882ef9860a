"""`grant list|show|revoke`: what people allowed. No command shows a handle or an upstream token."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from broker.cli import options
from broker.errors import AdminError
from broker.store import grants

if TYPE_CHECKING:
    import argparse

    from broker.config import Config
    from broker.store.grants import Grant


def add(commands: options.Commands) -> None:
    """Add the commands."""
    group = options.add_group(
        commands, "grant", text="look at grants and end them", example="grant list"
    )
    parser = options.add_command(
        group, "list", list_grants, text="list grants", example="grant list --user alice"
    )
    parser.add_argument("--user", metavar="NAME", help="only this user's")
    parser = options.add_command(
        group, "show", show, text="show one grant", example="grant show GRANT_ID --json"
    )
    parser.add_argument("id")
    parser = options.add_command(
        group,
        "revoke",
        revoke,
        text="end a grant; every live token of it ends with it",
        example="grant revoke GRANT_ID",
    )
    parser.add_argument("id")


def list_grants(arguments: argparse.Namespace) -> int:
    """List grants, newest first."""
    config, store = options.open_store(arguments)
    with store.read() as connection:
        found = grants.all_grants(connection, user=arguments.user)
    store.close()
    lines = [f"{g.id}  {g.status}  {g.user} -> {g.agent}  {' '.join(g.scopes)}" for g in found]
    options.show(arguments, [_shown(config, grant) for grant in found], lines)
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Show one grant."""
    config, store = options.open_store(arguments)
    with store.read() as connection:
        grant = grants.get(connection, arguments.id)
    store.close()
    if grant is None:
        raise AdminError(f"grant {arguments.id}: no such grant")
    shown = _shown(config, grant)
    options.show(arguments, shown, [f"{name}: {value}" for name, value in shown.items()])
    return 0


def revoke(arguments: argparse.Namespace) -> int:
    """End one grant; ending it twice is fine."""
    _, store = options.open_store(arguments)
    with store.write() as connection:
        known = grants.get(connection, arguments.id) is not None
        grants.revoke(connection, arguments.id)
    store.close()
    if not known:
        raise AdminError(f"grant {arguments.id}: no such grant")
    options.show(arguments, {"grant": arguments.id}, [f"revoked grant {arguments.id}"])
    return 0


def _shown(config: Config, grant: Grant) -> dict[str, Any]:
    return asdict(grant) | {"audiences": config.audiences(grant.scopes)}
