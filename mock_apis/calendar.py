"""The calendar API: audience `calendar-api`, operations `events.read` and `events.create`.

Every user starts with the same synthetic events and sees only their own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from mock_apis.service import (
    Arguments,
    Body,
    Operation,
    RejectedError,
    Served,
    Wiring,
    create_service,
)

if TYPE_CHECKING:
    from flask import Flask

    from broker.resource import VerifiedCall

AUDIENCE = "calendar-api"

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One calendar entry."""

    id: str
    day: str
    start: str
    title: str


class NewEvent(Body):
    """The body of `events.create`."""

    day: str
    start: Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
    title: Annotated[str, Field(min_length=1, max_length=200)]


SEED = (
    Event(id="e-1", day="2026-11-30", start="09:00", title="Planning with the platform team"),
    Event(id="e-2", day="2026-11-30", start="14:30", title="Review of the release notes"),
    Event(id="e-3", day="2026-12-01", start="11:00", title="Dentist (private)"),
)


class Calendar:
    """Events by user, in memory."""

    def __init__(self) -> None:
        self._events: defaultdict[str, list[Event]] = defaultdict(lambda: list(SEED))

    def read(self, call: VerifiedCall, args: Arguments) -> Served:
        """List the user's events, of one day when the query names one."""
        events = self._events[call.sub]
        if "day" in args.query:
            day = _checked_day(args.query["day"])
            events = [event for event in events if event.day == day]
        return Served(status=200, body={"events": [asdict(event) for event in events]})

    def create(self, call: VerifiedCall, args: Arguments) -> Served:
        """Add one event to the user's calendar."""
        new = args.parse(NewEvent)
        events = self._events[call.sub]
        event = Event(
            id=f"e-{len(events) + 1}",
            day=_checked_day(new.day),
            start=new.start,
            title=new.title,
        )
        events.append(event)
        return Served(status=201, body=asdict(event), effect=f"created event {event.id}")


def create_app(wiring: Wiring) -> Flask:
    """Return the calendar API."""
    calendar = Calendar()
    return create_service(
        wiring,
        (
            Operation(
                name="events.read",
                scope="calendar.read",
                method="GET",
                path="/v1/events",
                handler=calendar.read,
                query=frozenset({"day"}),
            ),
            Operation(
                name="events.create",
                scope="calendar.write",
                method="POST",
                path="/v1/events",
                handler=calendar.create,
                has_body=True,
            ),
        ),
    )


def _checked_day(text: str) -> str:
    try:
        day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None:
        raise RejectedError(400, "bad_day", "day: use a real date as YYYY-MM-DD")
    return day.isoformat()
