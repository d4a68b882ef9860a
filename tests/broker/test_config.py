"""broker.toml: the demo loads; each fault is refused with its field's name."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from broker.cli.init import demo_config
from broker.config import Config, load, read_private, write_private
from broker.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def demo() -> dict[str, Any]:
    return tomllib.loads(demo_config(port=8100, base_urls={}))


def change(data: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    *parents, last = path.split("/")
    inner = data
    for name in parents:
        inner = inner[name]
    inner[last] = value
    return data


def test_the_demo_configuration_loads_with_paths_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(demo_config(port=8100, base_urls={"mail-api": "http://127.0.0.1:9"}))
    config = load(path)
    assert config.database == str(tmp_path / "broker.db")
    assert config.catalogue["mail-api"].base_url == "http://127.0.0.1:9"
    assert config.audience_of("mail.send") == "mail-api"
    assert config.audience_of("mail.sen") is None
    assert config.audiences(("mail.send", "gone", "calendar.read")) == {
        "calendar-api": ["calendar.read"],
        "mail-api": ["mail.send"],
    }


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("surprise", 1, "surprise"),
        ("listen/surprise", 1, "listen.surprise"),
        ("catalogue/mail-api/surprise", 1, "catalogue.mail-api.surprise"),
        ("issuer", "http://broker.example", "issuer"),
        ("issuer", "http://127.0.0.1.evil.example", "issuer"),
        ("issuer", "https://broker.example/", "issuer"),
        ("issuer", "https://user@broker.example", "issuer"),
        ("issuer", "https://Broker.example", "issuer"),
        ("issuer", "ftp://127.0.0.1", "issuer"),
        ("issuer", 1, "issuer"),
        ("listen/port", "8100", "listen.port"),
        ("listen/port", 65536, "listen.port"),
        ("listen/port", True, "listen.port"),
        ("max_grant_days", 0, "max_grant_days"),
        ("max_grant_days", 366, "max_grant_days"),
        ("database", "", "database"),
        ("catalogue", {}, "catalogue"),
        ("catalogue/mail-api/scopes/calendar.read", "x", "'calendar.read' belongs to"),
        ("catalogue/mail-api/scopes", {}, "scopes"),
        ("catalogue/mail-api/scopes/a b", "x", "scopes"),
        ("catalogue/mail-api/resource_server", "calendar-api", "resource_server"),
        ("catalogue/mail-api/base_url", "http://mail.example", "base_url"),
        ("catalogue/mail-api/base_url", "http://127.0.0.1:1/?a=b", "base_url"),
        ("catalogue/mail-api/base_url", "http://a@127.0.0.1:1", "base_url"),
        ("catalogue/mail-api/operations/messages.read/scope", "mail.all", "messages.read.scope"),
        ("catalogue/mail-api/operations/messages.read/method", "get", "method"),
        ("catalogue/mail-api/operations/messages.read/path", "v1", "path"),
        ("catalogue/mail-api/operations/messages.read/path", "/v1/../x", "path"),
        ("catalogue/mail-api/operations/messages.read/path", "/v1/{id}x", "path"),
        ("catalogue/mail-api/operations/messages.read/path", "/v1//x", "path"),
        ("catalogue/mail-api/operations/messages.read/path", "/v1/x?y", "path"),
        ("catalogue/mail-api/operations/messages.read/path", "", "path"),
    ],
)
def test_a_fault_is_refused_and_named(path: str, value: object, named: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Config.model_validate(change(demo(), path, value))
    told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in caught.value.errors())
    assert named in told


def test_https_is_an_issuer_anywhere() -> None:
    data = change(demo(), "issuer", "https://broker.example")
    assert Config.model_validate(data).issuer == "https://broker.example"


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="broker init"):
        load(tmp_path / "absent.toml")
    path = tmp_path / "broker.toml"
    path.write_text("a = 1\na = 2\n")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(path)
    path.write_text("issuer = 1\n")
    with pytest.raises(ConfigError, match=r"issuer: .*database: "):
        load(path)


def test_private_files_are_made_once_and_read_only_when_private(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "k"
    assert write_private(path, b"one")
    assert not write_private(path, b"two")
    assert read_private(path) == b"one"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o604)
    with pytest.raises(ConfigError, match="open to others"):
        read_private(path)
