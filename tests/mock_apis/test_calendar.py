"""Events by user: listed, of one day, created for the caller only."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mock_apis.calendar import Calendar
from mock_apis.service import RejectedError
from tests.mock_apis.support import arguments, the_call

NEW = {"day": "2026-11-30", "start": "10:00", "title": "Talk"}


def titles(calendar, sub="alice", **query):
    served = calendar.read(the_call(sub), arguments(query=query))
    return [event["title"] for event in served.body["events"]]


def test_events_of_all_days_or_of_one():
    calendar = Calendar()
    assert len(titles(calendar)) == 3
    assert titles(calendar, day="2026-12-01") == ["Dentist (private)"]
    assert titles(calendar, day="2026-12-02") == []


def test_a_new_event_is_its_users_alone():
    calendar = Calendar()
    served = calendar.create(the_call(), arguments(body=NEW))
    assert (served.status, served.effect) == (201, "created event e-4")
    assert served.body == {"id": "e-4", **NEW}
    assert "Talk" in titles(calendar)
    assert "Talk" not in titles(calendar, sub="bob")


@pytest.mark.parametrize(
    "change",
    [
        {"day": "2026-02-30"},
        {"day": "20261130"},
        {"day": "2026-11-30\n"},
        {"day": "2026-W48-1"},
        {"start": "24:00"},
        {"start": "9:00"},
        {"start": "10:00\n"},
        {"title": ""},
        {"title": "x" * 201},
        {"title": 1},
        {"user": "bob"},
    ],
)
def test_a_bad_event_changes_nothing(change):
    calendar = Calendar()
    with pytest.raises(RejectedError) as caught:
        calendar.create(the_call(), arguments(body=NEW | change))
    assert (caught.value.status, next(iter(change)) in str(caught.value)) == (400, True)
    assert len(titles(calendar)) == 3


@settings(max_examples=100, deadline=None)
@given(day=st.text(max_size=12) | st.dates().map(str))
def test_a_day_is_a_real_date_or_refused(day):
    try:
        titles(Calendar(), day=day)
    except RejectedError:
        return
    assert len(day) == 10
    assert day.isascii()
