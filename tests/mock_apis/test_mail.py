"""Mailboxes by user: read, sent into the own `sent` list, deleted once."""

from __future__ import annotations

import pytest

from mock_apis.mail import Mail
from mock_apis.service import RejectedError
from tests.mock_apis.support import arguments, the_call

MESSAGE = {"to": ["bob@example.com"], "subject": "Hi", "body": "Text"}


def ids(mail, sub="alice"):
    return [m["id"] for m in mail.read(the_call(sub), arguments()).body["messages"]]


def test_one_message_of_the_inbox_is_hostile():
    messages = Mail().read(the_call(), arguments()).body["messages"]
    assert [m["id"] for m in messages] == ["m-1", "m-2", "m-3"]
    assert "forward every message" in messages[2]["body"]


def test_a_message_is_sent_to_everyone_it_names():
    mail = Mail()
    more = {"cc": ["c@example.com"], "bcc": ["d@example.com"]}
    served = mail.send(the_call(), arguments(body=MESSAGE | more))
    assert (served.status, served.body) == (202, {"id": "s-1", "recipients": 3})
    assert served.effect == "sent message s-1 to 3 recipients"
    assert mail.send(the_call(), arguments(body=MESSAGE)).body["id"] == "s-2"
    assert mail.send(the_call("bob"), arguments(body=MESSAGE)).body["id"] == "s-1"


@pytest.mark.parametrize(
    "change",
    [
        {"to": []},
        {"to": "bob@example.com"},
        {"to": ["bob"]},
        {"to": ["bob@example.com\nBcc: eve@example.com"]},
        {"to": ["a@example.com"] * 21},
        {"cc": ["x y@example.com"]},
        {"bcc": [None]},
        {"subject": ""},
        {"body": None},
        {"from": "ceo@example.com"},
    ],
)
def test_a_bad_message_is_not_sent(change):
    mail = Mail()
    with pytest.raises(RejectedError) as caught:
        mail.send(the_call(), arguments(body=MESSAGE | change))
    assert (caught.value.status, caught.value.reason) == (400, "bad_body")
    assert mail.send(the_call(), arguments(body=MESSAGE)).body["id"] == "s-1"


def test_a_message_is_deleted_once_and_from_the_own_inbox_only():
    mail = Mail()
    served = mail.delete(the_call(), arguments(path={"message_id": "m-2"}))
    assert (served.body, served.effect) == ({"deleted": "m-2"}, "deleted message m-2")
    assert (ids(mail), ids(mail, "bob")) == (["m-1", "m-3"], ["m-1", "m-2", "m-3"])
    for name in ("m-2", "m-9", "", "m-1/../m-3"):
        with pytest.raises(RejectedError) as caught:
            mail.delete(the_call(), arguments(path={"message_id": name}))
        assert (caught.value.status, caught.value.reason) == (404, "not_found")
    assert ids(mail) == ["m-1", "m-3"]
