"""Parse source in a process whose threads do so at the same time."""

from __future__ import annotations

import ast
import threading

_ONE_AT_A_TIME = threading.Lock()


def syntax_tree(source: str | bytes) -> ast.Module:
    """As ast.parse, for what the threads of a run of trials parse.

    Up to Python 3.11.4, which Debian 12 has, a thread that is interrupted while it makes a tree, by another one that
    makes one, raises SystemError: "AST constructor recursion depth mismatch" (github.com/python/cpython/issues/106905).

    Raises SyntaxError and ValueError as ast.parse does.
    """
    with _ONE_AT_A_TIME:
        return ast.parse(source)
