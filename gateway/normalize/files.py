"""fs.read, fs.list, fs.write, fs.delete: one path each, opened, judged and planned.

A file to read is refused by its size before a byte is read. What is written is shown whole and
bound by hash; what it replaces, and what is deleted, is bound by identity. A git repository's own
files are never written or deleted: they say what git runs.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

from gateway.kit import canon
from gateway.model.action import Action, Refusal
from gateway.model.names import Json, Operation
from gateway.model.plan import DeleteFile, ListDirectory, ReadFile, WriteFile
from gateway.model.request import ActionRequest
from gateway.model.resource import PathResource
from gateway.normalize import git_files
from gateway.normalize.build import (
    Descriptors,
    Param,
    accepted,
    check_params,
    identity_json,
    refused,
    text,
)
from gateway.normalize.path import Located, LocatedParent, Refused, Want, locate, locate_parent
from gateway.normalize.place import place
from gateway.normalize.settings import Settings

_ONE_PATH: Final = {"path": Param(), "cwd": Param(required=False)}
_WRITE: Final = {**_ONE_PATH, "content": Param()}


def read_file(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `fs.read {path, cwd?}`."""
    operation = Operation.FS_READ
    found = _open(request, settings, operation, "file")
    if isinstance(found, Action):
        return found
    owned = Descriptors()
    fd = owned.own(found.fd)
    if found.identity.size > settings.read_bytes:
        owned.close()
        message = (
            f"{found.resource.path}: {found.identity.size} bytes, the limit (limits.read_bytes)"
            f" is {settings.read_bytes}"
        )
        return refused(
            request, operation, Refusal(reason="fs_too_large", message=message), found.resource
        )
    return accepted(
        request,
        operation,
        {**_path_json(found.resource), "object": identity_json(found.identity)},
        found.resource,
        plan=ReadFile(fd=fd, path=found.resource.path, identity=found.identity),
        owned=owned,
    )


def list_directory(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `fs.list {path, cwd?}`."""
    operation = Operation.FS_LIST
    found = _open(request, settings, operation, "directory")
    if isinstance(found, Action):
        return found
    owned = Descriptors()
    identity = found.identity
    return accepted(
        request,
        operation,
        # A directory is the same one when its entries change.
        {
            **_path_json(found.resource),
            "object": {"device": str(identity.device), "inode": str(identity.inode)},
        },
        found.resource,
        plan=ListDirectory(fd=owned.own(found.fd), path=found.resource.path),
        owned=owned,
    )


def write_file(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `fs.write {path, content, cwd?}`: create or replace one regular file."""
    operation = Operation.FS_WRITE
    refusal = check_params(request.tool, request.params, _WRITE)
    if refusal is not None:
        return _refused_params(request, operation, settings, refusal)
    content = text(request.params, "content").encode()
    found = _parent(request, operation, settings)
    if isinstance(found, Refused):
        return _refused(request, operation, found)
    owned = Descriptors()
    parent_fd = owned.own(found.fd)
    if len(content) > settings.write_bytes:
        owned.close()
        message = f"params.content is {len(content)} bytes, the limit is {settings.write_bytes}"
        return refused(
            request, operation, Refusal(reason="fs_too_large", message=message), found.resource
        )
    picture: dict[str, Json] = {
        **_path_json(found.resource),
        "replaces": None if found.existing is None else identity_json(found.existing),
        "bytes": len(content),
        "sha256": canon.sha256_hex(content),
        "content": text(request.params, "content"),
    }
    plan = WriteFile(
        parent_fd=parent_fd,
        name=found.name,
        path=found.resource.path,
        content=content,
        existing=found.existing,
    )
    resource = replace(found.resource, size=len(content))
    return accepted(request, operation, picture, resource, plan=plan, owned=owned)


def delete_file(request: ActionRequest, settings: Settings) -> Action:
    """Normalize `fs.delete {path, cwd?}`: unlink one regular file."""
    operation = Operation.FS_DELETE
    refusal = check_params(request.tool, request.params, _ONE_PATH)
    if refusal is not None:
        return _refused_params(request, operation, settings, refusal)
    found = _parent(request, operation, settings)
    if isinstance(found, Refused):
        return _refused(request, operation, found)
    owned = Descriptors()
    parent_fd = owned.own(found.fd)
    if found.existing is None:
        owned.close()
        message = f"{found.resource.path}: no such file"
        return refused(
            request, operation, Refusal(reason="fs_not_found", message=message), found.resource
        )
    plan = DeleteFile(
        parent_fd=parent_fd, name=found.name, path=found.resource.path, existing=found.existing
    )
    return accepted(
        request,
        operation,
        {**_path_json(found.resource), "object": identity_json(found.existing)},
        found.resource,
        plan=plan,
        owned=owned,
    )


def _open(
    request: ActionRequest, settings: Settings, operation: Operation, want: Want
) -> Located | Action:
    """Open the one path of a request for reading; the action is its refusal."""
    refusal = check_params(request.tool, request.params, _ONE_PATH)
    if refusal is not None:
        return _refused_params(request, operation, settings, refusal)
    found = locate(
        settings.roots,
        text(request.params, "path"),
        operation=operation,
        cwd=_cwd(request),
        want=want,
        guard=settings.guard,
    )
    return _refused(request, operation, found) if isinstance(found, Refused) else found


def _parent(
    request: ActionRequest, operation: Operation, settings: Settings
) -> LocatedParent | Refused:
    found = locate_parent(
        settings.roots,
        text(request.params, "path"),
        operation=operation,
        cwd=_cwd(request),
        guard=settings.guard,
    )
    if isinstance(found, Refused):
        return found
    refusal = git_files.belongs(found.root_fd, found.relative)
    if refusal is None:
        return found
    os.close(found.fd)
    return Refused(refusal=refusal, resource=found.resource)


def _path_json(resource: PathResource) -> dict[str, Json]:
    """Show the real path, and the other names only when there are some."""
    shown: dict[str, Json] = {"path": resource.path}
    if resource.also:
        shown["also"] = list(resource.also)
    return shown


def _cwd(request: ActionRequest) -> str | None:
    return text(request.params, "cwd") if "cwd" in request.params else None


def _refused(request: ActionRequest, operation: Operation, found: Refused) -> Action:
    named = () if found.resource is None else (found.resource,)
    return refused(request, operation, found.refusal, *named)


def _refused_params(
    request: ActionRequest, operation: Operation, settings: Settings, refusal: Refusal
) -> Action:
    """Refuse the parameters; a path among them was named all the same."""
    path = request.params.get("path")
    if not isinstance(path, str):
        return refused(request, operation, refusal)
    placed = place(settings.roots, path, operation, text(request.params, "cwd") or None)
    named = () if placed.resource is None else (placed.resource,)
    return refused(request, operation, refusal, *named)
