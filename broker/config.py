"""`broker.toml`: what the broker is and the catalogue of what it may mint for.

The file is read once, strictly. Refused, each with the field's name: an unknown key, a wrong type,
an issuer or base URL that is neither https nor loopback http, a scope that belongs to two
audiences, an operation whose scope its audience does not have, a resource server named twice, a
path template that is not plain segments and `{variables}`. The catalogue decides which scope,
method and path an operation has; nothing a caller sends changes it.

Source: RFC 8414 section 2 (issuer), RFC 8252 section 7.3 (loopback).
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as _model_validator

from broker.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

DAY_S = 86_400
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "[::1]", "localhost"})
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
SCOPE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:-]{0,63}")

_ORIGIN = r"(?P<scheme>https?)://(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::[1-9][0-9]{0,4})?"
_BASE_URL = re.compile(_ORIGIN + r"(?:/[A-Za-z0-9._~-]+)*")
_ISSUER = re.compile(_ORIGIN)
_SEGMENT = re.compile(r"[A-Za-z0-9._~-]+|\{[a-z][a-z0-9_]*\}")

_Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
_Scope = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,63}$")]
_Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Method = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3,10}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Listen(_Strict):
    """Where the server listens; a proxy or `--fd` may stand in front."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8100


class Operation(_Strict):
    """One call a resource server offers: its method, path template and the one scope it needs."""

    method: _Method
    path: str
    scope: _Scope

    @_model_validator(mode="after")
    def _plain_path(self) -> Self:
        head, *segments = self.path.split("/")
        if head or not segments or not all(_SEGMENT.fullmatch(part) for part in segments):
            raise ValueError("path: write '/' and plain segments or {variables}")
        if any(part in {".", ".."} for part in segments):
            raise ValueError("path: a dot segment is not allowed")
        return self


class Audience(_Strict):
    """One resource server: where it is, which client speaks for it, what it offers."""

    base_url: str
    resource_server: _Name
    scopes: Annotated[dict[_Scope, _Text], Field(min_length=1)]
    operations: Annotated[dict[_Name, Operation], Field(min_length=1)]

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_url("base_url", self.base_url, _BASE_URL)
        for name, operation in self.operations.items():
            if operation.scope not in self.scopes:
                raise ValueError(
                    f"operations.{name}.scope: {operation.scope!r} is not among this audience's"
                    " scopes; add it there or correct it"
                )
        return self


class Config(_Strict):
    """The whole configuration; `load` is the way to get one."""

    issuer: str
    listen: Listen = Listen()
    database: Annotated[str, Field(min_length=1)]
    keys: Annotated[str, Field(min_length=1)]
    max_grant_days: Annotated[int, Field(ge=1, le=365)] = 30
    catalogue: Annotated[dict[_Name, Audience], Field(min_length=1)]

    @_model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_url("issuer", self.issuer, _ISSUER)
        owners: dict[str, str] = {}
        servers: dict[str, str] = {}
        for name, audience in self.catalogue.items():
            for scope in audience.scopes:
                if owners.setdefault(scope, name) != name:
                    raise ValueError(
                        f"catalogue.{name}.scopes: {scope!r} belongs to {owners[scope]!r} already;"
                        " a scope has one audience"
                    )
            if servers.setdefault(audience.resource_server, name) != name:
                raise ValueError(
                    f"catalogue.{name}.resource_server: {audience.resource_server!r} speaks for"
                    f" {servers[audience.resource_server]!r} already"
                )
        return self

    def audience_of(self, scope: str) -> str | None:
        """Name the audience a scope belongs to, or None when no audience has it."""
        return next((n for n, a in self.catalogue.items() if scope in a.scopes), None)

    def audiences(self, scopes: tuple[str, ...]) -> dict[str, list[str]]:
        """Sort scopes by audience, in the catalogue's order; unknown scopes are left out."""
        found = {
            name: [scope for scope in scopes if scope in audience.scopes]
            for name, audience in self.catalogue.items()
        }
        return {name: names for name, names in found.items() if names}


def load(path: Path) -> Config:
    """Read `path`; relative database and key paths are taken from the file's own folder."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; create it with `python -m broker init`") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    for field in ("database", "keys"):
        if isinstance(data.get(field), str) and data[field]:
            data[field] = str(path.absolute().parent / data[field])
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'file'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)
        )
        raise ConfigError(f"{path}: {problems}") from None


def _check_url(field: str, value: str, form: re.Pattern[str]) -> None:
    match = form.fullmatch(value)
    if match is None:
        raise ValueError(
            f"{field}: write scheme://host or scheme://host:port in lower case, without user,"
            " query, fragment or slash at the end"
        )
    if match["scheme"] == "http" and match["host"] not in LOOPBACK_HOSTS:
        raise ValueError(f"{field}: plain http is for loopback only; use https")


def read_private(path: Path) -> bytes:
    """Read a key file; refuse one that group or others may touch."""
    try:
        if path.stat().st_mode & 0o077:
            raise ConfigError(f"keys: {path} is open to others; run chmod 600 on it")
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"keys: {path}: {error.strerror}; `python -m broker init` makes missing keys"
        ) from None


def write_private(path: Path, content: bytes) -> bool:
    """Create a key file with mode 0600; False, and nothing changed, when it exists."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return True
