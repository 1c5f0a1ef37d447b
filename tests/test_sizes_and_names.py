"""The names of files and types, and the size of files and functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from packages import modules, own_files, tree
from sources import ROOT

MOST_FUNCTION_LINES = 30  # its docstring left out
# A command or a stage is called what people call it, whatever else has that name.
MAY_SHARE_NAMES = {"exportlint/commands", "exportlint/trial/child/stages"}
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "misc"}


def test_a_name_stands_for_one_file_and_for_one_type() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for name, path in own_files().items():
        if path.stem not in {"__init__", "__main__"} and Path(name).parent.as_posix() not in MAY_SHARE_NAMES:
            homes[f"the file {path.stem}"].append(name)
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                homes[f"the class {node.name.strip('_')}"].append(name)
    assert {what: where for what, where in homes.items() if len(where) > 1} == {}


def test_files_are_short_and_named_for_what_they_do() -> None:
    ours = [*modules().values(), *(ROOT / "tests").rglob("*.py")]
    assert [p for p in ours if len(p.read_text("utf-8").splitlines()) > 400 and "fixtures" not in p.parts] == []
    assert [p for p in ours if p.stem.strip("_") in FORBIDDEN_NAMES] == []


def test_functions_are_short() -> None:
    """Branches are counted by ruff."""
    ours = [path for path in [*modules().values(), *(ROOT / "tests").rglob("*.py")] if "fixtures" not in path.parts]
    functions = (
        (path, node)
        for path in ours
        for node in ast.walk(tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    long = [f"{path}:{node.lineno} {node.name}" for path, node in functions if _lines(node) > MOST_FUNCTION_LINES]
    assert long == []


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (node.end_lineno or 0) - node.lineno + 1
    first = node.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return lines - ((first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0)
