"""api.call: one operation of the operator's catalogue, typed, and the exact request it makes.

The request names audience, operation and arguments; scope, method and URL come from the catalogue
alone. Each argument is in the catalogue's path, query or body and has its type and length; another,
a missing or a wrongly typed one is `api_arguments`. A path argument fills exactly one segment: an
empty one, `.`, `..`, and any with a slash, backslash or control character is refused, since servers
decode those differently. URL and body are built the same way each time, and are what is sent.

Source: RFC 3986 sections 2.1, 3.3; RFC 8259.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from gateway.errors import InvariantError
from gateway.kit import canon
from gateway.model.action import Action, Refusal
from gateway.model.catalogue import ApiOperation, Parameter
from gateway.model.names import Json, Operation
from gateway.model.plan import CallApi
from gateway.model.request import ActionRequest
from gateway.model.resource import ApiResource
from gateway.normalize.build import Param, accepted, check_params, refused, text
from gateway.normalize.settings import Settings
from gateway.normalize.url import parse_url

_API_CALL: Final = {
    "audience": Param(max_length=256),
    "operation": Param(max_length=256),
    "arguments": Param(kind="object", required=False, max_length=256),
}
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


def api_call(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `api.call {audience, operation, arguments?}`."""
    refusal = check_params(request.tool, request.params, _API_CALL)
    if refusal is not None:
        return refused(request, Operation.API_CALL, refusal)
    operation = _find(settings, text(request.params, "audience"), text(request.params, "operation"))
    if isinstance(operation, Refusal):
        return refused(request, Operation.API_CALL, operation)
    given = request.params.get("arguments", {})
    arguments = given if isinstance(given, Mapping) else {}
    resource = ApiResource(
        audience=operation.audience,
        api_operation=operation.name,
        scope=operation.scope,
        arguments=arguments,
    )
    refusal = _check(operation, arguments)
    if refusal is not None:
        return refused(request, Operation.API_CALL, refusal, resource)
    url = _url(operation, arguments)
    if isinstance(url, Refusal):
        return refused(request, Operation.API_CALL, url, resource)
    plan = CallApi(
        audience=operation.audience,
        api_operation=operation.name,
        scope=operation.scope,
        method=operation.method,
        url=url,
        body=_body(operation, arguments),
        arguments=arguments,
    )
    picture: dict[str, Json] = {
        "audience": plan.audience,
        "api_operation": plan.api_operation,
        "scope": plan.scope,
        "method": plan.method,
        "url": plan.url,
        "arguments": arguments,
    }
    return accepted(request, Operation.API_CALL, picture, resource, plan=plan)


def _find(settings: Settings, audience: str, name: str) -> ApiOperation | Refusal:
    operations = settings.apis.get(audience)
    if operations is None:
        known = ", ".join(sorted(settings.apis)) or "none"
        message = f"params.audience {audience[:64]!r} is not known; known are {known}"
        return Refusal(reason="api_unknown_operation", message=message)
    operation = operations.get(name)
    if operation is None:
        known = ", ".join(sorted(operations)) or "none"
        message = f"params.operation {name[:64]!r} of {audience} is not known; known are {known}"
        return Refusal(reason="api_unknown_operation", message=message)
    return operation


def _parameters(operation: ApiOperation) -> dict[str, Parameter]:
    return {**operation.path_parameters, **operation.query, **operation.body}


def _check(operation: ApiOperation, arguments: Mapping[str, Json]) -> Refusal | None:
    parameters = _parameters(operation)
    problem = next(filter(None, (_problem(name, arguments, parameters) for name in arguments)), "")
    for name, parameter in parameters.items():
        needed = parameter.required or name in operation.path_parameters
        if not problem and needed and name not in arguments:
            problem = f"arguments.{name} is missing"
    if not problem:
        return None
    known = ", ".join(
        f"{name} ({one.type}{', required' if one.required else ''}, at most {one.max_length})"
        for name, one in parameters.items()
    )
    message = f"{problem}; {operation.name} accepts {known or 'no arguments'}"
    return Refusal(reason="api_arguments", message=message)


def _problem(
    name: str, arguments: Mapping[str, Json], parameters: Mapping[str, Parameter]
) -> str | None:
    parameter = parameters.get(name)
    if parameter is None:
        return f"arguments.{name[:64]!r} is not known"
    value = arguments[name]
    if not isinstance(value, _TYPES[parameter.type]) or (
        parameter.type == "integer" and isinstance(value, bool)
    ):
        return f"arguments.{name} is not of type {parameter.type}"
    if isinstance(value, (str, list, tuple, Mapping)) and len(value) > parameter.max_length:
        return f"arguments.{name} is longer than {parameter.max_length}"
    return None


def _url(operation: ApiOperation, arguments: Mapping[str, Json]) -> str | Refusal:
    """Build the URL; what the URL rules make of it must be the same, or nothing is sent."""
    path = operation.path
    for name in operation.path_parameters:
        segment = _scalar(arguments[name])
        if not _is_segment(segment):
            message = (
                f"arguments.{name} stands in the URL's path: not empty, `.` or `..`,"
                " no slash, backslash or control character"
            )
            return Refusal(reason="api_arguments", message=message)
    path = _PLACEHOLDER.sub(lambda match: quote(_scalar(arguments[match[1]]), safe=""), path)
    pairs = [
        f"{quote(name, safe='')}={quote(_scalar(item), safe='')}"
        for name in sorted(operation.query)
        if name in arguments
        for item in _items(arguments[name])
    ]
    spelled = operation.base_url.rstrip("/") + path + ("?" + "&".join(pairs) if pairs else "")
    parts = parse_url(spelled)
    if isinstance(parts, Refusal):
        message = f"the arguments make a URL that is refused: {parts.message}"
        return Refusal(reason="api_arguments", message=message)
    if not parts.href.endswith(spelled.split("://", 1)[1].partition("/")[2]):
        raise InvariantError("the URL is not the one that was built")
    return parts.href


def _is_segment(segment: str) -> bool:
    return segment not in {"", ".", ".."} and not any(
        char in "/\\" or unicodedata.category(char) == "Cc" for char in segment
    )


def _items(value: Json) -> list[Json]:
    """Return the values of one query name: an array stands there once for each item."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _scalar(value: Json) -> str:
    """Return a value as URL text; what is no string is canonical JSON."""
    return value if isinstance(value, str) else canon.dumps(value).decode()


def _body(operation: ApiOperation, arguments: Mapping[str, Json]) -> bytes | None:
    """Return the canonical JSON body, or None for an operation without one."""
    if not operation.body:
        return None
    return canon.dumps({name: arguments[name] for name in operation.body if name in arguments})
