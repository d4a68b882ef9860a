"""The operator's configuration file, strict: unknown keys and wrong types are refused by name.

It says at which level and in which mode the gate stands, which policy is registered under which
digest, which projects' own policies a person trusts, which programs may be run beside those of the
fixed path, which API operations exist, and who the broker is. It holds no secret.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from gateway.decide.parse import refuse_nulls
from gateway.decide.yaml_strict import read
from gateway.errors import ConfigError, PolicyError
from gateway.model.catalogue import ApiOperation, Parameter

MAX_BYTES = 1_048_576
_VARIABLE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


_WORDS = {"extra_forbidden": "unknown key", "missing": "missing"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _absolute(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError("must be an absolute path")
    return value


def _origin(value: str) -> str:
    if not re.fullmatch(r"https?://(\[[0-9a-f:]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?", value):
        raise ValueError(
            "must be an origin such as https://api.example.com or http://127.0.0.1:8101"
        )
    loopback = re.match(r"http://(127\.0\.0\.1|\[::1\])(:|$)", value)
    if value.startswith("http:") and not loopback:
        raise ValueError("http is accepted for 127.0.0.1 and [::1] only")
    return value


AbsolutePath = Annotated[str, AfterValidator(_absolute)]
Origin = Annotated[str, AfterValidator(_origin)]
PolicyDigest = Annotated[str, Field(pattern=r"^policy-v1:sha256:[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class PolicyRef(_Strict):
    """The registered policy: where it is and what it was when a person registered it."""

    path: AbsolutePath
    digest: PolicyDigest


class ProjectRef(_Strict):
    """A project's own policy, and what it was when a person trusted it."""

    path: AbsolutePath
    digest: PolicyDigest


class ParameterConfig(_Strict):
    """One argument of an API operation."""

    type: Literal["string", "integer", "boolean", "array", "object"] = "string"
    required: bool = False
    max_length: Annotated[int, Field(ge=1, le=1_048_576)] = 65_536


class OperationConfig(_Strict):
    """One API operation; `{name}` in `path` is a required string argument of one segment."""

    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    path: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._~-]+|/\{[a-z][a-z0-9_]*\})+$")]
    scope: Annotated[str, Field(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]+$")]
    query: dict[str, ParameterConfig] = {}
    body: dict[str, ParameterConfig] = {}


class ApiConfig(_Strict):
    """One audience."""

    base_url: Origin
    operations: Annotated[dict[Name, OperationConfig], Field(min_length=1)]


class BrokerConfig(_Strict):
    """The broker, and who the gateway is there. `users`: OS user name -> broker user name."""

    issuer: Origin
    client_id: Name
    agent: Name
    users: Annotated[dict[str, Name], Field(min_length=1)]


def _once(projects: tuple[ProjectRef, ...]) -> tuple[ProjectRef, ...]:
    if len({one.path for one in projects}) < len(projects):
        raise ValueError("a path stands there twice")
    return projects


class Config(_Strict):
    """The whole file."""

    version: Literal[1]
    level: Literal["embedded", "same-user", "separate"] = "embedded"
    mode: Literal["enforce", "observe", "dry-run"] = "enforce"
    policy: PolicyRef | None = None
    projects: Annotated[tuple[ProjectRef, ...], AfterValidator(_once)] = ()
    programs: dict[Name, AbsolutePath] = {}
    apis: dict[Name, ApiConfig] = {}
    broker: BrokerConfig | None = None

    def catalogue(self) -> dict[str, dict[str, ApiOperation]]:
        """Return the API operations as plain values, by audience and name."""
        return {
            audience: {
                name: _operation(audience, api.base_url, name, operation)
                for name, operation in api.operations.items()
            }
            for audience, api in self.apis.items()
        }


def load_config(path: Path) -> Config | None:
    """Read the configuration; None when there is no file.

    Raises:
        ConfigError: it cannot be read or is wrong; the message names file and field.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    return parse_config(data, str(path))


def parse_config(data: bytes, source: str) -> Config:
    """Parse configuration bytes.

    Raises:
        ConfigError: the message names source, field and what is accepted.
    """
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{source}: larger than {MAX_BYTES} bytes")
    try:
        parsed = read(source, data)
        refuse_nulls(parsed)
        return Config.model_validate(parsed.value)
    except PolicyError as error:
        raise ConfigError(str(error)) from None
    except ValidationError as error:
        faults = [
            f"{source}: {'.'.join(map(str, fault['loc'])) or 'file'}: "
            + _WORDS.get(fault["type"], fault["msg"])
            for fault in error.errors(include_input=False, include_url=False)
        ]
        raise ConfigError("; ".join(faults)) from None


def _operation(audience: str, base_url: str, name: str, operation: OperationConfig) -> ApiOperation:
    return ApiOperation(
        audience=audience,
        name=name,
        base_url=base_url,
        method=operation.method,
        path=operation.path,
        scope=operation.scope,
        path_parameters={
            variable: Parameter(type="string", required=True, max_length=512)
            for variable in _VARIABLE.findall(operation.path)
        },
        query=_parameters(operation.query),
        body=_parameters(operation.body),
    )


def _parameters(parameters: dict[str, ParameterConfig]) -> dict[str, Parameter]:
    return {
        name: Parameter(type=spec.type, required=spec.required, max_length=spec.max_length)
        for name, spec in parameters.items()
    }
