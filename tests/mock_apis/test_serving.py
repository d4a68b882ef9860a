"""Listening on loopback only, inheriting a socket, and serving until a signal."""

from __future__ import annotations

import os
import signal
import socket
import threading

import pytest
import requests

from mock_apis import serving
from tests.mock_apis.support import process, ready


@pytest.mark.parametrize(
    ("address", "url"), [("127.0.0.1:0", "http://127.0.0.1:"), ("[::1]:0", "http://[::1]:")]
)
def test_a_loopback_address_is_listened_on(address, url):
    with serving.listen(address) as listener:
        assert serving.address_of(listener).startswith(url)


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0:0", "192.0.2.1:0", "[::]:0", "localhost:0", "127.0.0.1", "127.0.0.1:", ":8101", "",
     "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:8101:1", "::ffff:192.0.2.1:0"],
)  # fmt: skip
def test_any_other_address_is_refused(address):
    with pytest.raises(ValueError, match="listen: "):
        serving.listen(address)


def test_a_port_that_is_taken_is_an_error():
    with serving.listen("127.0.0.1:0") as one, pytest.raises(OSError, match="in use"):
        serving.listen(f"127.0.0.1:{one.getsockname()[1]}")


def test_an_inherited_listening_socket_is_adopted():
    with socket.create_server(("127.0.0.1", 0)) as one, serving.adopt(os.dup(one.fileno())) as same:
        assert serving.address_of(same) == serving.address_of(one)


def test_what_is_not_a_listening_loopback_socket_is_refused(tmp_path):
    with (
        socket.create_server(("0.0.0.0", 0)) as everywhere,
        socket.socket() as idle,
        socket.socket(socket.AF_UNIX) as local,
        (tmp_path / "f").open("w") as file,
    ):
        local.bind(str(tmp_path / "s"))
        local.listen()
        for one in (everywhere, idle, local, file):
            descriptor = os.dup(one.fileno())
            with pytest.raises(ValueError, match="fd: not"):
                serving.adopt(descriptor)
            if one is file:
                os.close(descriptor)
    for absent in (-1, 1 << 20):
        with pytest.raises(ValueError, match="fd: not"):
            serving.adopt(absent)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_even_while_requests_run(tmp_path, number):
    with process("naive", "--journal", tmp_path / "j.jsonl") as running:
        address = ready(running)["address"]
        assert requests.get(f"{address}/health", timeout=20).json() == {
            "status": "ok",
            "api": "naive",
        }
        stop = threading.Event()
        busy = threading.Thread(target=keep_asking, args=[address, stop])
        busy.start()
        running.send_signal(number)
        assert running.wait(20) == 0
        stop.set()
        busy.join()
        assert (running.stdout.read(), running.stderr.read()) == ("", "")
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{address}/health", timeout=20)


def keep_asking(address, stop):
    while not stop.is_set():
        try:
            requests.get(f"{address}/health", timeout=20)
        except requests.RequestException:
            return
