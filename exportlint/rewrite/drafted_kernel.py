"""A fake kernel that a trial drafted from what an operator gave: written below the operator's definition."""

from __future__ import annotations

import ast
from textwrap import indent
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.finding import Applicability
from exportlint.rewrite.draft import Draft, NoRoomError
from exportlint.rule.suspicion import Replacement, SuspectedRewrite

if TYPE_CHECKING:
    from exportlint.engine.source.symbols import ModuleInfo

_DEFINING = ("custom_op", "define", "Library", "triton_op")


def pasted_below(module: ModuleInfo, line: int, code: str) -> SuspectedRewrite | None:
    """None where what stands at the line defines no operator: it may be a call, of one that is defined elsewhere."""
    draft = Draft(module)
    place = next((one for one in walked(module.tree) if isinstance(one, ast.stmt) and _begins_at(one, line)), None)
    if place is None or not any(word in ast.unparse(_head(place)) for word in _DEFINING):
        return None
    draft.add_import("torch")
    try:
        imports = draft.edits()
    except NoRoomError:
        return None
    end = (place.end_lineno or line) + 1
    text = indent(code, " " * place.col_offset)
    behind = module.parsed.text.split("\n")[end - 1 : end]
    text = f"\n\n{text}\n" + ("\n\n" if any(map(str.strip, behind)) else "")
    below = Replacement((end, 1), (end, 1), text)
    return SuspectedRewrite("register the fake kernel that the trial drafted", Applicability.UNSAFE, (*imports, below))


def _begins_at(node: ast.stmt, line: int) -> bool:
    """Or with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    first: int = min([node.lineno, *(one.lineno for one in decorators)])
    body = getattr(node, "body", None)
    last: int = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
    return first <= line <= max(last, node.lineno)


def _head(node: ast.stmt) -> ast.AST:
    """A statement; of a function what decorates it."""
    if isinstance(node, ast.FunctionDef):
        return ast.Tuple(list(node.decorator_list), ast.Load())
    return node if not hasattr(node, "body") else ast.Pass()
