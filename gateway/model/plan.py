"""What `execute` will do: the other half of an action, holding the very objects that were judged.

Descriptors in a plan were opened by `normalize` and are the ones read, written or started from;
they are owned by the action (`Action.release` closes them).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gateway.model.names import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which object: device, inode, size in bytes, modification time in ns, change time in ns."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """Read the open regular file `fd` from its start."""

    fd: int
    path: str
    identity: Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDirectory:
    """List the open directory `fd`, names only, one level."""

    fd: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile:
    """Replace or create `name` in the open directory `parent_fd` with `content`, atomically.

    `existing` is the object to be replaced as it was judged, None when there was none; anything
    else at execution is `changed_since_decision`.
    """

    parent_fd: int
    name: str
    path: str
    content: bytes
    existing: Identity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """Unlink `name` in the open directory `parent_fd` if it is still `existing`."""

    parent_fd: int
    name: str
    path: str
    existing: Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A file a command will open by name: checked again, from its root, just before the start.

    `root_fd` and `relative` name it beneath its root; `identity` is what was judged.
    """

    root_fd: int
    relative: str
    path: str
    identity: Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand:
    """Start `executable` with `argv` (rebuilt from the parsed model, argv[0] included).

    The environment is exactly `environment`; the working directory is the open `cwd_fd`.
    `executable_identity` is what was judged.
    """

    executable: str
    executable_identity: Identity
    argv: tuple[str, ...]
    cwd_fd: int
    cwd: str
    environment: Mapping[str, str]
    operands: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One argv list of a compound line and how it joins the one before it.

    `joiner` is None for the first. `digest` is the action digest this segment was judged under:
    when it comes back through `submit` it must normalize to the same.
    """

    joiner: Literal["&&", "||", "|", ";"] | None
    argv: tuple[str, ...]
    cwd: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompound:
    """Several segments; each comes back through `submit` before any of its pipeline starts."""

    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallApi:
    """One HTTP request with a credential minted for it; `url` and `body` are sent as they stand."""

    audience: str
    api_operation: str
    scope: str
    method: str
    url: str
    body: bytes | None
    arguments: Mapping[str, Json]


Plan: TypeAlias = (
    ReadFile | ListDirectory | WriteFile | DeleteFile | RunCommand | RunCompound | CallApi
)
