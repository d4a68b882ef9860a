"""Leaves out tests whose tool is missing, says so at the end, or fails them where none may be."""

from __future__ import annotations

import os
import shutil

import pytest

REQUIRE = "COUNTERFOIL_REQUIRE_TOOLS"
_left_out: list[tuple[str, str]] = []


def _missing(item: pytest.Item) -> list[str]:
    tools = [mark.args[0] for mark in item.iter_markers("needs")]
    return [tool for tool in tools if shutil.which(tool) is None]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get(REQUIRE):
        return
    out = [item for item in items if _missing(item)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]
        _left_out.extend((item.nodeid, ", ".join(_missing(item))) for item in out)
        if hasattr(config, "workeroutput"):
            config.workeroutput["left_out"] = _left_out


def pytest_runtest_setup(item: pytest.Item) -> None:
    if missing := _missing(item):
        pytest.fail(f"needs {', '.join(missing)}, and {REQUIRE} is set", pytrace=False)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    _left_out.extend(tuple(pair) for pair in getattr(node, "workeroutput", {}).get("left_out", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for nodeid, tools in sorted(set(_left_out)):
        terminalreporter.write_line(f"not run: {nodeid} (needs {tools})")
