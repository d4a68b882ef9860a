"""The command line: `main(argv)` parses, runs one command and returns its exit code."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from broker.cli import client, grant, init, options, serve, user
from broker.errors import BrokerError

_COMMANDS = (init, serve, user, client, grant)


def main(argv: list[str]) -> int:
    """Run one command; 0 when done, 1 when not."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    arguments = parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
    except BrokerError as error:
        sys.stderr.write(f"broker: {error}\n")
        return 1
    return code


def parser() -> options.Parser:
    """Build the parser with every command."""
    top = options.Parser(
        prog="python -m broker",
        description="Mint one credential for one decided call (see docs/wire.md).",
        epilog="example:\n  python -m broker init && python -m broker serve",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_common(top, config=Path("broker.toml"), as_json=False)
    commands = top.add_subparsers(required=True, metavar="COMMAND", parser_class=options.Parser)
    for command in _COMMANDS:
        command.add(commands)
    return top
