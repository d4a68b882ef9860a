"""`make serve`: broker and mock APIs with a demo user, agent and grant, until Ctrl-C.

Configuration, state and workspace lie beneath `.demo/` in the checkout and are made fresh at each
start. Prints what to type to use them by hand.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Final

from scripts import workplace
from scripts.services import REPOSITORY, USER, ServiceError, running

FOLDER: Final = REPOSITORY / ".demo"
PORTS: Final = {"broker": 8100, "calendar-api": 8101, "mail-api": 8102, "files-api": 8103}
APPROVAL_S: Final = 60

_SHOWN: Final = """\
broker      {issuer}   (user {user}, password {password}; your grants: {issuer}/grants)
calendar    {calendar}
mail        {mail}
files       {files}

in another terminal, from this folder:

  export XDG_CONFIG_HOME={config} XDG_STATE_HOME={state} PATH="{bin}:$PATH"
  counterfoil run api.call audience=calendar-api operation=events.read arguments:='{{}}'

Ctrl-C stops everything.
"""


def main() -> int:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="serve.py", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the places as one JSON object")
    args = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    shutil.rmtree(FOLDER, ignore_errors=True)
    services_folder = FOLDER / "services"
    services_folder.mkdir(parents=True)
    try:
        with running(services_folder, ports=PORTS) as services:
            place = workplace.lay(FOLDER, receiver="127.0.0.1:8765")
            workplace.set_up(place, services, approval_timeout_s=APPROVAL_S)
            words = {
                "issuer": services.issuer,
                "user": USER,
                "password": services.password,
                "calendar": services.urls["calendar-api"],
                "mail": services.urls["mail-api"],
                "files": services.urls["files-api"],
                "config": str(place.config.parent.parent),
                "state": str(place.state_dir.parent),
                "bin": str(Path(sys.executable).parent),
            }
            print(json.dumps(words) if args.json else _SHOWN.format(**words), flush=True)
            stop.wait()
    except ServiceError as error:
        print(f"serve: {error}", file=sys.stderr)
        return 1
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
