"""Broker and mock APIs as processes of their own on loopback, and a person who consents.

Every listening socket is opened here and inherited, so no port is chosen twice; every process is
stopped and waited for when the block ends, whatever happened inside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Final

import requests
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from broker.tokens.keys import public_jwk

REPOSITORY: Final = Path(__file__).resolve().parent.parent
APIS: Final = {"calendar-api": "calendar", "mail-api": "mail", "files-api": "files"}
USER: Final = "alice"
AGENT: Final = "demo-agent"
CLIENT: Final = "gateway"
START_S: Final = 30
STOP_S: Final = 10


class ServiceError(RuntimeError):
    """A service did not start, or a command of the set-up failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Running services. `urls` maps audience -> base URL; journals lie in `folder`."""

    folder: Path
    issuer: str
    urls: dict[str, str]
    password: str = field(repr=False)

    @property
    def broker_config(self) -> Path:
        """The broker's configuration file."""
        return self.folder / "broker.toml"

    def journal(self, audience: str) -> list[dict[str, object]]:
        """Return what an API wrote down of what really happened."""
        path = self.folder / f"{audience}.journal.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def broker(self, *words: str, text: str | None = None) -> str:
        """Run one of the broker's commands."""
        return run(["-m", "broker", *words, "--config", str(self.broker_config)], text=text)

    def register_gateway(self, jwk: Path) -> None:
        """Register the gateway's public key (a JWK file) at the broker."""
        self.broker(
            "client", "add", CLIENT, "--kind", "gateway", "--jwk", str(jwk),
            "--redirect-uri", "http://127.0.0.1/callback",
        )  # fmt: skip


def run(words: list[str], *, text: str | None = None) -> str:
    """Run Python with these words from the repository; return its standard output.

    Raises:
        ServiceError: it failed; the message carries what it wrote to standard error.
    """
    done = subprocess.run(
        [sys.executable, *words],
        cwd=REPOSITORY,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise ServiceError(f"{' '.join(words[:4])} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def listener(port: int = 0) -> socket.socket:
    """Open a listening socket on loopback; a wanted port that is taken becomes a free one."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError:
        return socket.create_server(("127.0.0.1", 0))


def url_of(sock: socket.socket) -> str:
    """Return the URL of a listening socket."""
    return f"http://127.0.0.1:{sock.getsockname()[1]}"


@contextmanager
def running(folder: Path, *, ports: dict[str, int] | None = None) -> Iterator[Services]:
    """Set broker and APIs up in `folder` and keep them running until the block ends."""
    wanted = ports or {}
    with ExitStack() as stack:
        sockets = {
            name: stack.enter_context(listener(wanted.get(name, 0))) for name in ("broker", *APIS)
        }
        services = Services(
            folder=folder,
            issuer=url_of(sockets["broker"]),
            urls={audience: url_of(sockets[audience]) for audience in APIS},
            password=secrets.token_urlsafe(16),
        )
        _set_up(services, port=sockets["broker"].getsockname()[1])
        fd = sockets["broker"].fileno()
        broker = ["-m", "broker", "serve", "--config", str(services.broker_config)]
        _start(stack, [*broker, "--fd", str(fd)], fd, folder / "broker.log")
        for audience, name in APIS.items():
            fd = sockets[audience].fileno()
            words = [
                "-m", "mock_apis", name, "--fd", str(fd), "--issuer", services.issuer,
                "--base-url", services.urls[audience], "--client-id", audience,
                "--key", str(folder / f"{audience}.pem"),
                "--journal", str(folder / f"{audience}.journal.jsonl"),
            ]  # fmt: skip
            _start(stack, words, fd, folder / f"{audience}.log")
        yield services


@contextmanager
def naive_api(folder: Path) -> Iterator[str]:
    """Keep the insecure API running until the block ends; gives its URL."""
    with ExitStack() as stack:
        sock = stack.enter_context(listener())
        words = ["-m", "mock_apis", "naive", "--fd", str(sock.fileno())]
        words += ["--journal", str(folder / "naive.journal.jsonl")]
        _start(stack, words, sock.fileno(), folder / "naive.log")
        yield url_of(sock)


def consent(services: Services, url: str, *, user: str = USER) -> None:
    """Be the person: log in at the consent page, allow, follow the redirect to the gateway."""
    with requests.Session() as browser:
        browser.trust_env = False
        page = browser.get(url, timeout=10)
        if 'action="/login"' in page.text:
            form = {**_hidden(page.text), "user": user, "password": services.password}
            page = browser.post(f"{services.issuer}/login", data=form, timeout=10)
        until = re.search(r'name="until" type="date" value="([^"]+)"', page.text)
        if until is None:
            raise ServiceError(f"no consent page came, but status {page.status_code}")
        form = {**_hidden(page.text), "until": until[1], "decision": "allow"}
        done = browser.post(f"{services.issuer}/authorize", data=form, timeout=10)
        if done.status_code != requests.codes.ok:
            raise ServiceError(f"consent ended with status {done.status_code}")


def _hidden(html: str) -> dict[str, str]:
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', html)
    return {name: unescape(value) for name, value in fields if name in {"csrf", "then", "consent"}}


def _set_up(services: Services, *, port: int) -> None:
    base_urls = [f"--base-url={name}={url}" for name, url in services.urls.items()]
    services.broker("init", "--port", str(port), *base_urls)
    services.broker("user", "add", USER, "--password-stdin", text=services.password + "\n")
    for audience in APIS:
        jwk = _make_key(services.folder / f"{audience}.pem")
        services.broker(
            "client", "add", audience, "--kind", "resource", "--audience", audience,
            "--jwk", str(jwk),
        )  # fmt: skip


def _make_key(key: Path) -> Path:
    """Write a P-256 key as PEM (0600) and its public half as JWK beside it; return the JWK."""
    private = ec.generate_private_key(ec.SECP256R1())
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(pem)
    jwk = key.with_suffix(".jwk")
    jwk.write_text(json.dumps(public_jwk(private.public_key())), encoding="utf-8")
    return jwk


def left_running(folder: Path) -> list[str]:
    """Return the command lines of processes that still name a folder of ours."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if str(folder) in words and entry.parent.name != str(os.getpid()):
                found.append(words)
    return found


def _start(stack: ExitStack, words: list[str], fd: int, log_file: Path) -> None:
    log = stack.enter_context(log_file.open("ab"))
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        pass_fds=[fd],
        start_new_session=True,
        text=True,
    )
    stack.callback(_stop, process)
    line = process.stdout.readline() if process.stdout else ""
    if not line.startswith("{"):
        said = log_file.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise ServiceError(f"{' '.join(words[:3])} did not start: {said}")


def _stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
