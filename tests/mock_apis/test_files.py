"""Files by user, in memory: names are plain words and nothing touches a disk."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mock_apis.files import Files
from mock_apis.service import RejectedError
from tests.mock_apis.support import arguments, the_call


def put(files, name, content="new", sub="alice"):
    return files.write(the_call(sub), arguments(path={"name": name}, body={"content": content}))


def get(files, name, sub="alice"):
    return files.read(the_call(sub), arguments(path={"name": name})).body["content"]


def test_files_are_listed_with_their_size_in_bytes():
    files = Files()
    put(files, "u.txt", "ü")
    listing = files.names(the_call(), arguments()).body["files"]
    assert [one["name"] for one in listing] == ["budget.csv", "notes.txt", "u.txt"]
    assert listing[2]["size"] == 2


def test_a_file_is_created_then_replaced_for_its_user_only():
    files = Files()
    assert (put(files, "a.txt").status, put(files, "a.txt", "newer").status) == (201, 200)
    assert get(files, "a.txt") == "newer"
    assert put(files, "notes.txt").effect == "wrote 3 bytes to notes.txt"
    assert get(files, "notes.txt", "bob").startswith("Release")


@pytest.mark.parametrize("name", ["a.txt", "../notes.txt", "", ".", "/etc/passwd"])
def test_a_file_that_is_not_there_is_not_found(name):
    with pytest.raises(RejectedError) as caught:
        get(Files(), name)
    assert (caught.value.status, caught.value.reason) == (404, "not_found")


@pytest.mark.parametrize("body", [{}, {"content": 1}, {"content": None}, {"content": "x", "y": 1}])
def test_a_bad_body_writes_nothing(body):
    files = Files()
    with pytest.raises(RejectedError):
        files.write(the_call(), arguments(path={"name": "notes.txt"}, body=body))
    assert get(files, "notes.txt").startswith("Release")


@settings(max_examples=100, deadline=None)
@given(name=st.text(max_size=12) | st.text("ab./\\-_\n", max_size=8))
def test_a_name_is_one_plain_word_or_refused(name):
    files = Files()
    try:
        put(files, name)
    except RejectedError:
        assert len(files.names(the_call(), arguments()).body["files"]) == 2
        return
    assert name.isascii()
    assert not set(name) & set("/\\\n\0 ")
    assert name[0] not in ".-_"
