"""From bytes or Python objects to an :class:`ActionRequest`, strictly.

Accepted members: `tool`, `params`, `id`, `actor`, `session`; nothing else, each of its type and
length. JSON is read as :mod:`gateway.kit.canon` reads it. What comes as Python objects is copied
through canonical JSON first, so that nobody can change it after it was looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.kit import canon
from gateway.model.names import Json
from gateway.model.request import ActionRequest

_MAX_NAME: Final = 256
_TEXTS: Final = ("tool", "id", "actor", "session")
_MEMBERS: Final = (*_TEXTS, "params")


def parse_request(raw: bytes) -> ActionRequest:
    """Return the request that the bytes spell.

    Raises:
        JsonError: they are not one; the message names the field.
    """
    return _of(canon.loads(raw))


def request_of(value: object) -> ActionRequest:
    """Return the request that a Python object spells, as a copy of its own.

    Raises:
        JsonError: it is not one; the message names the field.
    """
    if not isinstance(value, Mapping):
        raise canon.JsonError("request: an object with tool and params")
    return _of(canon.loads(canon.dumps(value)))


def _of(value: Json) -> ActionRequest:
    if not isinstance(value, Mapping):
        raise canon.JsonError("request: an object with tool and params")
    for name in value:
        if name not in _MEMBERS:
            known = ", ".join(_MEMBERS)
            raise canon.JsonError(f"request.{name[:64]!r} is not known; accepted are {known}")
    params = value.get("params")
    if not isinstance(params, Mapping):
        raise canon.JsonError("request.params: missing, or not an object")
    texts = {name: _text(value, name) for name in _TEXTS}
    tool = texts["tool"]
    if not tool:
        raise canon.JsonError("request.tool: missing or empty; a string such as fs.read")
    return ActionRequest(
        tool=tool,
        params=params,
        id=texts["id"],
        actor=texts["actor"],
        session=texts["session"],
    )


def _text(value: Mapping[str, Json], name: str) -> str | None:
    text = value.get(name)
    if text is None and name not in value:
        return None
    if not isinstance(text, str):
        raise canon.JsonError(f"request.{name}: not a string")
    if len(text) > _MAX_NAME:
        raise canon.JsonError(f"request.{name}: longer than {_MAX_NAME} characters")
    return text
