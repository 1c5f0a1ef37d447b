"""What becomes of an error that the code raises."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_OF_IMPORTS = frozenset({"ImportError", "ModuleNotFoundError"})


def handles_errors(code: Code) -> bool:
    """Does the file handle errors that a check raises? What a program raises in the check's place is a RuntimeError."""
    handlers = (one for one in ast.walk(code.module.parsed.tree) if isinstance(one, ast.ExceptHandler))
    return any(not _names(one) <= _OF_IMPORTS or one.type is None for one in handlers)


def _names(handler: ast.ExceptHandler) -> set[str]:
    return {one.id for one in ast.walk(handler.type) if isinstance(one, ast.Name)} if handler.type else set()
