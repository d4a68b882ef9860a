"""The configuration is read strictly; every fault names file and field; a fault denies."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.assembly.config import Config, load_config, parse_config
from gateway.errors import ConfigError

DIGEST = "policy-v1:sha256:" + "0" * 64
GOOD = f"""\
version: 1
level: embedded
policy: {{path: /etc/p.yaml, digest: "{DIGEST}"}}
programs: {{mytool: /opt/mytool}}
apis:
  calendar-api:
    base_url: http://127.0.0.1:8101
    operations:
      events.read: {{method: GET, path: "/v1/{{cal}}/events", scope: calendar.read, query: {{day: {{}}}}}}
broker: {{issuer: "https://broker.example.com", client_id: gw, agent: demo, users: {{me: alice}}}}
"""


def test_a_good_one_becomes_plain_values():
    config = parse_config(GOOD.encode(), "c")
    operation = config.catalogue()["calendar-api"]["events.read"]
    assert (operation.method, operation.scope) == ("GET", "calendar.read")
    assert operation.path_parameters["cal"].required
    assert not operation.query["day"].required
    assert config.broker is not None
    assert parse_config(b"version: 1\n", "c") == Config(version=1)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("version: 1", "version: 2", "version: "),
        ("version: 1", 'version: "1"', "version: "),
        ("level: embedded", "level: none", "level: "),
        ("level: embedded", "levle: embedded", "levle: unknown key"),
        ("level: embedded", "level: embedded\nlevel: separate", "3"),
        ("path: /etc/p.yaml", "path: p.yaml", "policy.path: "),
        ("policy-v1", "sha256", "policy.digest: "),
        ("mytool: /opt/mytool", "mytool: mytool", "programs.mytool: "),
        ("mytool: /opt/mytool", "'a b': /opt/mytool", "programs"),
        ("http://127.0.0.1:8101", "http://api.example.com", "http is accepted for"),
        ("http://127.0.0.1:8101", "http://127.0.0.1.evil.example", "http is accepted for"),
        ("http://127.0.0.1:8101", "http://127.0.0.1:8101/", "must be an origin"),
        ("http://127.0.0.1:8101", "https://u@api.example.com", "must be an origin"),
        ("http://127.0.0.1:8101", "file:///etc", "must be an origin"),
        ("method: GET", "method: get", "method: "),
        ('"/v1/{cal}/events"', "/v1/../x?y", "path: "),
        ("scope: calendar.read", 'scope: "a b"', "scope: "),
        ("day: {}", "day: {type: number}", "type: "),
        ("day: {}", "day: {max_length: 0}", "max_length: "),
        ("day: {}", "day: {requierd: true}", "requierd: "),
        ("users: {me: alice}", "users: {}", "users"),
        ("client_id: gw, ", "", "broker.client_id: missing"),
        ("client_id: gw", "client_id: gw, secret: s3cr3t", "broker.secret: unknown key"),
    ],
)  # fmt: skip
def test_every_fault_names_file_and_field(old, new, word):
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        parse_config(GOOD.replace(old, new).encode(), "/c/config.yaml")
    assert str(caught.value).startswith("/c/config.yaml")
    assert word in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


def test_what_is_no_configuration_is_refused(tmp_path):
    for data in (b"", b"[]", b"x", b"\xff", b"version: 1\n" + b"#" * 1_048_576, b"&a [*a]"):
        with pytest.raises(ConfigError):
            parse_config(data, "c")
    with pytest.raises(ConfigError, match="Is a directory"):
        load_config(tmp_path)
    assert load_config(tmp_path / "none") is None


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda s: s.encode("utf-8", "replace")))
def test_no_bytes_raise_anything_else(data):
    with contextlib.suppress(ConfigError):
        assert isinstance(parse_config(data, "c"), Config)


def test_an_unknown_key_denies_everything_at_every_door(gate, door):
    gate.configure("surprise: true\n")
    for seen in (door.check("fs.read", path="src/a.py"), door.run("fs.read", path="src/a.py")):
        assert seen.verdict == ("deny", "builtin:fault", "config_invalid")
        assert f"{gate.config}: surprise: unknown key" in (seen.decision["message"])
        assert seen.status in {None, 2}
    assert gate.kinds() == []


def test_a_key_without_a_value_is_refused() -> None:
    with pytest.raises(ConfigError, match="policy: nothing is written here"):
        parse_config(b"version: 1\npolicy:\n", "c.yaml")
