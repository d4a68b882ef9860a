"""What normalization is given by assembly, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.model.catalogue import ApiOperation
from gateway.normalize.hardlinks import Guard
from gateway.normalize.roots import Roots

WRITE_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`apis`: audience to operation name to operation. `programs`: name to absolute executable.

    `left_out`: the globs the policy protects or denies reading, variables filled in; git is told to
    leave them out of what it shows.
    `read_bytes`: no larger file is opened for reading. `write_bytes`: no larger content is written.
    """

    roots: Roots
    guard: Guard
    apis: Mapping[str, Mapping[str, ApiOperation]] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    read_bytes: int = 1_048_576
    write_bytes: int = WRITE_BYTES
