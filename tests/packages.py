"""Every module that exportlint installs, its syntax tree and what it imports."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file of everything that is installed."""
    folders = {"exportlint": "exportlint", "exportlint_rules": "rules", "exportlint_rules.fixtures": "fixtures"}
    return {
        ".".join([package, *path.relative_to(ROOT / folder).with_suffix("").parts]).removesuffix(".__init__"): path
        for package, folder in folders.items()
        for path in (ROOT / folder).rglob("*.py")
    }


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(name: str) -> frozenset[str]:
    """The modules that a module imports, at whatever place in it."""
    return frozenset(_imported(tree(modules()[name])))


def _imported(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide who imports whom"
            full = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules() else str(node.module) for name in full)
