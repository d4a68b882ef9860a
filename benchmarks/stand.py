"""A gate of its own beneath a folder, for a benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.assembly.build import Assembled, assemble, options_from
from gateway.assembly.places import places
from gateway.assembly.setup import initialize


@contextmanager
def standing(
    folder: Path, name: str, *, workspace: Path, policy: str, more: str = ""
) -> Iterator[Assembled]:
    """Register a policy, add more configuration, and let the gate stand; nobody approves."""
    where = places(
        config=str(folder / name / "config" / "config.yaml"), state_dir=str(folder / name / "state")
    )
    path = folder / name / "policy.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(policy, encoding="utf-8")
    initialize(where, workspace=workspace, policy=path)
    with where.config.open("a", encoding="utf-8") as config:
        config.write(more)
    assembled = assemble(
        options_from(
            door="python",
            policy=None,
            config=str(where.config),
            state_dir=str(where.state_dir),
            approver="none",
        )
    )
    try:
        yield assembled
    finally:
        assembled.close()
