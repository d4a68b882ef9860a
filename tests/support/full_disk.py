"""A gate whose state lies on a small file system of its own, filled and freed again.

Run as `unshare -Urm python -m tests.support.full_disk FOLDER`; prints what it saw as JSON.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.gate import Gate, make_gate

SIZE = "1m"
MOST = 400


def main() -> int:
    top = Path(sys.argv[1])
    (top / "state").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(top / "state")]
    subprocess.run(mount, check=True)
    gate = make_gate(top)
    seen: dict[str, Any] = {"before": write(gate, 0)}
    ballast = gate.state_dir / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    for number in range(1, MOST):
        seen["denied"] = write(gate, number)
        if seen["denied"][0] != 0:
            seen["at"] = number
            break
    seen["again"] = write(gate, MOST)
    seen["check"] = gate.cli("check", "fs.read", "path=src/a.py")
    ballast.unlink()
    seen["freed"] = write(gate, MOST + 1)
    seen["recover"] = gate.cli("audit", "recover")
    seen["after"] = write(gate, MOST + 2)
    seen["verify"] = gate.cli("audit", "verify")
    written = [path.name for path in (gate.workspace / "out").iterdir() if path.name.isdigit()]
    seen["written"] = sorted(map(int, written))
    seen["kinds"] = gate.kinds()
    print(json.dumps(seen))
    return 0


def write(gate: Gate, number: int) -> tuple[int, str, str]:
    words = ["fs.write", f"path=out/{number}", "content=x", f"cwd={gate.workspace}"]
    return gate.cli("run", *words)


if __name__ == "__main__":
    sys.exit(main())
