"""The words every room uses: effects, operations, tools, statuses.

`Effect` is ordered by strictness so that combining verdicts is `max`. Operations are what rules
speak of; tools are what requests name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Final, TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


class Effect(IntEnum):
    """`allow` < `ask` < `deny`; the act takes the strictest."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def word(self) -> str:
        """The word used in policy, records and answers."""
        return self.name.lower()


class Operation(StrEnum):
    """What rules speak of."""

    FS_READ = "fs.read"
    FS_LIST = "fs.list"
    FS_WRITE = "fs.write"
    FS_DELETE = "fs.delete"
    SHELL_RUN = "shell.run"
    GIT_READ = "git.read"
    GIT_WRITE = "git.write"
    GIT_REMOTE = "git.remote"
    NET_REQUEST = "net.request"
    MCP_CALL = "mcp.call"
    MCP_RESOURCE = "mcp.resource"
    MCP_PROMPT = "mcp.prompt"
    MEMORY_WRITE = "memory.write"
    API_CALL = "api.call"
    UNKNOWN = "unknown"


FS_OPERATIONS: Final = frozenset(
    {Operation.FS_READ, Operation.FS_LIST, Operation.FS_WRITE, Operation.FS_DELETE}
)
COMMAND_OPERATIONS: Final = frozenset(
    {Operation.SHELL_RUN, Operation.GIT_READ, Operation.GIT_WRITE, Operation.GIT_REMOTE}
)
# Always leaves the machine, whatever its resources are. Commands with network and writes outside
# the roots are egress too; the resource says so (see Resource.egress).
EGRESS_OPERATIONS: Final = frozenset(
    {
        Operation.API_CALL,
        Operation.NET_REQUEST,
        Operation.MCP_CALL,
        Operation.MCP_RESOURCE,
        Operation.GIT_REMOTE,
        Operation.MEMORY_WRITE,
    }
)

TOOLS: Final = (
    "fs.read",
    "fs.list",
    "fs.write",
    "fs.delete",
    "shell.run",
    "net.request",
    "mcp.call",
    "mcp.resource",
    "mcp.prompt",
    "memory.write",
    "api.call",
)

# Of memory.write, from the narrowest and the least sensitive on.
MEMORY_SCOPES: Final = ("session", "project", "global")
MEMORY_SENSITIVITIES: Final = ("low", "medium", "high")


class Status(StrEnum):
    """How an execution ended; `unknown` is never retried by itself."""

    DONE = "done"
    FAILED = "failed"
    NOT_STARTED = "not_started"
    UNKNOWN = "unknown"


class Taint(StrEnum):
    """What a session has done with secrets; both stop egress on every surface."""

    ATTEMPTED = "attempted"  # a secret was named, and denied
    EXPOSED = "exposed"  # a secret really came back
