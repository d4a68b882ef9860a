"""`serve` as a real process: ready when it says so, gone when told."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests

from broker.config import load
from broker.store.database import Store
from tests.broker.cli.support import Cli
from tests.support.broker_server import (
    PASSWORD,
    REDIRECT_URI,
    BrokerServer,
    Clock,
    Party,
    Random,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]


@contextmanager
def serving(cli: Cli, *argv: str, **options: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "broker", "serve", "--config", str(cli.folder / "broker.toml")]
    process = subprocess.Popen(
        [*command, *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **options,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate(timeout=30)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_when_ready_and_exits_cleanly(cli: Cli, signum: signal.Signals) -> None:
    with serving(cli, "--listen", "127.0.0.1:0") as (process, line):
        ready = json.loads(line)
        assert ready["ready"] is True
        answer = requests.get(f"{ready['url']}/healthz", timeout=30)
        assert answer.json() == {"status": "ok"}
        spoofed = {"SCRIPT_NAME": "/evil", "X-Forwarded-Proto": "https"}
        url = f"{ready['url']}/.well-known/oauth-authorization-server"
        assert requests.get(url, headers=spoofed, timeout=30).json()["issuer"].startswith("http:")
        process.send_signal(signum)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0, err
        assert out == ""
        assert "Traceback" not in err
    with pytest.raises(requests.ConnectionError):
        requests.get(ready["url"], timeout=5)


def test_it_serves_an_inherited_socket(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        descriptor = str(listener.fileno())
        with serving(cli, "--fd", descriptor, pass_fds=[listener.fileno()]) as (process, line):
            assert json.loads(line) == {"ready": True, "url": f"http://127.0.0.1:{port}"}
            assert requests.get(f"http://127.0.0.1:{port}/healthz", timeout=30).ok
            process.terminate()
            assert process.wait(timeout=30) == 0


def test_the_whole_road_in_a_real_process_and_a_revocation_that_survives_its_death(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, descriptor = listener.getsockname()[1], listener.fileno()
        cli.json("init", "--port", str(port))
        gateway, calendar = Party("gateway"), Party("calendar-api")
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
        cli.json("user", "add", "alice", "--password-stdin")
        for party, kind in (
            (gateway, ("gateway", "--redirect-uri", REDIRECT_URI)),
            (calendar, ("resource", "--audience", "calendar-api")),
        ):
            jwk = tmp_path / f"{party.id}.jwk"
            jwk.write_text(json.dumps(party.jwk))
            cli.json("client", "add", party.id, "--jwk", str(jwk), "--kind", *kind)
        config = load(tmp_path / "broker.toml")
        broker = BrokerServer(
            url=config.issuer,
            config=config,
            clock=Clock(int(time.time())),
            random=Random(),
            store=Store(Path(config.database)),
            folder=tmp_path,
            gateway=gateway,
            servers={"calendar-api": calendar},
        )
        with serving(cli, "--fd", str(descriptor), pass_fds=[descriptor]) as (process, line):
            assert json.loads(line)["url"] == broker.url
            answer = broker.handle("calendar.read")
            token = broker.exchange(answer["access_token"], "calendar.read").json()["access_token"]
            assert broker.introspect(token, "calendar-api")["active"] is True
            assert broker.revoke(answer["access_token"]).status_code == 200
            assert broker.introspect(token, "calendar-api") == {"active": False}
            process.kill()
        assert cli.json("grant", "show", answer["grant_id"])["status"] == "revoked"


def test_a_taken_port_is_one_clear_line(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, out, err = cli.run("serve", "--listen", address)
    assert (code, out) == (1, "")
    assert err.startswith("broker: cannot listen on 127.0.0.1")


@pytest.mark.parametrize("address", ["", "8100", "127.0.0.1:", "127.0.0.1:99999", "a b:1"])
def test_a_bad_address_is_refused(cli: Cli, address: str) -> None:
    assert cli.run("serve", "--listen", address)[0] == 1


def test_a_descriptor_that_does_not_listen_is_refused(cli: Cli) -> None:
    reader, writer = os.pipe()
    try:
        assert "--fd" in cli.run("serve", "--fd", str(reader))[2]
    finally:
        os.close(reader)
        os.close(writer)
    assert cli.run("serve", "--fd", str(reader))[0] == 1
    with socket.socket() as idle:
        assert "not a listening" in cli.run("serve", "--fd", str(idle.fileno()))[2]


def test_missing_keys_stop_it_before_it_listens(cli: Cli) -> None:
    (cli.folder / "broker-keys" / "signing.pem").unlink()
    code, out, err = cli.run("serve", "--listen", "127.0.0.1:0")
    assert (code, out) == (1, "")
    assert "broker init" in err
