"""`python -m mock_apis` as a real process: ready line, options from file and flags, exit codes."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys

import pytest
import requests

from broker.tokens.keys import new_signing_key
from mock_apis import cli
from tests.mock_apis.support import ROOT, process, ready
from tests.support.broker_server import Party
from tests.support.mock_world import write_key

ISSUER = "http://127.0.0.1:9"


@pytest.fixture
def key(tmp_path):
    return write_key(tmp_path / "key.pem", Party("x"))


@pytest.fixture
def usual(tmp_path, key):
    return ["--issuer", ISSUER, "--client-id", "x", "--key", key, "--journal", tmp_path / "j.jsonl"]


def end(running):
    running.send_signal(signal.SIGTERM)
    assert running.wait(20) == 0


@pytest.mark.parametrize("api", ["calendar", "mail", "files"])
def test_an_api_says_that_it_answers_and_where(usual, api):
    with process(api, *usual) as running:
        line = ready(running)
        assert (line["ready"], line["api"]) == (True, api)
        health = requests.get(line["address"] + "/health", timeout=20).json()
        assert health == {"status": "ok", "api": f"{api}-api"}
        end(running)
        assert running.stdout.read() == ""


def test_a_broker_that_is_not_there_is_503_and_in_the_journal(usual, tmp_path):
    with process("calendar", *usual) as running:
        address = ready(running)["address"]
        answer = requests.get(
            f"{address}/v1/events", headers={"Authorization": "Bearer x"}, timeout=20
        )
        assert answer.status_code == 503
        (entry,) = requests.get(f"{address}/journal", timeout=20).json()["entries"]
        assert json.loads((tmp_path / "j.jsonl").read_text()) == entry
        assert entry["reason"] == "broker_unreachable"
        end(running)


def test_it_serves_on_an_inherited_socket(usual):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fd = listener.fileno()
        with process("mail", "--fd", fd, *usual, fds=[fd]) as running:
            port = listener.getsockname()[1]
            assert ready(running)["address"] == f"http://127.0.0.1:{port}"
            end(running)


def test_descriptor_0_is_a_descriptor(usual):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        words = [sys.executable, "-m", "mock_apis", "mail", "--fd", "0", *map(str, usual)]
        with subprocess.Popen(
            words,
            cwd=ROOT,
            stdin=listener,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            try:
                port = listener.getsockname()[1]
                assert ready(running)["address"] == f"http://127.0.0.1:{port}"
                end(running)
            finally:
                running.kill()


def test_options_come_from_a_file_and_a_flag_wins(tmp_path, key):
    config = tmp_path / "api.toml"
    wrong = tmp_path / "wrong.jsonl"
    config.write_text(
        f'issuer = "{ISSUER}"\nclient_id = "x"\nkey = "{key}"\n'
        f'journal = "{wrong}"\nlisten = "[::1]:0"\nbase_url = "http://[::1]:9"\n'
    )
    with process("files", "--config", config, "--journal", tmp_path / "j.jsonl") as running:
        assert ready(running)["address"].startswith("http://[::1]:")
        end(running)
    assert (tmp_path / "j.jsonl").exists()
    assert not wrong.exists()


CASES = {
    "no api": ([], "arguments are required"),
    "unknown api": (["bank"], "invalid choice"),
    "unknown option": (["naive", "--verbose"], "unrecognized arguments"),
    "no journal": (["naive"], "journal: "),
    "journal is a folder": (["naive", "--journal", "{tmp}"], "directory"),
    "not loopback": (["naive", "--journal", "{tmp}/j", "--listen", "0.0.0.0:0"], "loopback"),
    "empty address": (["naive", "--journal", "{tmp}/j", "--listen", ""], "listen: "),
    "port too large": (["naive", "--journal", "{tmp}/j", "--listen", "127.0.0.1:70000"], "listen: "),
    "fd not open": (["naive", "--journal", "{tmp}/j", "--fd", "99"], "fd: "),
    "fd not a number": (["naive", "--journal", "{tmp}/j", "--fd", "x"], "--fd"),
    "nothing of the broker": (["mail", "--journal", "{tmp}/j"], "--issuer"),
    "no key file": (["mail", *["--journal", "{tmp}/j", "--issuer", "http://127.0.0.1:9"],
                     *["--client-id", "x", "--key", "{tmp}/none.pem"]], "none.pem"),
    "key open to others": (["mail", *["--journal", "{tmp}/j", "--issuer", "http://127.0.0.1:9"],
                            *["--client-id", "x", "--key", "{tmp}/open.pem"]], "open.pem"),
    "issuer of another form": (["mail", *["--journal", "{tmp}/j", "--issuer", "http://127.0.0.1:9/"],
                                *["--client-id", "x", "--key", "{tmp}/good.pem"]], "issuer: "),
    "plain http issuer": (["mail", *["--journal", "{tmp}/j", "--issuer", "http://192.0.2.1"],
                           *["--client-id", "x", "--key", "{tmp}/good.pem"]], "loopback"),
    "no config file": (["naive", "--config", "{tmp}/none.toml"], "none.toml"),
    "config is no TOML": (["naive", "--config", "{tmp}/bad.toml"], "mock_apis: "),
    "unknown key": (["naive", "--config", "{tmp}/unknown.toml"], "colour: "),
    "wrong type": (["naive", "--config", "{tmp}/type.toml"], "fd: "),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_usage_error_is_one_line_and_exit_code_1(tmp_path, capsys, name):
    (tmp_path / "bad.toml").write_text("journal =")
    (tmp_path / "unknown.toml").write_text(f'journal = "{tmp_path}/j"\ncolour = "red"\n')
    (tmp_path / "type.toml").write_text(f'journal = "{tmp_path}/j"\nfd = true\n')
    (tmp_path / "good.pem").touch(mode=0o600)
    (tmp_path / "good.pem").write_bytes(new_signing_key())
    (tmp_path / "open.pem").write_bytes(new_signing_key())
    (tmp_path / "open.pem").chmod(0o644)
    words, said = CASES[name]
    with pytest.raises(SystemExit) as caught:
        cli.main([word.replace("{tmp}", str(tmp_path)) for word in words])
    captured = capsys.readouterr()
    assert caught.value.code == 1
    assert captured.out == ""
    assert captured.err.startswith("mock_apis: ")
    assert captured.err.count("\n") == 1
    assert said in captured.err


def test_a_usage_error_of_the_process_is_exit_code_1():
    with process("bank") as running:
        assert running.wait(20) == 1
        assert running.stdout.read() == ""
        assert running.stderr.read().count("\n") == 1
