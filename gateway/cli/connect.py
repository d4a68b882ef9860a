"""`counterfoil connect`: ask a broker user for a grant (ADR 0002).

Prints the address of the broker's consent page on stdout, opens it in the browser unless told
not to, waits for the answer on a loopback address, and keeps the grant handle in the state
directory. The handle is never shown.
"""

from __future__ import annotations

import argparse
import sys
import webbrowser

from gateway.assembly.build import broker_client
from gateway.assembly.config import load_config
from gateway.assembly.places import places
from gateway.cli import act
from gateway.cli.main import say
from gateway.errors import ConfigError
from gateway.execute.consent import connect
from gateway.execute.grants import Grants
from gateway.kit import canon
from gateway.model.names import Json

TIMEOUT_S = 300


def add_parser(verbs: argparse._SubParsersAction[argparse.ArgumentParser], text: str) -> None:
    """Add the verb."""
    parser = verbs.add_parser("connect", help=text, description=text)
    act.add_places(parser)
    parser.add_argument("scopes", nargs="+", metavar="SCOPE", help="such as calendar.read")
    parser.add_argument("--purpose", metavar="TEXT", help="shown on the consent page")
    parser.add_argument(
        "--timeout", type=int, default=TIMEOUT_S, metavar="S", help="seconds to wait"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(args: argparse.Namespace) -> int:
    """Get a grant and keep it."""
    where = places(config=args.config, state_dir=args.state_dir)
    config = load_config(where.config)
    if config is None or config.broker is None:
        raise ConfigError(f"{where.config}: broker: missing; see docs/configuration.md")

    def show(url: str) -> None:
        say(url, sys.stdout)
        sys.stdout.flush()
        say("open this address, log in and decide; waiting ...", sys.stderr)
        if not args.no_browser:
            webbrowser.open(url)

    grant = connect(
        broker_client(config.broker, where),
        agent=config.broker.agent,
        scopes=args.scopes,
        purpose=args.purpose,
        show=show,
        timeout_s=args.timeout,
    )
    Grants(directory=where.state).add(grant)
    audiences = {name: list(scopes) for name, scopes in grant.audiences.items()}
    if args.json:
        told: dict[str, Json] = {
            "grant_id": grant.grant_id,
            "user": grant.user,
            "agent": grant.agent,
            "audiences": audiences,
            "expires_at": grant.expires_at,
        }
        say(canon.dumps(told).decode(), sys.stdout)
    else:
        say(f"granted by {grant.user} to {grant.agent}: {audiences}", sys.stderr)
    return 0
