"""A workspace with the usual traps, and the normalizer over it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.model.catalogue import ApiOperation, Parameter, RootPath
from gateway.normalize.hardlinks import Guard
from gateway.normalize.roots import Roots
from gateway.normalize.settings import Settings
from gateway.normalize.stage import Normalize


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@dataclass(frozen=True)
class Place:
    """`top` holds the root `ws` and what must not be reached."""

    top: Path
    ws: Path
    roots: Roots
    guard: Guard
    settings: Settings
    normalize: Normalize


EVENTS_READ = ApiOperation(
    audience="calendar-api",
    name="events.read",
    base_url="http://127.0.0.1:8001",
    method="GET",
    path="/calendars/{calendar}/events",
    scope="calendar.read",
    path_parameters={"calendar": Parameter(type="string", required=True, max_length=64)},
    query={
        "limit": Parameter(type="integer"),
        "full": Parameter(type="boolean"),
        "tags": Parameter(type="array"),
    },
    body={},
)
EVENTS_CREATE = ApiOperation(
    audience="calendar-api",
    name="events.create",
    base_url="http://127.0.0.1:8001",
    method="POST",
    path="/events",
    scope="calendar.write",
    path_parameters={},
    query={},
    body={
        "title": Parameter(type="string", required=True, max_length=20),
        "extra": Parameter(type="object"),
    },
)


@pytest.fixture
def spot(tmp_path: Path) -> Iterator[Place]:
    top = tmp_path.resolve()
    ws = top / "ws"
    (ws / "src" / "deep").mkdir(parents=True)
    (ws / "src" / "a.py").write_text("print(1)\n")
    (ws / ".env").write_text("KEY=fake\n")
    (ws / ".ssh").mkdir()
    (top / "secret.txt").write_text("outside\n")
    (top / "keys").mkdir()
    (top / "keys" / "log.key").write_text("k")
    (ws / "hard.txt").hardlink_to(ws / ".env")
    (ws / "key.txt").hardlink_to(top / "keys" / "log.key")
    (ws / "link").symlink_to("src")
    (ws / "deep").symlink_to("src/deep")
    (ws / "out").symlink_to("../secret.txt")
    (ws / "outdir").symlink_to("..")
    (ws / "absolute").symlink_to("/etc/passwd")
    (ws / "loop").symlink_to("loop")
    (ws / "self").symlink_to(".")
    (ws / "dangling").symlink_to("nowhere")
    (ws / "env-link").symlink_to(".env")
    os.mkfifo(ws / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(ws, os.O_PATH)
        listener.bind(f"/proc/self/fd/{here}/sock")
        os.close(here)
    guard = Guard(
        is_protected=lambda path: any(part in {".env", ".ssh"} for part in path.split("/")),
        literal=(str(top / "keys"), str(top / "absent")),
    )
    with Roots.open([RootPath(name="workspace", path=str(ws))]) as roots:
        settings = Settings(
            roots=roots,
            guard=guard,
            apis={"calendar-api": {"events.read": EVENTS_READ, "events.create": EVENTS_CREATE}},
            read_bytes=1000,
            write_bytes=100,
        )
        yield Place(top, ws, roots, guard, settings, Normalize(settings))
