"""Keys are made once, readable by their owner only, and never shown."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gateway.errors import RecordError
from gateway.record import keys


def test_keys_are_made_once_and_read_back(tmp_path: Path) -> None:
    made = keys.create(tmp_path / "keys")
    assert [path.name for path in made] == [keys.HMAC_FILE, keys.HEAD_FILE, keys.PUBLIC_FILE]
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    loaded = keys.load(tmp_path / "keys")
    assert keys.create(tmp_path / "keys") == []
    assert keys.load(tmp_path / "keys").secret == loaded.secret
    assert keys.load_public(tmp_path / "keys" / keys.PUBLIC_FILE) == loaded.public


def test_a_lost_public_key_is_made_again_from_the_private_one(tmp_path: Path) -> None:
    keys.create(tmp_path)
    (tmp_path / keys.PUBLIC_FILE).unlink()
    assert keys.create(tmp_path) == [tmp_path / keys.PUBLIC_FILE]
    assert keys.load_public(tmp_path / keys.PUBLIC_FILE) == keys.load(tmp_path).public


def test_keys_are_not_shown(tmp_path: Path) -> None:
    keys.create(tmp_path)
    loaded = keys.load(tmp_path)
    assert loaded.secret.hex() not in repr(loaded)
    assert repr(loaded.secret) not in repr(loaded)


@pytest.mark.parametrize("name", [keys.HMAC_FILE, keys.HEAD_FILE])
@pytest.mark.parametrize(
    ("fault", "said"),
    [("missing", "missing"), ("loose", "chmod 0600"), ("empty", "restore"), ("link", "symbolic")],
)
def test_a_key_that_is_not_right_is_refused(
    tmp_path: Path, name: str, fault: str, said: str
) -> None:
    keys.create(tmp_path)
    path = tmp_path / name
    if fault == "missing":
        path.unlink()
    elif fault == "loose":
        path.chmod(0o640)
    elif fault == "empty":
        path.write_bytes(b"")
    else:
        path.rename(tmp_path / "there")
        path.symlink_to(tmp_path / "there")
    with pytest.raises(RecordError, match=said) as caught:
        keys.load(tmp_path)
    assert name in str(caught.value)


def test_a_public_key_must_be_an_ed25519_key(tmp_path: Path) -> None:
    keys.create(tmp_path)
    with pytest.raises(RecordError, match="not an Ed25519 public key"):
        keys.load_public(tmp_path / keys.HEAD_FILE)
    with pytest.raises(RecordError, match="No such file"):
        keys.load_public(tmp_path / "nothing")
