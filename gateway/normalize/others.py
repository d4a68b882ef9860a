"""mcp.call, mcp.resource, mcp.prompt, memory.write: typed and judged; nothing executes them yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.kit import canon
from gateway.model.action import Action, Refusal
from gateway.model.names import MEMORY_SCOPES, MEMORY_SENSITIVITIES, Json, Operation
from gateway.model.request import ActionRequest
from gateway.model.resource import McpResource, MemoryResource
from gateway.normalize.build import Param, accepted, check_params, refused, text
from gateway.normalize.settings import Settings

_NAME: Final = Param(max_length=256)
_ARGUMENTS: Final = Param(kind="object", required=False)
_CALL: Final = {"server": _NAME, "tool": _NAME, "arguments": _ARGUMENTS}
_RESOURCE: Final = {"server": _NAME, "uri": Param(max_length=8192)}
_PROMPT: Final = {"server": _NAME, "name": _NAME, "arguments": _ARGUMENTS}
_MEMORY_WORDS: Final = {"scope": MEMORY_SCOPES, "sensitivity": MEMORY_SENSITIVITIES}
_MEMORY: Final = {"scope": _NAME, "sensitivity": _NAME, "content": Param()}


def mcp_call(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `mcp.call {server, tool, arguments?}`."""
    del settings
    return _mcp(request, Operation.MCP_CALL, _CALL, "tool")


def mcp_resource(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `mcp.resource {server, uri}`."""
    del settings
    return _mcp(request, Operation.MCP_RESOURCE, _RESOURCE, "uri")


def mcp_prompt(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `mcp.prompt {server, name, arguments?}`."""
    del settings
    return _mcp(request, Operation.MCP_PROMPT, _PROMPT, "name")


def memory_write(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `memory.write {scope, sensitivity, content}`."""
    del settings
    operation = Operation.MEMORY_WRITE
    refusal = check_params(request.tool, request.params, _MEMORY)
    if refusal is not None:
        return refused(request, operation, refusal)
    for name, known in _MEMORY_WORDS.items():
        if text(request.params, name) not in known:
            message = f"params.{name} is one of {', '.join(known)}"
            return refused(request, operation, Refusal(reason="params_invalid", message=message))
    content = text(request.params, "content").encode()
    resource = MemoryResource(
        scope=text(request.params, "scope"),
        sensitivity=text(request.params, "sensitivity"),
        size=len(content),
    )
    picture: dict[str, Json] = {
        "scope": resource.scope,
        "sensitivity": resource.sensitivity,
        "bytes": resource.size,
        "sha256": canon.sha256_hex(content),
        "content": text(request.params, "content"),
    }
    return accepted(request, operation, picture, resource)


def _mcp(
    request: ActionRequest, operation: Operation, params: Mapping[str, Param], name: str
) -> Action:
    refusal = check_params(request.tool, request.params, params)
    if refusal is not None:
        return refused(request, operation, refusal)
    given = request.params.get("arguments", {})
    resource = McpResource(
        operation=operation,
        server=text(request.params, "server"),
        name=text(request.params, name),
        arguments=given if isinstance(given, Mapping) else {},
    )
    picture: dict[str, Json] = {
        "server": resource.server,
        name: resource.name,
        "arguments": resource.arguments,
    }
    return accepted(request, operation, picture, resource)
