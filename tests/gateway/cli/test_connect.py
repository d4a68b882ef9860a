"""`connect`: a grant from a real broker, by a person at its consent page; the handle stays ours."""

from __future__ import annotations

import json
import subprocess
import time

import pytest
import requests
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gateway.assembly.places import user_name
from gateway.execute.grants import Grants
from tests.support.broker_server import BrokerServer, running_broker
from tests.support.gate import BROKER, NOWHERE, ROOT, Gate


@pytest.fixture
def connected(gate, tmp_path):
    """The gate, and a broker in present time that knows the gate's key."""
    folder = tmp_path / "broker"
    folder.mkdir()
    with running_broker(folder) as broker:
        broker.clock.now = int(time.time())
        pem = broker.gateway.private.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
        (gate.state_dir / "keys/gateway.pem").write_bytes(pem)
        gate.configure(BROKER.replace("ISSUER", broker.url).replace("USER", user_name()))
        yield gate, broker


def connect(gate: Gate, broker: BrokerServer, decision: str) -> tuple[int, str, str]:
    """Run the command and be the person at the page it names."""
    words = ["connect", "calendar.read", "--purpose", "plan", "--no-browser", "--json"]
    process = subprocess.Popen(
        gate.argv(*words),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        assert process.stdout
        url = process.stdout.readline().strip()
        with requests.Session() as browser:
            page = broker.log_in(browser, browser.get(url, timeout=30), "alice")
            answer = broker.decide(browser, page, decision)
            browser.get(answer.headers["Location"], timeout=30)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    return process.returncode, out, err


def test_a_person_grants_and_the_handle_is_never_shown(connected):
    gate, broker = connected
    status, out, err = connect(gate, broker, "allow")
    assert status == 0, err
    told = json.loads(out)
    assert (told["user"], told["agent"]) == ("alice", "demo")
    assert told["audiences"] == {"calendar-api": ["calendar.read"]}
    (grant,) = Grants(directory=gate.state_dir / "state").load()
    assert grant.grant_id == told["grant_id"]
    assert grant.handle.reveal() not in out + err + gate.cli("status")[1]
    assert (gate.state_dir / "state/grants.json").stat().st_mode & 0o777 == 0o600


def test_a_person_denies_and_nothing_is_kept(connected):
    gate, broker = connected
    status, out, err = connect(gate, broker, "deny")
    assert (status, out) == (2, "")
    assert "broker_refused" in err
    assert "access_denied" in err
    assert Grants(directory=gate.state_dir / "state").load() == ()


def test_without_a_broker_it_says_what_is_missing(gate):
    status, _, err = gate.cli("connect", "calendar.read")
    assert status == 2
    assert f"{gate.config}: broker: missing" in err
    assert gate.cli("connect")[0] == 1


def test_nobody_answers(gate):
    gate.configure(BROKER.replace("ISSUER", NOWHERE).replace("USER", user_name()))
    status, out, err = gate.cli("connect", "calendar.read", "--no-browser", "--timeout", "1")
    assert status == 2
    assert out.startswith(f"{NOWHERE}/authorize?")
    assert "counterfoil: " in err
    assert Grants(directory=gate.state_dir / "state").load() == ()
