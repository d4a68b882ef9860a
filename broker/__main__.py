"""`python -m broker`: hands the command line to `broker.cli.main`."""

from __future__ import annotations

import sys

from broker.cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
