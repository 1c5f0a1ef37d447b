"""Do in `__init__` what forward does once: sizes that a sample shows become numbers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rule.editing.repair import Change, Elsewhere, InInit, Rewrite
from exportlint.rule.patterns import called, dotted, text_argument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_ADDS = frozenset({"register_parameter", "register_buffer", "add_module", "register_module"})


def moved_guarded(code: Code, node: cst.CSTNode) -> Rewrite | None:
    """`if self.scale is None: self.scale = …` is done in `__init__`; None where a variable of forward is in it."""
    guard = _guard(code, node)
    lines = [_movable(code, line) for line in guard.body.body] if guard is not None else []
    if guard is None or not lines or None in lines:
        return None
    return Rewrite(
        "do it in `__init__`", (Change(guard, ""), *_in_init(code, guard.body.body, [one or "" for one in lines]))
    )


def moved_statement(code: Code, node: cst.CSTNode) -> Rewrite | None:
    """A statement of the function's own block that does the same in every call is done in `__init__`."""
    statement = code.parent(node)
    line = code.parent(statement) if isinstance(statement, cst.Expr) else None
    block = code.parent(line) if isinstance(line, cst.SimpleStatementLine) else None
    if line is None or statement is None or block is None or not isinstance(code.parent(block), cst.FunctionDef):
        return None
    text = _movable(code, line)
    return None if text is None else Rewrite("do it in `__init__`", (Change(statement, ""), InInit(text)))


def _in_init(code: Code, body: Sequence[cst.CSTNode], lines: Sequence[str]) -> list[AnyChange]:
    """In the place where `__init__` says None, or at its end."""
    changes: list[AnyChange] = []
    rest: list[str] = []
    for line, text in zip(body, lines, strict=True):
        definition = _definition(code, line)
        if definition is not None and not _comes_later(code, definition, text):
            changes.append(Elsewhere(definition, text))
        else:
            rest.append(text)
    return [*changes, *([InInit("\n".join(rest))] if rest else [])]


def _comes_later(code: Code, definition: ast.stmt, text: str) -> bool:
    """Does the text read an attribute that `__init__` sets below the definition?"""
    read = {one.attr for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Attribute)}
    init = code.cls.method("__init__") if code.cls is not None else None
    return init is not None and any(
        isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and one.attr in read
        and one.lineno > definition.lineno
        for one in ast.walk(init.node)
    )


def _definition(code: Code, line: cst.CSTNode) -> ast.stmt | None:
    match line:
        case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=target)])]):
            name = (dotted(target) or "").removeprefix("self.")
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call() as call)]) if called(call) in _ADDS:
            name = text_argument(call) or ""
        case _:
            return None
    return OwnAttribute(code.cls, name).definition if code.cls is not None and name else None


def _guard(code: Code, node: cst.CSTNode) -> cst.If | None:
    """An `if` on the object alone, of the function's own block."""
    now: cst.CSTNode | None = node
    while now is not None and not isinstance(now, cst.If | cst.FunctionDef):
        now = code.parent(now)
    if not isinstance(now, cst.If) or now.orelse is not None or not isinstance(now.body, cst.IndentedBlock):
        return None
    block = code.parent(now)
    alone = _on_object(now.test) and isinstance(code.parent(block) if block else None, cst.FunctionDef)
    return now if alone else None


def _on_object(test: cst.BaseExpression) -> bool:
    text = cst.Module([]).code_for_node(test)
    names = {one.id for one in ast.walk(ast.parse(text.strip())) if isinstance(one, ast.Name)}
    return "self" in names and names <= {"self", "hasattr", "getattr", "isinstance"}


def _movable(code: Code, line: cst.CSTNode) -> str | None:
    """The text of a line for `__init__`; None where it needs what forward is given."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    text = line.body[0].visit(Sized(code))
    source = cst.Module([]).code_for_node(text) if isinstance(text, cst.CSTNode) else ""
    names = {
        one.id for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }
    return source if source and not (names - {"self"}) & set(code.sketch.bound) else None


class Sized(cst.CSTTransformer):
    """Sizes and shapes that are known, as numbers."""

    def __init__(self, code: Code) -> None:
        super().__init__()
        self._code = code

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        if isinstance(original_node, cst.Subscript | cst.Call | cst.Name | cst.Attribute | cst.BinaryOperation):
            value = self._code.value(original_node)
            extent = getattr(value.lead, "extent", None) if value.kind is Kind.SIZE else None
            if extent is not None and extent.number is not None:
                return cst.Integer(str(extent.number))
            dims = getattr(value.lead, "dims", None) if value.kind is Kind.SHAPE else None
            if dims and all(dim is not None and dim.number is not None for dim in dims):
                return cst.parse_expression(repr(tuple(dim.number for dim in dims)))
        return updated_node
