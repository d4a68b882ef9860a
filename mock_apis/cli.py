"""`python -m mock_apis calendar|mail|files|naive`: run one API on loopback.

Every option may stand in a TOML file given with `--config`; a flag wins over the file. Refused with
exit code 1: an unknown key, a missing option, an address that is not loopback. One JSON line on
standard output says that the API answers; after that nothing more comes there.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from broker.errors import ConfigError
from broker.resource import ResourceConfig, assertion_source
from mock_apis import calendar, files, mail, naive, serving
from mock_apis.journal import Journal
from mock_apis.service import Wiring

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from flask import Flask

APIS: dict[str, ModuleType] = {"calendar": calendar, "mail": mail, "files": files}
NAIVE = "naive"
USAGE = 1

_Path = Annotated[Path, Field(strict=False)]


class Options(BaseModel):
    """What the file and the flags say together."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    journal: _Path
    listen: str = "127.0.0.1:0"
    fd: int | None = None
    issuer: str | None = None
    base_url: str | None = None
    client_id: str | None = None
    key: _Path | None = None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one API until SIGTERM or SIGINT; return the exit code."""
    parser = _parser()
    flags = vars(parser.parse_args(argv))
    api = flags.pop("api")
    config: Path | None = flags.pop("config")
    try:
        options = _options(
            config, {name: value for name, value in flags.items() if value is not None}
        )
        with (
            serving.listen(options.listen)
            if options.fd is None
            else serving.adopt(options.fd) as listener
        ):
            address = serving.address_of(listener)
            app = _application(api, options, base_url=options.base_url or address)
            serving.serve(app, listener, ready={"api": api, "address": address}, say=_say_at_once)
    except (ValueError, OSError, ConfigError) as error:
        parser.error(str(error))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mock_apis", description="Run one mock API on loopback.")
    parser.add_argument("api", choices=[*APIS, NAIVE])
    parser.add_argument("--config", type=Path, help="TOML file with the options below")
    parser.add_argument("--listen", help="HOST:PORT (default 127.0.0.1:0, a free port)")
    parser.add_argument("--fd", type=int, help="an inherited listening socket, instead of --listen")
    parser.add_argument("--issuer", help="the broker's issuer URL")
    parser.add_argument("--base-url", help="this API's URL as callers write it (default: address)")
    parser.add_argument("--client-id", help="this API's client id at the broker")
    parser.add_argument("--key", type=Path, help="PEM file with this API's P-256 key")
    parser.add_argument("--journal", type=Path, help="JSONL file to append to")
    return parser


def _options(config: Path | None, flags: dict[str, Any]) -> Options:
    stored = tomllib.loads(config.read_text(encoding="utf-8")) if config else {}
    try:
        return Options.model_validate({**stored, **flags})
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
            for item in error.errors(include_input=False, include_url=False)
        ]
        raise ValueError("; ".join(problems)) from None


def _application(api: str, options: Options, *, base_url: str) -> Flask:
    journal = Journal(options.journal, api=api, clock=_now)
    if api == NAIVE:
        issuer = naive.NaiveIssuer(
            key=secrets.token_bytes(32), clock=_now, new_secret=secrets.token_urlsafe
        )
        return naive.create_app(issuer=issuer, journal=journal)
    if not (options.issuer and options.client_id and options.key):
        raise ValueError(f"{api} needs --issuer, --client-id and --key")
    create_app: Callable[[Wiring], Flask] = APIS[api].create_app
    return create_app(
        Wiring(
            config=ResourceConfig(
                audience=APIS[api].AUDIENCE,
                base_url=base_url,
                issuer=options.issuer,
                introspection_url=f"{options.issuer}/introspect",
                client_id=options.client_id,
            ),
            assertion=assertion_source(
                options.key,
                client_id=options.client_id,
                issuer=options.issuer,
                clock=_now,
                new_id=secrets.token_urlsafe,
            ),
            clock=_now,
            journal=journal,
        )
    )


def _now() -> int:
    return int(time.time())


def _say_at_once(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()
