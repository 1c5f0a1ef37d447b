"""Recurrences: a loop over a dim whose steps hand something on, as the operator `scan`.

A loop that Python takes is unrolled: its program has as many steps as the sample was long. `scan` takes as many as
there are, gives each the rows of its own, and hands on what the step before left.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from exportlint.engine.flow.control_flow import statements
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.counting_loops import counted
from exportlint.rewrite.draft import Swapped, as_target, expression
from exportlint.rewrite.draft import statements as written
from exportlint.rewrite.grown_lists import appended
from exportlint.rewrite.rows_at_once import join_reads, rows_of
from exportlint.rewrite.straight_line import StraightLine, names_set
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rewrite.transformation import Site

_HOW = "hand on from step to step with the operator `scan`"
_STEP = "one_step"


def recurrence(site: Site) -> Iterator[Proposal]:
    """For the innermost loop that the site is the head of or stands in."""
    if site.view is None:
        return
    view, draft = site.fresh_view(), site.draft()
    loops = [one for one in walked(view.node) if isinstance(one, ast.For | ast.While)
             and any(inner is site.node for inner in walked(one))]  # fmt: skip
    if not loops:
        return
    node = loops[-1]
    loop = counted(view, node)
    if node.orelse or _STEP in view.flow.names or any(isinstance(one, ast.Return | ast.Break | ast.Continue) for one in
                                                      statements(loop.body)):  # fmt: skip
        raise CannotError("a loop is left")
    line = StraightLine(view)
    carried = sorted(line.carried(node) - {loop.counter})
    if not carried or any("." in name for name in carried):
        raise CannotError("a loop carries attributes, or nothing")
    lists = dict(found for one in loop.body if (found := appended(one)) is not None)
    steps = [one for one in loop.body if appended(one) is None]
    plain = all(isinstance(one, ast.Assign | ast.AugAssign) for one in steps)
    if not plain or len(lists) + len(steps) != len(loop.body):
        raise CannotError("a step does more than to set names")
    inside = {name for one in steps for name in names_set(one)}
    if (inside - set(carried)) & view.flow.live_after(node):
        raise CannotError("what only the last step set is read behind the loop")
    begun = [_begun(view.body, name) for name in lists]
    rows = rows_of(view, loop.target, loop.over, [*steps, *lists.values()])
    if any(isinstance(one, ast.Starred) for one in rows.tensors):
        raise CannotError("nothing says how many rows there are")
    entries = Swapped(rows.entries)
    view.data |= {*rows.parameters, *carried}
    body = [new for one in steps for new in line._statement(cast("ast.stmt", entries.visit(one)))]  # noqa: SLF001 - one idea in two files
    outputs = [cast("ast.expr", entries.visit(one)) for one in lists.values()]
    function = _function(carried, rows.parameters, body, outputs)
    first = [_first(line, name, node) for name in carried]
    names = [ast.Name(name, ast.Load()) for name in lists] or [ast.Name("_", ast.Load())]
    call = expression("torch._higher_order_ops.scan(STEP, FIRST, ROWS)", STEP=_STEP, FIRST=_one_or_all(first),
                      ROWS=_one_or_all(rows.tensors))  # fmt: skip
    last = _names(carried)
    target = as_target(ast.Tuple([last, _one_or_all(names)], ast.Load()))
    for one in begun:
        draft.replace(one, [])
    if loop.begun is not None:
        draft.replace(loop.begun, [])
    draft.replace(node, [*rows.before, function, ast.Assign([target], call), *loop.behind])
    for name, one in zip(lists, begun, strict=True):
        join_reads(view, draft, name, [one, node])
    yield Proposal(_HOW, draft)


def _begun(body: Sequence[ast.stmt], name: str) -> ast.stmt:
    """The statement that begins the list, which has to be empty. Raises CannotError."""
    for one in statements(body):
        match one:
            case ast.Assign(targets=[ast.Name(id=own)], value=ast.List(elts=[])) if own == name:
                return one
            case ast.AnnAssign(target=ast.Name(id=own), value=ast.List(elts=[])) if own == name:
                return one
    raise CannotError("the list is made elsewhere")


def _first(line: StraightLine, name: str, node: ast.For | ast.While) -> ast.expr:
    """What a name begins with: a tensor of its own, since `scan` refuses two that share memory."""
    inside = {id(one) for one in walked(node)}
    begun = [one for one in line.flow.definitions(name, node) if id(one) not in inside]
    tensor = line._as_tensor(name, node)  # noqa: SLF001 - as above
    match begun:
        case [ast.Assign(targets=[ast.Name()], value=value)] if not isinstance(tensor, ast.Name) or _is_new(value):
            return tensor
    return expression("X.clone()", X=tensor)


def _is_new(node: ast.expr) -> bool:
    made = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return made.removesuffix("_like").endswith(("zeros", "ones", "full", "randn", "rand"))


def _function(
    carried: Sequence[str], rows: Sequence[str], body: list[ast.stmt], outputs: Sequence[ast.expr]
) -> ast.FunctionDef:
    """What a step does: what it is handed, and its rows, to what it hands on, and what it gives. Neither may be the
    other's memory."""
    given = {"handed_on": carried, "row": rows}
    single = {parameter: names[0] if len(names) == 1 else parameter for parameter, names in given.items()}
    unpacked = [
        ast.Assign([as_target(_names(names))], ast.Name(parameter, ast.Load()))
        for parameter, names in given.items()
        if len(names) > 1
    ]
    made = [expression("X.clone()", X=one) if _may_be_view(one) else one for one in outputs]
    made = made or [expression("X.clone()", X=carried[0])]
    result = ast.Tuple([_names(carried), _one_or_all(made)], ast.Load())
    arguments = ast.arguments([], [ast.arg(one) for one in single.values()], None, [], [], None, [])
    (function,) = written("def STEP(): pass", STEP=_STEP)
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - it was written so
    function.args, function.body = arguments, [*unpacked, *body, ast.Return(result)]
    return function


def _may_be_view(node: ast.expr) -> bool:
    """May it share the memory of what a step hands on?"""
    match node:
        case ast.BinOp() | ast.UnaryOp():
            return False
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self" | "torch"))):
            return False
    return True


def _names(names: Sequence[str]) -> ast.expr:
    return _one_or_all([ast.Name(one, ast.Load()) for one in names])


def _one_or_all(some: Sequence[ast.expr]) -> ast.expr:
    return some[0] if len(some) == 1 else ast.Tuple(list(some), ast.Load())
