"""The shape of the tree: length, docstrings, mirrored tests, no print, no shell, known reasons."""

from __future__ import annotations

import ast
import re

import pytest

from gateway.model.reasons import REASONS
from tests.repo.tree import CODE, ROOT, SHIPPED, modules, parsed, relative

MAX_LINES = 400

# A module without a test file of its own, and the test file that covers it.
COVERED_BY = {
    "broker/__main__.py": "tests/broker/cli/test_main.py",
    "broker/cli/options.py": "tests/broker/cli/test_main.py",
    "broker/endpoints/context.py": "tests/broker/endpoints/test_token.py",
    "broker/grants/context.py": "tests/broker/endpoints/test_token.py",
    "broker/store/schema.py": "tests/broker/store/test_database.py",
    "gateway/observe/stage.py": "tests/gateway/test_pipeline.py",
    "mock_apis/__main__.py": "tests/mock_apis/test_cli.py",
}
# Values without behaviour: nothing to test but their use.
VALUES = re.compile(r"gateway/model/|.*/grammar/(?!engine)")


def _mirror(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"tests/{folder}/test_{name}"


def _needs_test(path: str) -> bool:
    return not (path.endswith("__init__.py") or VALUES.match(path))


def test_modules_stay_under_the_line_limit():
    long = {
        relative(path): lines
        for path in modules(*CODE)
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long


def test_every_module_opens_with_its_contract():
    bare = [relative(path) for path in modules(*CODE) if not ast.get_docstring(parsed(path))]
    assert not bare


def test_every_module_has_its_mirrored_test():
    missing = []
    for path in map(relative, modules("gateway", "broker", "mock_apis")):
        if _needs_test(path):
            wanted = COVERED_BY.get(path, _mirror(path))
            if not (ROOT / wanted).is_file():
                missing.append(f"{path} -> {wanted}")
    assert not missing


def test_every_tests_folder_is_a_package():
    folders = {path.parent for path in modules("tests")}
    assert not [relative(folder) for folder in folders if not (folder / "__init__.py").is_file()]


def test_library_code_never_prints():
    found = []
    for path in modules(*SHIPPED, "mock_apis"):
        for node in ast.walk(parsed(path)):
            name = (
                node.func.id
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                else ""
            )
            if name in {"print", "eval", "exec", "breakpoint", "input"}:
                found.append(f"{relative(path)}:{node.lineno} {name}")
    assert not found


def test_no_shipped_code_asks_for_a_shell():
    found = []
    for path in modules(*SHIPPED, "mock_apis"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.keyword) and node.arg == "shell":
                value = node.value
                if not (isinstance(value, ast.Constant) and value.value is False):
                    found.append(f"{relative(path)}:{value.lineno}")
    assert not found


def test_no_error_is_swallowed():
    found = []
    for path in modules(*CODE):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ExceptHandler) and all(
                isinstance(one, ast.Pass) for one in node.body
            ):
                found.append(f"{relative(path)}:{node.lineno}")
    assert not found


def test_reason_codes_are_of_the_one_table():
    """Every literal given as `reason=`, `code =` or to deny()/ExecutionError() is a known code."""
    unknown = []
    for path in modules("gateway"):
        for node in ast.walk(parsed(path)):
            for literal in _reasons(node):
                if literal not in REASONS:
                    unknown.append(f"{relative(path)}: {literal}")
    assert not unknown


def _reasons(node: ast.AST) -> list[str]:
    found: list[ast.expr] = []
    if isinstance(node, ast.Call):
        found += [word.value for word in node.keywords if word.arg == "reason"]
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name in {"ExecutionError", "deny", "denied"} and node.args:
            found.append(node.args[0])
    if isinstance(node, ast.ClassDef) and any("Error" in ast.unparse(base) for base in node.bases):
        found += [
            one.value
            for one in node.body
            if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "code"
        ]
    return [one.value for one in found if isinstance(one, ast.Constant) and one.value]


def test_only_the_pipeline_issues_permits():
    callers = {
        relative(path)
        for path in modules(*SHIPPED)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute)
        and node.attr == "issue"
        and isinstance(node.value, ast.Name)
        and node.value.id == "Permit"
    }
    assert callers == {"gateway/pipeline.py"}


def test_the_pipeline_is_short():
    lines = (ROOT / "gateway/pipeline.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150


@pytest.mark.parametrize("folder", ["gateway", "broker"])
def test_typed_marker_is_there(folder):
    assert (ROOT / folder / "py.typed").is_file()
