"""What an act touches: each resource is judged alone by `decide`.

Resources carry facts that normalization found on the real object (descriptor, executable, parsed
URL); deciding needs no further look at the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gateway.model.names import Json, Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class PathResource:
    """A file or directory.

    `path`: absolute, what the descriptor really is; for a path outside every root, the spelling.
    `also`: other names of the same object: the spelling when it differs, and the paths
    of the same device and inode that a protected entry or a deny speaks of. A deny matches any
    name; an allow must match `path`.
    `root`: name of the declared root above it, None when outside every root.
    `links`: hard link count (1 for directories and for what does not exist yet).
    `size`: how many bytes a write would put there, else 0.
    `named`: whether the request names it; False for what a recursive walk would merely reach.
    """

    operation: Operation
    path: str
    also: tuple[str, ...] = ()
    root: str | None = None
    links: int = 1
    size: int = 0
    named: bool = True

    @property
    def egress(self) -> bool:
        """A write outside every root leaves what we watch."""
        return self.root is None and self.operation is Operation.FS_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResource:
    """One argv list that would be started.

    `program`: the grammar's name (`cat`), or the base name when no grammar knows it.
    `executable`: absolute path of the resolved program. `argv`: as asked, argv[0] included.
    `grammar`: whether a grammar parsed it; without one only an exact `commands` rule can allow it.
    `network`: whether it may reach the network.
    """

    operation: Operation
    program: str
    executable: str
    argv: tuple[str, ...]
    cwd: str
    grammar: bool
    network: bool = False

    @property
    def egress(self) -> bool:
        """Commands with network, and every remote git act, are egress."""
        return self.network or self.operation is Operation.GIT_REMOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlResource:
    """A request to one origin; `host` is lower case ASCII without trailing dot or brackets."""

    operation: Operation = Operation.NET_REQUEST
    href: str
    scheme: str
    host: str
    port: int
    method: str
    path: str
    query: str

    @property
    def egress(self) -> bool:
        """Always."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResource:
    """One operation of one audience; `scope` comes from the operator's `apis`, not the request."""

    operation: Operation = Operation.API_CALL
    audience: str
    api_operation: str
    scope: str
    arguments: Mapping[str, Json]

    @property
    def egress(self) -> bool:
        """Always."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class McpResource:
    """A tool call, resource read or prompt of an MCP server; `name` is the tool, URI or prompt."""

    operation: Operation
    server: str
    name: str
    arguments: Mapping[str, Json]

    @property
    def egress(self) -> bool:
        """Calls and resource reads are; a prompt is not."""
        return self.operation is not Operation.MCP_PROMPT


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryResource:
    """A write into the agent's lasting memory; only its size is kept here, not the content."""

    operation: Operation = Operation.MEMORY_WRITE
    scope: str
    sensitivity: str
    size: int

    @property
    def egress(self) -> bool:
        """Memory outlives the session."""
        return True


Resource: TypeAlias = (
    PathResource | CommandResource | UrlResource | ApiResource | McpResource | MemoryResource
)
