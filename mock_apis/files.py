"""The files API: audience `files-api`, operations `files.list`, `files.read`, `files.write`.

Every user starts with the same synthetic files. A name is one plain word with dots and dashes;
there are no folders and nothing touches a disk.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from mock_apis.service import (
    Arguments,
    Body,
    Operation,
    RejectedError,
    Served,
    Wiring,
    create_service,
)

if TYPE_CHECKING:
    from flask import Flask

    from broker.resource import VerifiedCall

AUDIENCE = "files-api"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

SEED = {
    "notes.txt": "Release on Tuesday. Ask Carol about the changelog.\n",
    "budget.csv": "item,amount\nhosting,120\nlicences,80\n",
}


class Content(Body):
    """The body of `files.write`."""

    content: Annotated[str, Field(max_length=500_000)]


class Files:
    """Files by user, in memory."""

    def __init__(self) -> None:
        self._files: defaultdict[str, dict[str, str]] = defaultdict(lambda: dict(SEED))

    def names(self, call: VerifiedCall, _args: Arguments) -> Served:
        """List the user's files with their sizes."""
        files = self._files[call.sub]
        listing = [{"name": name, "size": len(files[name].encode())} for name in sorted(files)]
        return Served(status=200, body={"files": listing})

    def read(self, call: VerifiedCall, args: Arguments) -> Served:
        """Return one file."""
        name = args.path["name"]
        content = self._files[call.sub].get(name)
        if content is None:
            raise RejectedError(404, "not_found", "name: no such file")
        return Served(status=200, body={"name": name, "content": content})

    def write(self, call: VerifiedCall, args: Arguments) -> Served:
        """Create or replace one file."""
        name = args.path["name"]
        if not _NAME.fullmatch(name):
            raise RejectedError(
                400, "bad_name", "name: 1 to 100 of A-Z a-z 0-9 . _ - (letter or digit first)"
            )
        content = args.parse(Content).content
        size = len(content.encode())
        status = 200 if name in self._files[call.sub] else 201
        self._files[call.sub][name] = content
        return Served(
            status=status,
            body={"name": name, "size": size},
            effect=f"wrote {size} bytes to {name}",
        )


def create_app(wiring: Wiring) -> Flask:
    """Return the files API."""
    files = Files()
    return create_service(
        wiring,
        (
            Operation(
                name="files.list",
                scope="files.read",
                method="GET",
                path="/v1/files",
                handler=files.names,
            ),
            Operation(
                name="files.read",
                scope="files.read",
                method="GET",
                path="/v1/files/<name>",
                handler=files.read,
            ),
            Operation(
                name="files.write",
                scope="files.write",
                method="PUT",
                path="/v1/files/<name>",
                handler=files.write,
                has_body=True,
            ),
        ),
    )
