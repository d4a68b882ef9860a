"""Refuse to stand beside another distribution that owns one of our import names (ADR 0001).

Two distributions in one folder overwrite each other's modules without a message; which code then
decides cannot be known.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

from gateway.errors import CounterfoilError

DISTRIBUTION: Final = "counterfoil"
NAMES: Final = ("gateway", "broker")


class NameCollisionError(CounterfoilError):
    """Another distribution owns an import name of ours."""

    code = "name_collision"


def check_names() -> None:
    """Refuse a second owner.

    A folder `gateway` or `broker` holds the package of exactly one distribution; another one's
    list of files naming it is the collision.

    Raises:
        NameCollisionError: with the other's name and the remedy.
    """
    for site in {_site(name) for name in NAMES} - {None}:
        for record in Path(str(site)).glob("*.dist-info/RECORD"):
            owner = record.parent.name.partition("-")[0]
            if owner.lower() != DISTRIBUTION and _owns(record):
                raise NameCollisionError(
                    f"the distribution {owner!r} also installs `gateway` or `broker`; install "
                    "counterfoil alone (`pipx install counterfoil`)"
                )


def _site(name: str) -> str | None:
    """Return the folder our package lies in, if it is one where distributions are installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise NameCollisionError(f"the import name {name!r} is not counterfoil's package")
    folder = Path(spec.origin).parent.parent
    return str(folder) if any(folder.glob("*.dist-info")) else None


def _owns(record: Path) -> bool:
    starts = tuple(f"{name}/" for name in NAMES)
    with record.open(encoding="utf-8", errors="replace") as lines:
        return any(line.lstrip('"').startswith(starts) for line in lines)
