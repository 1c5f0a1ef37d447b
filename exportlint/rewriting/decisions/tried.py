"""Write what a `try` waits for as a selection, or take the `try` away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.decisions.selection import selected_expression, selected_statement
from exportlint.rewriting.decisions.tensor_test import tensor_test
from exportlint.rewriting.source.assigned_names import every
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.replaced_parts import block_text, is_below, text_with
from exportlint.rewriting.source.straight_line import StraightLine
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


# Those that give an `info` beside the result; the last of what they give is it.
_REPORTING = {
    "cholesky": "torch.linalg.cholesky_ex", "inverse": "torch.linalg.inv_ex", "inv": "torch.linalg.inv_ex",
    "solve": "torch.linalg.solve_ex",
}  # fmt: skip


@dataclass(frozen=True)
class _Sides:
    """What the tried part and the handler give: to a name, or to the caller (`name` is None)."""

    name: str | None
    tried: cst.BaseExpression
    handled: cst.BaseExpression


def reported(code: Code, node: cst.Try) -> Iterator[Rewrite]:
    """A factorisation that may fail reports whether it did, and its result or the handler's is selected."""
    sides = _sides(node)
    calls = [one for one in every(sides.tried) if _reports(code, one)] if sides else []
    if sides is None or len(calls) != 1 or not isinstance(calls[0], cst.Call):
        return
    fresh = FreshNames(code)
    result, info = fresh.of("result"), fresh.of("info")
    lines = [f"{result}, {info} = {_reporting(code, calls[0])}"]
    tried = text_with(code, sides.tried, {calls[0]: result})
    handled = text_with(code, sides.handled, {one: f"{_reporting(code, one)}[0]" for one in _all(code, sides.handled)})
    lines.append(f"{_head(sides)}torch.where(({info} == 0).all(), {tried}, {handled})")
    yield Rewrite("ask whether it failed, and select", (Change(node, "\n".join(lines)), ModuleImport("torch")))


def asserted(code: Code, node: cst.Try) -> Iterator[Rewrite]:
    """`try: assert test; return a`, `except AssertionError: return b` selects by the test."""
    small = [one for line in node.body.body for one in line.children if isinstance(one, cst.BaseSmallStatement)]
    match small:
        case [cst.Assert() as first, last]:
            pass
        case _:
            return
    sides, test = _sides(node, [last]), tensor_test(code, first.test)
    if sides is not None and test is not None:
        text = f"{_head(sides)}torch.where({test}, {code.source_of(sides.tried)}, {code.source_of(sides.handled)})"
        yield Rewrite("compute both and select", (Change(node, text), ModuleImport("torch")))


def handled_only(code: Code, node: cst.Try) -> Iterator[Rewrite]:
    """The way of the handler, which computes the same where nothing fails."""
    handler = node.handlers[0] if len(node.handlers) == 1 and not node.orelse and not node.finalbody else None
    lines = list(handler.body.body) if handler else []
    plain = all(isinstance(one, cst.SimpleStatementLine) for one in lines)
    if handler is not None and plain and lines and handler.name is None and not _does_nothing(lines):
        yield Rewrite("go the way that cannot fail", (Change(node, block_text(code, lines)),))


def untried(code: Code, node: cst.Try | cst.With) -> Iterator[Rewrite]:
    """What is tried, with its decisions on data as selections, and without the `try`."""
    changes = dict[cst.CSTNode, str]()
    for one in every(node.body):
        found = _selected(code, one)
        changes |= {change.node: change.text for change in found or () if isinstance(change, Change)}
    lines = list(node.body.body)
    if isinstance(node, cst.Try):
        lines += list(node.orelse.body.body) if node.orelse else []
        lines += list(node.finalbody.body.body) if node.finalbody else []
    if changes and all(is_below(code, one, node) for one in changes):
        yield Rewrite(
            "compute both sides, and catch nothing",
            (Change(node, block_text(code, lines, changes)), ModuleImport("torch")),
        )


def returned_early(code: Code, node: cst.Try) -> Iterator[Rewrite]:
    """`try: if test: return a`, `except: pass`, `return b`."""
    block = code.parent(node)
    after = list(block.body)[list(block.body).index(node) + 1 :] if isinstance(block, cst.IndentedBlock) else []
    quiet = all(_does_nothing(one.body.body) for one in node.handlers) and not node.orelse and not node.finalbody
    match node.body.body, after:
        case [
            cst.If(
                test=test,
                orelse=None,
                body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Return(value=a)])]),
            )
        ], [cst.SimpleStatementLine(body=[cst.Return(value=b)])] if (
            quiet and a is not None and b is not None and (text := tensor_test(code, test)) is not None
        ):
            selected = Change(b, f"torch.where({text}, {code.source_of(a)}, {code.source_of(b)})")
            yield Rewrite("compute both sides, and catch nothing", (Change(node, ""), selected, ModuleImport("torch")))


def _selected(code: Code, node: cst.CSTNode) -> Sequence[AnyChange] | None:
    match node:
        case cst.IfExp():
            return selected_expression(code, node)
        case cst.If() if not any(isinstance(one, cst.Return) for one in every(node)):
            return selected_statement(code, node)
    return None


def _sides(node: cst.Try, tried: Sequence[cst.CSTNode] | None = None) -> _Sides | None:
    if len(node.handlers) != 1 or node.orelse or node.finalbody:
        return None
    body = StraightLine.of(list(tried) if tried is not None else list(node.body.body))
    handler = StraightLine.of(list(node.handlers[0].body.body))
    match body, handler:
        case StraightLine(statements=(), returned=cst.BaseExpression() as a), StraightLine(
            statements=(), returned=cst.BaseExpression() as b
        ) if not isinstance(a, cst.Tuple) and not isinstance(b, cst.Tuple):
            return _Sides(None, a, b)
        case StraightLine(statements=(cst.Assign(value=a),), returned=None), StraightLine(
            statements=(cst.Assign(value=b),), returned=None
        ) if body.names == handler.names and len(body.names) == 1:
            return _Sides(body.names[0], a, b)
    return None


def _head(sides: _Sides) -> str:
    return "return " if sides.name is None else f"{sides.name} = "


def _reports(code: Code, node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Call) or called(node) not in _REPORTING:
        return False
    method = isinstance(node.func, cst.Attribute) and code.value(node.func.value).is_tensor
    return method or (code.name(node.func) or "").startswith("torch.")


def _all(code: Code, node: cst.BaseExpression) -> list[cst.Call]:
    return [one for one in every(node) if isinstance(one, cst.Call) and _reports(code, one)]


def _reporting(code: Code, node: cst.Call) -> str:
    name = _REPORTING[called(node) or ""]
    given = [code.source_of(arg).rstrip(", \n") for arg in node.args]
    if isinstance(node.func, cst.Attribute) and not (code.name(node.func) or "").startswith("torch."):
        given = [code.source_of(node.func.value), *given]
    return f"{name}({', '.join(given)})"


def _does_nothing(lines: Sequence[cst.CSTNode]) -> bool:
    return all(
        isinstance(one, cst.Pass) for line in lines for one in line.children if isinstance(one, cst.BaseSmallStatement)
    )
