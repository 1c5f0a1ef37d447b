"""Counting loops: a `while` that counts is a `for` over a range.

`t = 0`, `while t < n: …; t += 1` takes the steps of `for t in range(n)`, and so do its other spellings: `n > t`,
`t != n`, `not t >= n`, down from the last one, `while True` with `if t == n: break` as its first statement. What is
known of loops over a range then serves for them, too.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.engine.flow.control_flow import statements
from exportlint.engine.flow.def_use import defined
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import expression
from exportlint.rewrite.transformation import CannotError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.rewrite.view import View

_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.NotEq: ast.NotEq, ast.Eq: ast.Eq,
}  # fmt: skip
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.NotEq: ast.Eq, ast.Eq: ast.NotEq,
}  # fmt: skip


@dataclass(frozen=True)
class Counted:
    """A loop as a `for`: over what, with which steps.

    counter   the name that the author counts with, which is no part of what the steps hand on; "" in a `for`
    begun     the statement that sets the counter and nothing else
    behind    what it is behind the loop, where somebody reads it
    """

    target: ast.expr
    over: ast.expr
    body: Sequence[ast.stmt]
    counter: str = ""
    begun: ast.stmt | None = None
    behind: Sequence[ast.stmt] = ()


def counted(view: View, node: ast.For | ast.While) -> Counted:
    """Raises CannotError where a `while` does not count."""
    if isinstance(node, ast.For):
        return Counted(node.target, node.iter, node.body)
    going, body = _goes_on(node)
    for test in _both_ways(going):
        match test:
            case ast.Compare(left=ast.Name(id=counter), ops=[op], comparators=[bound]):
                by = _step(counter, body)
                if by is not None:
                    return _as_range(view, node, body, counter, by, op, bound)
    raise CannotError("the loop does not count")


def _goes_on(node: ast.While) -> tuple[ast.expr, Sequence[ast.stmt]]:
    """The test of one more step, and the step."""
    match node:
        case ast.While(
            test=ast.Constant(value=True), body=[ast.If(test=test, body=[ast.Break()], orelse=[]), *rest], orelse=[]
        ) if rest:
            return ast.UnaryOp(ast.Not(), test), rest
        case ast.While(test=test, body=body, orelse=[]):
            return test, body
    raise CannotError("a loop is left")


def _both_ways(test: ast.expr) -> list[ast.Compare]:
    """The comparison as it is read from either side, without a `not` around it; `t + 1 < n` as `t < n - 1`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=inner)):
            return _both_ways(inner)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(left=left, ops=[op], comparators=[right])) if (
            type(op) in _OPPOSITE
        ):
            return _both_ways(ast.Compare(left, [_OPPOSITE[type(op)]()], [right]))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _MIRRORED:
            ways = [ast.Compare(left, [op], [right]), ast.Compare(right, [_MIRRORED[type(op)]()], [left])]
            return [_alone(one) for one in ways]
    return []


def _alone(test: ast.Compare) -> ast.Compare:
    match test:
        case ast.Compare(
            left=ast.BinOp(left=ast.Name() as name, op=ast.Add(), right=ast.Constant(value=int()) as more),
            ops=ops,
            comparators=[bound],
        ):
            return ast.Compare(name, ops, [expression("BOUND - MORE", BOUND=bound, MORE=more)])
    return test


def _step(counter: str, body: Sequence[ast.stmt]) -> int | None:
    """By how much the counter goes on in each step, where its last statement alone sets it."""
    setting = [one for one in statements(body) if counter in {*defined(one)}]
    if len(setting) != 1 or setting[0] is not body[-1]:
        return None
    match setting[0]:
        case (
            ast.AugAssign(op=ast.Add() | ast.Sub() as op, value=ast.Constant(value=int(by)))
            | ast.Assign(
                targets=[ast.Name()],
                value=ast.BinOp(left=ast.Name(), op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(by))),
            )
        ) if all(one.id == counter for one in walked(setting[0]) if isinstance(one, ast.Name)):
            return by if isinstance(op, ast.Add) else -by
    return None


def _as_range(
    view: View, node: ast.While, body: Sequence[ast.stmt], counter: str, by: int, op: ast.cmpop, bound: ast.expr
) -> Counted:
    steps = body[:-1]
    if not steps or any(isinstance(one, ast.Continue | ast.Break | ast.Return) for one in statements(steps)):
        raise CannotError("a loop is left")
    inside = {id(one) for one in walked(node)}
    begun = [one for one in view.flow.definitions(counter, node) if id(one) not in inside]
    if len(begun) != 1 or not isinstance(begun[0], ast.Assign) or (first := _value(begun[0], counter)) is None:
        raise CannotError("nothing says where the loop begins to count")
    match by, op:
        case 1, ast.Lt() | ast.NotEq():
            end = bound
        case 1, ast.LtE():
            end = _more(bound, 1)
        case -1, ast.Gt() | ast.NotEq():
            end = bound
        case -1, ast.GtE():
            end = _more(bound, -1)
        case _:
            raise CannotError("the loop counts in another way")
    is_zero = isinstance(first, ast.Constant) and first.value == 0
    given = [end] if by == 1 and is_zero else [first, end] if by == 1 else [first, end, ast.Constant(-1)]
    over = ast.Call(ast.Name("range", ast.Load()), given, [])
    read_behind = counter in view.flow.live_after(node)
    behind = [ast.Assign([ast.Name(counter, ast.Store())], end)] if read_behind else []
    alone = isinstance(begun[0].targets[0], ast.Name) and len(begun[0].targets) == 1
    readers = view.flow.readers(begun[0], counter)
    goes = alone and all(id(one) in inside for one in readers)
    return Counted(ast.Name(counter, ast.Store()), over, steps, counter, begun[0] if goes else None, behind)


def _value(node: ast.Assign, name: str) -> ast.expr | None:
    """What it sets the name to: `t = 0`, `t, total = 0, x`, `t = u = 0`."""
    for target in node.targets:
        match target, node.value:
            case ast.Name(id=own), value if own == name:
                return value
            case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
                for one, value in zip(names, values, strict=True):
                    if isinstance(one, ast.Name) and one.id == name:
                        return value
    return None


def _more(node: ast.expr, by: int) -> ast.expr:
    match node:
        case ast.Constant(value=int(number)):
            return ast.Constant(number + by)
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1)) if by == 1:
            return left
    return expression("BOUND + 1" if by == 1 else "BOUND - 1", BOUND=node)
