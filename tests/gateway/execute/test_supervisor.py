"""The supervisor: nothing a command starts outlives it, and its messages are whole."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.execute import supervisor

SCRIPT = Path(supervisor.__file__)


@pytest.fixture
def started():
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", SCRIPT, str(theirs.fileno())],
        pass_fds=(theirs.fileno(),),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={},
    )
    theirs.close()
    ours.settimeout(20)
    yield ours, process
    ours.close()
    process.kill()
    process.wait(20)
    process.stdout.close()


def order(*argv: str) -> dict:
    return {"executable": argv[0], "argv": list(argv), "environment": {}}


def test_it_says_that_it_started_and_how_it_ended(started):
    channel, process = started
    supervisor.send(channel, order(sys.executable, "-I", "-c", "raise SystemExit(7)"))
    assert supervisor.receive(channel) == {"started": True}
    assert supervisor.receive(channel) == {"exit": 7}
    assert supervisor.receive(channel) is None
    assert process.wait(20) == 0


def test_a_program_that_cannot_be_started_is_said(started, tmp_path):
    channel, process = started
    supervisor.send(channel, order(str(tmp_path / "none")))
    assert supervisor.receive(channel) == {"error": 2}
    assert process.wait(20) == 0


def test_the_death_of_the_gateway_ends_the_command(started):
    channel, process = started
    code = "import os, sys; print(os.getpid(), flush=True); sys.stdin = None; import time; time.sleep(600)"
    supervisor.send(channel, order(sys.executable, "-I", "-c", code))
    assert supervisor.receive(channel) == {"started": True}
    pid = int(process.stdout.readline())
    channel.close()
    assert process.wait(20) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_without_an_order_it_starts_nothing(started):
    channel, process = started
    channel.close()
    assert process.wait(20) == 0
    assert process.stdout.read() == b""


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.text(max_size=40), max_size=4))
def test_messages_come_out_as_they_went_in(message: dict):
    one, other = socket.socketpair()
    with one, other:
        supervisor.send(one, message)
        assert supervisor.receive(other) == message
        one.close()
        assert supervisor.receive(other) is None
