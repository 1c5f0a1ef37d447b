"""A `for` statement over rows that adds up, collects or writes one result a row, as one `torch.vmap`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.iteration.row_wise import RowStep, joined_change, joining, with_check
from exportlint.rewriting.numbers.rows import Rows, names_read, rows_of
from exportlint.rewriting.source.assigned_names import every, reads, set_to
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.straight_line import StraightLine
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_AT_ONCE = "compute all rows at once with `torch.vmap`"
_REDUCED = {cst.Add: ("+", "sum"), cst.Multiply: ("*", "prod"), cst.Subtract: ("-", "sum")}
_AUGMENTED: dict[type, type[cst.Add | cst.Multiply | cst.Subtract]] = {
    cst.AddAssign: cst.Add,
    cst.MultiplyAssign: cst.Multiply,
    cst.SubtractAssign: cst.Subtract,
}


@dataclass(frozen=True)
class _Loop:
    code: Code
    node: cst.For
    rows: Rows
    locals: Sequence[cst.CSTNode]
    last: cst.BaseSmallStatement


def loop_at_once(code: Code, node: cst.For) -> Iterator[Rewrite]:
    """Nothing where a step needs what another one left."""
    rows = rows_of(code, node.target, node.iter)
    body = list(node.body.body) if isinstance(node.body, cst.IndentedBlock) else []
    if rows is None or node.orelse is not None or not body or not isinstance(body[-1], cst.SimpleStatementLine):
        return
    loop = _Loop(code, node, rows, body[:-1], body[-1].body[-1])
    if len(body[-1].body) > 1 or not _are_local(loop):
        return
    match loop.last:
        case cst.Expr(
            value=cst.Call(func=cst.Attribute(value=cst.Name() as out, attr=cst.Name(value="append")), args=[added])
        ):
            yield from _appended(loop, out, added.value)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as target)], value=value):
            yield from _written(loop, target, "=", value)
        case cst.AugAssign(target=cst.Subscript() as target, operator=operator, value=value) if (
            type(operator) in _AUGMENTED
        ):
            yield from _written(loop, target, _text(operator).strip(), value)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.BinaryOperation() as whole):
            yield from _accumulated(loop, name, whole.operator, _other_side(whole, name))
        case cst.AugAssign(target=cst.Name(value=name), operator=operator, value=value) if type(operator) in _AUGMENTED:
            yield from _accumulated(loop, name, _AUGMENTED[type(operator)](), value)


def _are_local(loop: _Loop) -> bool:
    """Are the statements before the last assignments of names that only the step itself uses?"""
    if not loop.locals:
        return True
    block = StraightLine.of(loop.locals)
    if block is None or block.returned is not None or any(isinstance(one, cst.AugAssign) for one in block.statements):
        return False
    inside = {id(one) for one in every(loop.node)}
    for name in block.names:
        found = next(one for one in every(loop.node) if isinstance(one, cst.Name) and one.value == name)
        if any(id(one) not in inside for one in reads(loop.code, found)) or not _set_first(loop, name):
            return False
    return True


def _set_first(loop: _Loop, name: str) -> bool:
    for line in loop.locals:
        block = StraightLine.of([line])
        value = getattr(block.statements[0], "value", None) if block and block.statements else None
        if value is not None and name in names_read([value]):
            return False
        if block is not None and name in block.names:
            return True
    return False


def _other_side(whole: cst.BinaryOperation, name: str) -> cst.BaseExpression | None:
    """`new` of `total + new`."""
    match whole:
        case cst.BinaryOperation(left=cst.Name(value=left), right=right) if left == name:
            return right
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Multiply(), right=cst.Name(value=right)) if (
            right == name
        ):
            return left
    return None


def _accumulated(
    loop: _Loop, name: str, operator: cst.BaseBinaryOp, value: cst.BaseExpression | None
) -> Iterator[Rewrite]:
    found = _REDUCED.get(type(operator))
    if value is None or found is None or name in names_read([*loop.locals, value]):
        return
    sign, method = found
    lines, mapped = _mapped(loop, value)
    text = "\n".join([*lines, f"{name} = {name} {sign} {mapped}.{method}(0)"])
    yield Rewrite(_AT_ONCE, (Change(loop.node, text), ModuleImport("torch")))


def _appended(loop: _Loop, out: cst.Name, value: cst.BaseExpression) -> Iterator[Rewrite]:
    made, end = _made_empty(loop, out)
    if made is None or out.value in names_read([*loop.locals, value]):
        return
    statement, changes = loop.code.parent(made), []
    inside = {id(one) for one in every(loop.node)}
    for one in reads(loop.code, out):
        if id(one) in inside or loop.code.place(one).line > end:
            continue
        if (joined := joining(loop.code, one)) is None:
            return
        changes.append(joined_change(loop.code, *joined, out.value))
    lines, mapped = _mapped(loop, value)
    loop_change = Change(loop.node, "\n".join([*lines, f"{out.value} = {mapped}"]))
    if statement is not None and changes:
        gone: tuple[AnyChange, ...] = (Change(statement, ""), loop_change, *changes, ModuleImport("torch"))
        yield from with_check(loop.code, _expression(loop.node), _AT_ONCE, gone, loop.rows)


def _made_empty(loop: _Loop, out: cst.Name) -> tuple[cst.List | None, float]:
    """The `[]` that the name is set to before the loop, and the line where it is set to something else after it."""
    settings = set_to(loop.code, out)
    lines = loop.code.place(loop.node)
    before = [value for name, value in settings if loop.code.place(name).line < lines.line]
    after = [float(loop.code.place(name).line) for name, _ in settings if loop.code.place(name).line > lines.end_line]
    made = before[0] if len(before) == 1 and len(before) + len(after) == len(settings) else None
    return (made if isinstance(made, cst.List) and not made.elements else None), min(after, default=float("inf"))


def _expression(node: cst.For) -> cst.BaseExpression:
    return node.iter


def _written(loop: _Loop, target: cst.Subscript, sign: str, value: cst.BaseExpression) -> Iterator[Rewrite]:
    """`out[i] = f(x[i])`"""
    index, owner = loop.rows.counted, loop.code.source_of(target.value)
    first, *rest = [loop.code.source_of(part) for part in target.slice]
    if index is None or first != index or any(index in names_read([part]) for part in target.slice[1:]):
        return
    if {one for one in names_read([target.value]) if one != "self"} & set(names_read([*loop.locals, value])):
        return
    lines, mapped = _mapped(loop, value)
    slices = ", ".join([f": {loop.rows.length}", *rest])
    text = "\n".join([*lines, f"{owner}[{slices}] {sign} {mapped}"])
    yield Rewrite(_AT_ONCE, (Change(loop.node, text), ModuleImport("torch")))


def _mapped(loop: _Loop, value: cst.BaseExpression) -> tuple[list[str], str]:
    """The lines that define the step, and the source of all results."""
    body: list[cst.CSTNode] = [*loop.locals, value]
    step = RowStep.of(loop.code, loop.rows, body)
    if not loop.locals:
        return [], step.mapped(f"lambda {step.parameters}: {step.text(value)}")
    function = FreshNames(loop.code).of("step")
    block = StraightLine.of(loop.locals)
    assert block is not None  # noqa: S101 - _are_local
    inner = [_line(step, one) for one in block.statements]
    head = [
        f"def {function}({step.parameters}):",
        *(f"    {line}" for line in inner),
        f"    return {step.text(value)}",
        "",
    ]
    return head, step.mapped(function)


def _line(step: RowStep, one: cst.BaseSmallStatement) -> str:
    match one:
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
            return f"{_text(target)} = {step.text(value)}"
        case cst.AnnAssign(target=target, value=cst.BaseExpression() as value):
            return f"{_text(target)} = {step.text(value)}"
    return _text(one)


def _text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
