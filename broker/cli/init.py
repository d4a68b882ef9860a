"""`init`: write what is missing (configuration with the demo catalogue, keys, database).

It never overwrites: what exists is kept and named as kept. The configuration that stands in the
end is loaded, so that `init` fails rather than leave one that `serve` refuses.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from broker.app import SEAL_KEY_FILE, SIGNING_KEY_FILE
from broker.cli import options
from broker.config import load, write_private
from broker.errors import AdminError
from broker.store.database import Store
from broker.store.sealed import KEY_BYTES
from broker.tokens.keys import new_signing_key

if TYPE_CHECKING:
    import argparse

# audience -> (port, {operation: (method, path, scope)}, {scope: what the person reads})
_DEMO: dict[str, tuple[int, dict[str, tuple[str, str, str]], dict[str, str]]] = {
    "calendar-api": (
        8101,
        {
            "events.read": ("GET", "/v1/events", "calendar.read"),
            "events.create": ("POST", "/v1/events", "calendar.write"),
        },
        {
            "calendar.read": "Read the events in your calendar",
            "calendar.write": "Add events to your calendar",
        },
    ),
    "mail-api": (
        8102,
        {
            "messages.read": ("GET", "/v1/messages", "mail.read"),
            "messages.send": ("POST", "/v1/messages/send", "mail.send"),
            "messages.delete": ("DELETE", "/v1/messages/{id}", "mail.delete"),
        },
        {
            "mail.read": "Read your mail",
            "mail.send": "Send mail in your name",
            "mail.delete": "Delete your mail",
        },
    ),
    "files-api": (
        8103,
        {
            "files.list": ("GET", "/v1/files", "files.read"),
            "files.read": ("GET", "/v1/files/{name}", "files.read"),
            "files.write": ("PUT", "/v1/files/{name}", "files.write"),
        },
        {"files.read": "List and read your files", "files.write": "Write your files"},
    ),
}


def add(commands: options.Commands) -> None:
    """Add the command."""
    parser = options.add_command(
        commands,
        "init",
        run,
        text="write a configuration with the demo catalogue, keys and database, where missing",
        example="init --config broker.toml --port 8100 --base-url mail-api=http://127.0.0.1:9102",
    )
    parser.add_argument(
        "--port", type=int, default=8100, help="loopback port of issuer and listener (8100)"
    )
    parser.add_argument(
        "--base-url",
        action="append",
        default=[],
        metavar="AUDIENCE=URL",
        help="where a demo API listens instead of its usual port; may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Create what is missing."""
    path: Path = arguments.config
    content = demo_config(port=arguments.port, base_urls=_base_urls(arguments.base_url))
    made = {str(path): write_private(path, content.encode())}
    config = load(path)
    keys = Path(config.keys)
    for name, key in (
        (SIGNING_KEY_FILE, new_signing_key()),
        (SEAL_KEY_FILE, secrets.token_bytes(KEY_BYTES)),
    ):
        made[str(keys / name)] = write_private(keys / name, key)
    store = Store(Path(config.database))
    made[config.database] = store.create()
    store.close()
    lines = [f"{'made' if new else 'kept'} {name}" for name, new in made.items()]
    options.show(arguments, made, lines)
    return 0


def demo_config(*, port: int, base_urls: dict[str, str]) -> str:
    """Write the demo configuration as TOML."""
    lines = [
        f'issuer = "http://127.0.0.1:{port}"',
        'database = "broker.db"',
        'keys = "broker-keys"',
        "max_grant_days = 30",
        "",
        "[listen]",
        'host = "127.0.0.1"',
        f"port = {port}",
    ]
    for name, (api_port, operations, scopes) in _DEMO.items():
        base_url = base_urls.get(name, f"http://127.0.0.1:{api_port}")
        lines += [
            "",
            f"[catalogue.{name}]",
            f"base_url = {json.dumps(base_url)}",
            f'resource_server = "{name}"',
            f"[catalogue.{name}.scopes]",
            *(f'"{scope}" = {json.dumps(text)}' for scope, text in scopes.items()),
            f"[catalogue.{name}.operations]",
            *(
                f'"{operation}" = {{ method = "{method}", path = "{path}", scope = "{scope}" }}'
                for operation, (method, path, scope) in operations.items()
            ),
        ]
    return "\n".join([*lines, ""])


def _base_urls(given: list[str]) -> dict[str, str]:
    pairs = dict(item.partition("=")[::2] for item in given)
    if unknown := pairs.keys() - _DEMO.keys():
        raise AdminError(
            f"--base-url: {min(unknown)!r} is not a demo audience ({', '.join(_DEMO)})"
        )
    return pairs
