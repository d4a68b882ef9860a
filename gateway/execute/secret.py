"""A value that shows itself nowhere by accident: no repr, no string form, no pickle, no compare."""

from __future__ import annotations

from typing import Never


class Secret:
    """Holds a bearer value; only `reveal` gives it out, for the wire."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value."""
        return self._value

    def __repr__(self) -> str:
        return "<secret>"

    def __reduce__(self) -> Never:
        raise TypeError("a secret is not pickled or copied")
