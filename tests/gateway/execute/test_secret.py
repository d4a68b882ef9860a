"""A secret shows itself nowhere by accident."""

from __future__ import annotations

import copy
import dataclasses
import json

import pytest

from gateway.execute.secret import Secret


@dataclasses.dataclass
class Holder:
    secret: Secret


def test_no_form_of_it_shows_the_value():
    secret = Secret("VALUE")
    shown = f"{secret} {secret!r} {[secret]} {Holder(secret)} %s" % secret
    assert "VALUE" not in shown
    assert secret.reveal() == "VALUE"
    assert not hasattr(secret, "__dict__")


@pytest.mark.parametrize("leave", [copy.copy, copy.deepcopy, json.dumps, Secret.__reduce__])
def test_it_is_not_copied_out(leave):
    with pytest.raises(TypeError) as caught:
        leave(Secret("VALUE"))
    assert "VALUE" not in str(caught.value)
