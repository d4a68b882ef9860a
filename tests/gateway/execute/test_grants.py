"""The file of grant handles: found only by an exact fit, read strictly, written whole."""

from __future__ import annotations

import json
import os
import stat
import threading
import traceback
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.errors import ConfigError, ExecutionError
from gateway.execute.grants import NAME, Grant, Grants
from gateway.execute.secret import Secret

NOW = 1000
VALUE = "HANDLE-" + "x" * 40
FIT = {"user": "alice", "agent": "demo", "audience": "calendar-api", "scope": "calendar.read"}


def grant(**more) -> Grant:
    base = Grant(
        grant_id="g-1",
        user="alice",
        agent="demo",
        audiences={"calendar-api": ("calendar.read",), "mail-api": ("mail.read",)},
        expires_at=NOW + 100,
        handle=Secret(VALUE),
    )
    return replace(base, **more)


@pytest.fixture
def grants(tmp_path: Path) -> Grants:
    return Grants(directory=tmp_path, clock=lambda: NOW)


def test_a_kept_grant_is_found_again(grants):
    grants.add(grant())
    found = grants.find(**FIT)
    assert found.handle.reveal() == VALUE
    assert found.audiences == grant().audiences
    assert VALUE not in repr(found)


@pytest.mark.parametrize(
    "other",
    [
        {"user": "bob"},
        {"agent": "other"},
        {"audience": "files-api"},
        {"scope": "calendar.write"},
        {"scope": "mail.read"},
        {"audience": "mail-api"},
        {"scope": "calendar"},
    ],
)
def test_anything_else_is_missing_and_the_remedy_is_named(grants, other):
    grants.add(grant())
    with pytest.raises(ExecutionError) as caught:
        grants.find(**{**FIT, **other})
    assert (caught.value.code, caught.value.status) == ("grant_missing", "not_started")
    assert "counterfoil connect" in str(caught.value)


def test_a_grant_past_its_end_is_not_found_and_not_kept(grants, tmp_path):
    grants.add(grant())
    later = Grants(directory=tmp_path, clock=lambda: NOW + 100)
    with pytest.raises(ExecutionError):
        later.find(**FIT)
    later.add(grant(grant_id="g-2", user="bob", expires_at=NOW + 500))
    assert [one.grant_id for one in later.load()] == ["g-2"]


def test_of_several_the_longest_is_used_and_one_id_is_kept_once(grants):
    grants.add(grant())
    grants.add(grant(grant_id="g-2", expires_at=NOW + 500))
    grants.add(grant(grant_id="g-1", expires_at=NOW + 50))
    assert grants.find(**FIT).grant_id == "g-2"
    assert sorted((one.grant_id, one.expires_at) for one in grants.load()) == [
        ("g-1", NOW + 50),
        ("g-2", NOW + 500),
    ]


def test_a_forgotten_grant_is_gone(grants):
    grants.add(grant())
    grants.remove("g-1")
    grants.remove("g-1")
    assert grants.load() == ()


def test_the_file_is_the_owner_s_alone(grants, tmp_path):
    grants.add(grant())
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_others_can_read_is_refused(grants, tmp_path, mode):
    grants.add(grant())
    (tmp_path / NAME).chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        grants.find(**FIT)


def test_a_link_or_another_kind_of_file_is_refused(grants, tmp_path):
    (tmp_path / NAME).symlink_to("/dev/null")
    with pytest.raises(ConfigError):
        grants.load()
    (tmp_path / NAME).unlink()
    os.mkfifo(tmp_path / NAME, 0o600)
    with pytest.raises(ConfigError, match="not a regular file"):
        grants.load()


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        Grants(directory=tmp_path / "none").load()


def entry(**more) -> dict:
    base = {
        "grant_id": "g",
        "user": "alice",
        "agent": "demo",
        "audiences": {"calendar-api": ["calendar.read"]},
        "expires_at": NOW + 5,
        "handle": VALUE,
    }
    return {**base, **more}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 2, "grants": []}',
        b'{"version": 1, "grants": [], "grants": []}',
        b'{"version": 1, "grants": [], "more": 1}',
        json.dumps({"version": 1, "grants": [entry(more=1)]}).encode(),
        json.dumps({"version": 1, "grants": [entry(expires_at="5")]}).encode(),
        json.dumps({"version": 1, "grants": [entry(handle="short")]}).encode(),
        json.dumps({"version": 1, "grants": [entry(audiences={"a": "b"})]}).encode(),
        b" " * 1_100_000,
    ],
)
def test_a_file_with_anything_unexpected_is_refused_without_quoting_it(grants, tmp_path, content):
    (tmp_path / NAME).touch(mode=0o600)
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        grants.load()
    assert VALUE not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(ConfigError):
        grants.add(grant())
    assert (tmp_path / NAME).read_bytes() == content


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=200))
def test_any_bytes_are_grants_or_refused(grants, tmp_path, content):
    (tmp_path / NAME).touch(mode=0o600)
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(ConfigError):
        grants.load()


def test_two_that_add_at_once_both_stay(grants, tmp_path):
    def add(number: int) -> None:
        Grants(directory=tmp_path, clock=lambda: NOW).add(grant(grant_id=f"g-{number}"))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(grants.load()) == 8
