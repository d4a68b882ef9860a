"""The operator's catalogue of API operations and the declared roots, as plain values.

Assembly makes them from the configuration and the policy; normalize types calls and paths by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ParameterType = Literal["string", "integer", "boolean", "array", "object"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of an API operation. `max_length` counts characters (string) or items."""

    type: ParameterType
    required: bool = False
    max_length: int = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperation:
    """One operation of one audience.

    Arguments named in `path_parameters` fill the `{name}` segments of `path`, those in `query` the
    query, those in `body` the JSON body; an argument in none of them is refused.
    """

    audience: str
    name: str
    base_url: str
    method: str
    path: str
    scope: str
    path_parameters: Mapping[str, Parameter]
    query: Mapping[str, Parameter]
    body: Mapping[str, Parameter]


@dataclass(frozen=True, slots=True, kw_only=True)
class RootPath:
    """A declared root: `name` as in the policy, `path` absolute and without symlinks."""

    name: str
    path: str
