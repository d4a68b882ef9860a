"""The journal: one line per request, appended whole, its owner's alone."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from mock_apis.journal import Entry, Journal

ENTRY = Entry(outcome="accepted", status=200, operation="events.read", sub="alice", jti="j-1")


def test_an_entry_is_a_line_with_time_and_api(tmp_path):
    path = tmp_path / "j.jsonl"
    journal = Journal(path, api="calendar-api", clock=lambda: 7)
    assert journal.entries() == []
    journal.write(ENTRY)
    (line,) = path.read_text().splitlines()
    assert json.loads(line) == journal.entries()[0]
    assert journal.entries()[0] == {
        "at": 7,
        "api": "calendar-api",
        "outcome": "accepted",
        "status": 200,
        "reason": None,
        "operation": "events.read",
        "sub": "alice",
        "agent": None,
        "jti": "j-1",
        "decision_id": None,
        "effect": "none",
    }


def test_the_file_is_its_owners_and_is_only_added_to(tmp_path):
    path = tmp_path / "j.jsonl"
    Journal(path, api="a", clock=lambda: 1).write(ENTRY)
    Journal(path, api="b", clock=lambda: 2).write(ENTRY)
    assert path.stat().st_mode & 0o777 == 0o600
    entries = Journal(path, api="c", clock=lambda: 3).entries()
    assert [(e["api"], e["at"]) for e in entries] == [("a", 1), ("b", 2)]


def test_a_line_stays_one_line_whatever_a_value_holds(tmp_path):
    journal = Journal(tmp_path / "j.jsonl", api="a", clock=lambda: 1)
    journal.write(Entry(outcome="refused", status=400, reason='two\nlines "x" \u2028 ü \ud800'))
    journal.write(ENTRY)
    assert len((tmp_path / "j.jsonl").read_bytes().splitlines()) == 2
    assert len(journal.entries()) == 2


def test_entries_of_many_threads_are_all_there_and_whole(tmp_path):
    journal = Journal(tmp_path / "j.jsonl", api="a", clock=lambda: 1)
    with ThreadPoolExecutor(8) as pool:
        for number in range(80):
            pool.submit(journal.write, Entry(outcome="accepted", status=number))
    assert sorted(entry["status"] for entry in journal.entries()) == list(range(80))
