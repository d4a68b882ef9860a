"""Run one mock API: `python -m mock_apis calendar|mail|files|naive`."""

from __future__ import annotations

import sys

from mock_apis.cli import main

if __name__ == "__main__":
    sys.exit(main())
