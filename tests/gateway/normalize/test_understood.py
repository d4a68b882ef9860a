"""The parts of a command: which object an operand is."""

from __future__ import annotations

from gateway.model.plan import Identity, Operand
from gateway.normalize.understood import Opened

IDENTITY = Identity(device=1, inode=2**63, size=3, mtime_ns=4, ctime_ns=5)
OPERAND = Operand(root_fd=9, relative="a", path="/ws/a", identity=IDENTITY)


def test_a_file_is_shown_with_all_that_tells_it() -> None:
    assert Opened(operand=OPERAND, is_directory=False).to_json() == {
        "path": "/ws/a",
        "device": "1",
        "inode": str(2**63),
        "size": "3",
        "modified_ns": "4",
    }


def test_a_directory_is_the_same_one_when_its_entries_change() -> None:
    assert Opened(operand=OPERAND, is_directory=True).to_json() == {
        "path": "/ws/a",
        "device": "1",
        "inode": str(2**63),
    }
