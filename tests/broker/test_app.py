"""The application: faults become answers, nothing usable stands in files or logs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
import requests

from broker.app import broker_of, create_app
from broker.errors import ConfigError
from broker.grants import introspection, login
from broker.tokens.keys import b64url
from tests.support.broker_server import PASSWORD, make_config

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.broker_server import BrokerServer


def test_a_copy_of_the_files_holds_nothing_usable(broker: BrokerServer) -> None:
    code = broker.code("calendar.read mail.send")
    handle = broker.redeem(code).json()["access_token"]
    tokens = [
        broker.exchange(handle, scope).json()["access_token"]
        for scope in ("calendar.read", "mail.send")
    ]
    secrets = [code, handle, PASSWORD, *tokens, *(token.split(".")[2] for token in tokens)]
    needles = [text.encode() for text in secrets]
    for value in broker.random.secrets:
        needles += [value, b64url(value).encode(), value.hex().encode()]
    assert len(broker.random.secrets) >= 6
    files = [path for path in broker.folder.glob("broker.db*") if path.is_file()]
    content = b"".join(path.read_bytes() for path in files)
    assert b"demo-agent" in content
    assert not [needle for needle in needles if needle in content]


def test_no_secret_reaches_a_log(broker: BrokerServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        code = broker.code("calendar.read")
        handle = broker.redeem(code).json()["access_token"]
        token = broker.exchange(handle, "calendar.read").json()["access_token"]
        broker.introspect(token, "calendar-api")
        broker.exchange(handle, "mail.send")
        broker.exchange("x" + handle, "calendar.read")
        broker.redeem(code)
        broker.revoke(token)
    text = caplog.text
    assert "minted jti=" in text
    for secret in (code, handle, token, token.split(".")[2], PASSWORD):
        assert secret not in text
    assert not [s for s in broker.random.secrets if b64url(s) in text]


def test_a_fault_is_a_plain_500_and_its_text_stays_here(
    broker: BrokerServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("inner detail")

    monkeypatch.setattr(introspection, "introspect", fail)
    answer = broker.post("/introspect", {"token": "x"})
    assert (answer.status_code, answer.json()["error"]) == (500, "server_error")
    assert "inner detail" not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    assert "type=RuntimeError" in caplog.text
    monkeypatch.setattr(login, "user_of", fail)
    assert requests.get(f"{broker.url}/grants", timeout=30).status_code == 500


def test_a_database_that_is_gone_is_a_503(broker: BrokerServer) -> None:
    broker.store.close()
    for path in broker.folder.glob("broker.db*"):
        path.unlink()
    (broker.folder / "broker.db").mkdir()
    answer = broker.post("/introspect", {"token": "x"})
    assert (answer.status_code, answer.json()["error"]) == (503, "temporarily_unavailable")
    assert answer.headers["Retry-After"] == "1"


def test_it_does_not_start_without_its_files(tmp_path: Path) -> None:
    config = make_config(tmp_path, port=8100, base_urls={})
    for name in ("broker-keys/signing.pem", "broker-keys/seal.key", "broker.db"):
        path = tmp_path / name
        content = path.read_bytes()
        path.unlink()
        with pytest.raises(ConfigError, match="broker init"):
            create_app(config)
        path.touch(mode=0o600)
        path.write_bytes(content)
    broker_of(create_app(config)).store.close()


def test_the_real_clock_is_whole_seconds(tmp_path: Path) -> None:
    app = create_app(make_config(tmp_path, port=8100, base_urls={}))
    assert type(broker_of(app).clock()) is int
    broker_of(app).store.close()
