"""The stage: a table from tool to the function that normalizes it; never raises.

What a request contains is answered by a refusal. A fault of our own is a refusal too, with reason
`internal_error`; the log names the exception's type and place, never a value.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from gateway.kit import canon
from gateway.model.action import Action, Refusal
from gateway.model.names import Operation
from gateway.model.request import ActionRequest
from gateway.normalize.api import api_call
from gateway.normalize.build import refused
from gateway.normalize.commands import normalize_command
from gateway.normalize.files import delete_file, list_directory, read_file, write_file
from gateway.normalize.others import mcp_call, mcp_prompt, mcp_resource, memory_write
from gateway.normalize.settings import Settings
from gateway.normalize.spelling import encodable
from gateway.normalize.url import net_request

_log: Final = logging.getLogger(__name__)
_MAX_TOOL: Final = 64

Normalizing: TypeAlias = Callable[[ActionRequest, Settings], Action]

TABLE: Final[Mapping[str, Normalizing]] = {
    "fs.read": read_file,
    "fs.list": list_directory,
    "fs.write": write_file,
    "fs.delete": delete_file,
    "shell.run": normalize_command,
    "net.request": net_request,
    "mcp.call": mcp_call,
    "mcp.resource": mcp_resource,
    "mcp.prompt": mcp_prompt,
    "memory.write": memory_write,
    "api.call": api_call,
}


@dataclass(frozen=True, slots=True)
class Normalize:
    """The normalizer of :mod:`gateway.model.ports`."""

    settings: Settings

    def normalize(self, request: ActionRequest) -> Action:
        """Return the action; what cannot be one comes back with a refusal."""
        if request.malformed:
            refusal = Refusal(reason="request_invalid", message=f"request: {request.malformed}")
            return refused(ActionRequest(tool="", params={}), Operation.UNKNOWN, refusal)
        try:
            canon.check([request.tool, request.id, request.actor, request.session, request.params])
            return self._normalize(request)
        except canon.JsonError as error:
            refusal = Refusal(reason="request_invalid", message=f"request: {error}")
        except Exception as error:  # noqa: BLE001 - a fault of ours denies; it never passes
            _log.error("normalize failed", extra={"fault": type(error).__name__})
            message = "counterfoil could not normalize this act; that is a defect"
            refusal = Refusal(reason="internal_error", message=message)
        tool = encodable(str(request.tool))[:_MAX_TOOL]
        bare = ActionRequest(tool=tool, params={})
        return refused(bare, _named(tool), refusal)

    def _normalize(self, request: ActionRequest) -> Action:
        normalizing = TABLE.get(request.tool)
        if normalizing is None:
            known = ", ".join(TABLE)
            message = f"tool {request.tool[:_MAX_TOOL]!r} is not known; known are {known}"
            refusal = Refusal(reason="tool_unknown", message=message)
            return refused(request, Operation.UNKNOWN, refusal)
        return normalizing(request, self.settings)


def _named(tool: str) -> Operation:
    try:
        return Operation(tool)
    except ValueError:
        return Operation.UNKNOWN
