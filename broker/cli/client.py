"""`client add|list|disable`: register gateways and resource servers by their public key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker.cli import options
from broker.config import NAME
from broker.errors import AdminError
from broker.grants import redirect
from broker.store import clients
from broker.store.clients import Client
from broker.tokens.keys import parse_jwk

if TYPE_CHECKING:
    import argparse

    from broker.config import Config

_EXAMPLE = (
    "client add gateway --kind gateway --jwk gateway.jwk --redirect-uri http://127.0.0.1/callback"
)


def add(commands: options.Commands) -> None:
    """Add the commands."""
    group = options.add_group(
        commands, "client", text="manage gateways and resource servers", example="client list"
    )
    parser = options.add_command(
        group, "add", add_client, text="register a client by its public key", example=_EXAMPLE
    )
    parser.add_argument("id", help="the client id")
    parser.add_argument("--kind", required=True, choices=("gateway", "resource"))
    parser.add_argument(
        "--jwk", required=True, type=Path, metavar="FILE", help="its public P-256 key as a JWK"
    )
    parser.add_argument(
        "--redirect-uri",
        action="append",
        default=[],
        metavar="URL",
        help="gateway: where consent may return to; may be repeated",
    )
    parser.add_argument("--audience", metavar="NAME", help="resource: the audience it speaks for")
    options.add_command(
        group, "list", list_clients, text="list the clients", example="client list --json"
    )
    parser = options.add_command(
        group,
        "disable",
        disable,
        text="shut a client out; its live tokens end at once",
        example="client disable gateway",
    )
    parser.add_argument("id")


def add_client(arguments: argparse.Namespace) -> int:
    """Register one client."""
    config, store = options.open_store(arguments)
    client = _checked(arguments, config)
    with store.write() as connection:
        if not clients.add(connection, client, now=options.now()):
            raise AdminError(f"client {client.id} exists already")
    store.close()
    options.show(arguments, _shown(client), [f"added client {client.id} ({client.kind})"])
    return 0


def list_clients(arguments: argparse.Namespace) -> int:
    """List every client."""
    _, store = options.open_store(arguments)
    with store.read() as connection:
        found = clients.all_clients(connection)
    store.close()
    lines = [
        f"{client.id}  {client.kind}  {'enabled' if client.enabled else 'disabled'}"
        for client in found
    ]
    options.show(arguments, [_shown(client) for client in found], lines)
    return 0


def disable(arguments: argparse.Namespace) -> int:
    """Shut one client out."""
    _, store = options.open_store(arguments)
    with store.write() as connection:
        if not clients.disable(connection, arguments.id):
            raise AdminError(f"client {arguments.id}: no such client")
    store.close()
    options.show(arguments, {"client": arguments.id}, [f"disabled client {arguments.id}"])
    return 0


def _checked(arguments: argparse.Namespace, config: Config) -> Client:
    if not NAME.fullmatch(arguments.id):
        raise AdminError(f"id: must fit {NAME.pattern}")
    try:
        jwk = arguments.jwk.read_text(encoding="utf-8")
        parse_jwk(jwk)
    except (OSError, ValueError) as error:
        raise AdminError(f"--jwk: {arguments.jwk}: {error}") from None
    if arguments.kind == "gateway":
        _check_gateway(arguments)
    else:
        _check_resource(arguments, config)
    return Client(
        id=arguments.id,
        kind=arguments.kind,
        audience=arguments.audience,
        jwk=jwk,
        redirect_uris=tuple(arguments.redirect_uri),
        enabled=True,
    )


def _check_gateway(arguments: argparse.Namespace) -> None:
    if arguments.audience is not None or not arguments.redirect_uri:
        raise AdminError("--kind gateway: needs --redirect-uri and has no --audience")
    for uri in arguments.redirect_uri:
        if (problem := redirect.problem(uri)) is not None:
            raise AdminError(f"--redirect-uri: {problem}")


def _check_resource(arguments: argparse.Namespace, config: Config) -> None:
    if arguments.audience is None or arguments.redirect_uri:
        raise AdminError("--kind resource: needs --audience and has no --redirect-uri")
    audience = config.catalogue.get(arguments.audience)
    if audience is None:
        raise AdminError(f"--audience: {arguments.audience!r} is not in the catalogue")
    if audience.resource_server != arguments.id:
        raise AdminError(
            f"id: the catalogue names {audience.resource_server!r} as this audience's server"
        )


def _shown(client: Client) -> dict[str, Any]:
    return {
        "id": client.id,
        "kind": client.kind,
        "audience": client.audience,
        "redirect_uris": list(client.redirect_uris),
        "kid": parse_jwk(client.jwk).kid,
        "enabled": client.enabled,
    }
