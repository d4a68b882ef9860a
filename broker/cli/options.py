"""What the commands share: a parser whose usage errors exit 1, the options, the output.

Exit codes: 0 done, 1 a usage error or a command that could not be done. A refusal is one line on
stderr. With `--json` the answer is one JSON value on stdout. Passwords and private keys are never
arguments.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from broker.config import load
from broker.store.database import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from broker.config import Config

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 (no public name)
    Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An argument parser that exits 1, since 2 means "denied" across this project."""

    def error(self, message: str) -> NoReturn:
        """Report a usage error."""
        self.exit(1, f"{self.format_usage()}{self.prog}: {message}\n")


def add_command(commands: Commands, name: str, run: Run | None, *, text: str, example: str) -> Any:
    """Add a command with its help, its example and the options every command has."""
    parser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=f"example:\n  python -m broker {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_common(parser, config=argparse.SUPPRESS, as_json=argparse.SUPPRESS)
    if run is not None:
        parser.set_defaults(run=run)
    return parser


def add_common(parser: argparse.ArgumentParser, *, config: object, as_json: object) -> None:
    """Add `--config` and `--json`."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        default=config,
        help="the configuration file (default: broker.toml in this folder)",
    )
    parser.add_argument(
        "--json", action="store_true", default=as_json, help="print one JSON value on stdout"
    )


def add_group(commands: Commands, name: str, *, text: str, example: str) -> Commands:
    """Add a command that only has commands of its own."""
    parser = add_command(commands, name, None, text=text, example=example)
    group: Commands = parser.add_subparsers(required=True, metavar="COMMAND")
    return group


def open_store(arguments: argparse.Namespace) -> tuple[Config, Store]:
    """Load the configuration and check its database."""
    config = load(arguments.config)
    store = Store(Path(config.database))
    store.check()
    return config, store


def now() -> int:
    """Tell the time for what a command writes."""
    return int(time.time())


def show(arguments: argparse.Namespace, value: object, lines: Iterable[str]) -> None:
    """Print the answer: `value` with `--json`, else the lines."""
    text = json.dumps(value) if arguments.json else "\n".join(lines)
    if text:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
