"""Confirming at the controlling terminal: only a typed `yes`, and never from standard input."""

from __future__ import annotations

import sys

import pytest

from tests.support.person import person

PROMPT = "Enter alone denies: "
PROGRAM = """\
import sys
from gateway.cli.confirm import NotConfirmedError, confirm
try:
    confirm("Really \\x1b[2J do it?")
except NotConfirmedError as error:
    sys.exit(f"no: {error}")
print("confirmed")
"""
ASK = [sys.executable, "-c", PROGRAM]


def test_yes_goes_on_and_the_question_is_escaped():
    with person(ASK) as one:
        one.answer("yes", PROMPT)
        assert one.ended() == (0, "confirmed\n", "")
    assert "\x1b[2J" not in one.shown
    assert "do it?" in one.shown


@pytest.mark.parametrize("keys", ["", "no", "YES", "yes please"])
def test_anything_else_does_not(keys):
    with person(ASK) as one:
        one.answer(keys, PROMPT)
        status, out, err = one.ended()
    assert (status, out) == (1, "")
    assert "no: a person denied; this needs a person at a terminal, nothing changed" in err


def test_the_end_of_input_does_not():
    with person(ASK) as one:
        one.until(PROMPT)
        one.type("\x04")
        assert one.ended()[:2] == (1, "")


def test_what_was_typed_before_the_question_does_not_count():
    with person(ASK) as one:
        one.type("yes\r")
        one.answer("no", PROMPT)
        assert one.ended()[0] == 1


def test_a_pasted_yes_does_not_count():
    with person(ASK) as one:
        one.until(PROMPT)
        one.type("yes\r")
        one.until("pasted text does not approve")
        one.type("\r")
        assert one.ended()[0] == 1


def test_a_terminal_that_goes_away_does_not_confirm():
    with person(ASK) as one:
        one.until(PROMPT)
        one.hang_up()
        status, out, _ = one.ended()
    assert out == ""
    assert status != 0
