"""Leave a statement out of the exported program: put it under `if not torch.compiler.is_exporting():`."""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite

if TYPE_CHECKING:
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_TEST = "not torch.compiler.is_exporting()"


def left_out(code: Code, node: cst.CSTNode) -> Rewrite | None:
    """The statement that the node is in runs in eager only; None where what it sets, or returns, is needed."""
    statement = _statement_of(code, node)
    if statement is None or _is_needed(code, statement):
        return None
    changes = _guarded(code, statement)
    return Rewrite("leave it out of the export", (*changes, ModuleImport("torch"))) if changes else None


def _statement_of(code: Code, node: cst.CSTNode) -> cst.CSTNode | None:
    """The line with the node; a `with` whose head it is in, as in `with open(path, "a") as file:`."""
    now: cst.CSTNode | None = node
    while now is not None and not isinstance(now, cst.BaseStatement | cst.BaseSmallStatement):
        now = code.parent(now)
    if isinstance(now, cst.BaseSmallStatement):
        return now
    return now if isinstance(now, cst.With) else None


def _guarded(code: Code, statement: cst.CSTNode) -> tuple[AnyChange, ...]:
    above = code.parent(statement)
    match above:
        case cst.SimpleStatementSuite(body=[_]) if isinstance(test := code.parent(above), cst.If) and not test.orelse:
            own = code.source_of(test.test)
            text = f"({own})" if isinstance(test.test, cst.BooleanOperation | cst.NamedExpr | cst.IfExp) else own
            return (Change(test.test, f"{text} and {_TEST}"),)
        case cst.SimpleStatementLine(body=[_]) | cst.IndentedBlock() if not _spans_text(statement):
            return (Change(statement, _under_test(code, statement)),)
    return ()


def _under_test(code: Code, statement: cst.CSTNode) -> str:
    return f"if {_TEST}:\n" + textwrap.indent(_dedented(code, statement), "    ")


def _dedented(code: Code, statement: cst.CSTNode) -> str:
    first, *more = code.source_of(statement).split("\n")
    column = code.place(statement).column - 1
    return "\n".join([first, *(line[column:] if line[:column].isspace() else line for line in more)])


def _spans_text(node: cst.CSTNode) -> bool:
    """Is there a string of several lines in it, which an indent would change?"""
    if isinstance(node, cst.SimpleString | cst.FormattedString) and "\n" in cst.Module([]).code_for_node(node):
        return True
    return any(map(_spans_text, node.children))


def _is_needed(code: Code, statement: cst.CSTNode) -> bool:
    """Does it leave the function, or set a name that is read outside of it?"""
    own = ast.parse(_dedented(code, statement)) if not _leaves(statement) else None
    if own is None:
        return True
    whole = code.function.node if code.function else code.module.tree
    inside, everywhere = _names(own, ast.Load), _names(whole, ast.Load)
    shared = {name for node in ast.walk(whole) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    return any(everywhere[name] > inside[name] for name in _names(own, ast.Store).keys() - shared)


def _leaves(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Return | cst.Raise | cst.Break | cst.Continue | cst.Yield | cst.Await):
        return True
    return any(map(_leaves, node.children))


def _names(node: ast.AST, context: type[ast.expr_context]) -> Counter[str]:
    return Counter(one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, context))
