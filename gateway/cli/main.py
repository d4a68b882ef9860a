"""Entry point of `counterfoil`.

Exit status: 0 allowed, done, verified; 1 usage, or executed and failed; 2 denied (every deny) or
check failed; 3 an ask pending. argparse would exit 2 for usage, which means deny here: it is 1.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Never, TextIO

from gateway import __version__
from gateway.errors import CounterfoilError

# verb -> one line of help; the module gateway.cli.<verb> is imported only when it is needed.
VERBS: Final[dict[str, str]] = {
    "init": "create keys and configuration, write and register a starter policy",
    "check": "decide acts, record the decisions, execute nothing",
    "run": "decide an act and, if it is allowed, execute it",
    "explain": "show every rule considered for an act; leaves no trace",
    "why": "show what the log says of one act, and the rule that decided it",
    "policy": "check, test, try out a policy, or register a changed one",
    "session": "show or clear what the log says about the session",
    "connect": "ask a broker user for a grant",
    "audit": "verify, read and repair the log",
    "status": "show level, policy, log, session and grants",
    "broker": "run the broker's own commands (python -m broker)",
}

EXAMPLES: Final = """\
examples:
  counterfoil init
  counterfoil check fs.read path=README.md
  counterfoil run shell.run command_line='grep -rn TODO src | head -n 5'
  counterfoil run shell.run -- git log --oneline -5
  counterfoil run api.call audience=calendar-api operation=events.read arguments:='{}'
  counterfoil audit verify

exit status: 0 allowed or done, 1 usage or failed, 2 denied, 3 would ask a person
"""


class Parser(argparse.ArgumentParser):
    """argparse, with exit status 1 for usage errors."""

    def error(self, message: str) -> Never:
        """Print usage and the fault to stderr, exit 1."""
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def build_parser(verb: str | None) -> Parser:
    """Return the parser; only the named verb gets its own options (imports stay few)."""
    parser = Parser(
        prog="counterfoil",
        description="The gate between an AI agent and everything it can touch.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"counterfoil {__version__}")
    verbs = parser.add_subparsers(
        dest="verb", metavar="VERB", required=True, parser_class=Parser, title="verbs"
    )
    for name, text in VERBS.items():
        if name == verb and name != "broker":
            importlib.import_module(f"gateway.cli.{name}").add_parser(verbs, text)
        else:
            verbs.add_parser(name, help=text, add_help=False)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="counterfoil: %(message)s")
    if sys.platform != "linux":
        say("counterfoil runs on Linux only; see docs/limitations.md", sys.stderr)
        return 2
    if words[:1] == ["broker"]:
        os.execv(sys.executable, [sys.executable, "-m", "broker", *words[1:]])  # noqa: S606
    words, argv = split_argv(words)
    verb = next((word for word in words if not word.startswith("-")), None)
    try:
        args = build_parser(verb).parse_args(words)
        args.argv = argv
        status: int = importlib.import_module(f"gateway.cli.{args.verb}").run(args)
        sys.stdout.flush()
    except CounterfoilError as error:
        say(f"counterfoil: {error.code}: {error}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        say("counterfoil: interrupted; what had begun is in the log", sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:  # noqa: BLE001 - an exception is a deny, its text may hold a value
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        say(f"counterfoil: internal_error: {what}; this is a defect, please report it", sys.stderr)
        return 2
    return status


def split_argv(words: list[str]) -> tuple[list[str], list[str] | None]:
    """Split off the argv list behind the first `--`; it belongs to the act, not to us."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def say(line: str, stream: TextIO) -> None:
    """Write one line; the only way commands print."""
    stream.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
