"""Rows at once: a loop over the rows of a tensor, whose steps know nothing of each other, as one `torch.vmap`.

A loop that Python takes has as many steps as the sample has rows; what is mapped has as many as there are.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from exportlint.engine.flow.control_flow import statements
from exportlint.rewrite.draft import changed_copy, expression
from exportlint.rewrite.draft import statements as written
from exportlint.rewrite.straight_line import StraightLine, Swapped, names_set
from exportlint.rewrite.transformation import CannotError, Proposal
from exportlint.rewrite.view import Nature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_HOW = "compute all rows at once with `torch.vmap`"
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)


@dataclass(frozen=True)
class _Rows:
    """Parameters of the function of one row, the tensors that they are rows of, and what they stand for in a step."""

    parameters: tuple[str, ...]
    tensors: tuple[ast.expr, ...]
    entries: dict[int, ast.expr]

    def called(self, function: ast.expr) -> ast.expr:
        return ast.Call(expression("torch.vmap(F)", F=function), list(self.tensors), [])

    def arguments(self) -> ast.arguments:
        return ast.arguments([], [ast.arg(one) for one in self.parameters], None, [], [], None, [])


def rows_at_once(site: Site) -> Iterator[Proposal]:
    """For the innermost comprehension, and the innermost loop, that the site is the head of or stands in."""
    view = site.view
    if view is None:
        return
    around = [one for one in ast.walk(view.node) if any(inner is site.node for inner in ast.walk(one))]
    listed = [one for one in around if isinstance(one, _COMPREHENSIONS)]
    loops = [one for one in around if isinstance(one, ast.For)]
    draft = site.draft()
    if listed:
        _comprehension(view, draft, listed[-1])
    elif loops:
        _loop(view, draft, loops[-1])
    else:
        return
    yield Proposal(_HOW, draft)


def _comprehension(view: View, draft: Draft, node: ast.ListComp | ast.GeneratorExp) -> None:
    if len(node.generators) > 1 or node.generators[0].ifs:
        raise CannotError("data says which rows there are")
    rows = _rows(view, node.generators[0].target, node.generators[0].iter, [node.elt])
    step = ast.Lambda(rows.arguments(), cast("ast.expr", Swapped(rows.entries).visit(node.elt)))
    call = _joining(view, node)
    if call is not None:
        draft.swap(call, _joined(view, call, rows.called(step)))
        return
    name = next((
        one.targets[0].id for one in ast.walk(view.node)
        if isinstance(one, ast.Assign) and one.value is node and isinstance(one.targets[0], ast.Name)
    ), None)  # fmt: skip
    if name is None:
        raise CannotError("it is not stacked")
    draft.swap(node, rows.called(step))
    _join_reads(view, draft, name, [])


def _loop(view: View, draft: Draft, node: ast.For) -> None:
    *before, last = node.body
    match last:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[value])):
            pass
        case _:
            raise CannotError("a step gives nothing to a list")
    begun = next((
        one for one in statements(view.body)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.List) and not one.value.elts
        and isinstance(one.targets[0], ast.Name) and one.targets[0].id == name
    ), None)  # fmt: skip
    own = {one for step in before for one in names_set(step)}
    if begun is None or node.orelse or any(not isinstance(one, ast.Assign) for one in before):
        raise CannotError("a step does more than to set names")
    if StraightLine(view).carried(node) or own & view.flow.live_after(node) or any("." in one for one in own):
        raise CannotError("a step needs what another one left")
    rows = _rows(view, node.target, node.iter, [*before, value])
    step = "one_row"
    if step in view.flow.names:
        raise CannotError("a name is taken")
    body = [cast("ast.stmt", Swapped(rows.entries).visit(one)) for one in before]
    result = ast.Return(cast("ast.expr", Swapped(rows.entries).visit(value)))
    made = ast.FunctionDef(name=step, args=rows.arguments(), body=[*body, result], decorator_list=[])
    draft.replace(begun, [])
    mapped = written("NAME = MAPPED", NAME=name, MAPPED=rows.called(ast.Name(step, ast.Load())))
    draft.replace(node, [made, *mapped])
    _join_reads(view, draft, name, [begun, last])


def _rows(view: View, target: ast.expr, over: ast.expr, body: Sequence[ast.AST]) -> _Rows:
    match target, over:
        case ast.Name(id=index), ast.Call(func=ast.Name(id="range"), args=[_]):
            return _indexed(view, index, body)
        case ast.Name(id=name), _ if _is_tensor(view, over):
            return _Rows((name,), (over,), {})
        case ast.Tuple(elts=names), ast.Call(func=ast.Name(id="zip"), args=given) if len(names) == len(given):
            if all(isinstance(one, ast.Name) for one in names) and all(_is_tensor(view, one) for one in given):
                return _Rows(tuple(cast("ast.Name", one).id for one in names), tuple(given), {})
    raise CannotError("no rows of tensors")


def _indexed(view: View, index: str, body: Sequence[ast.AST]) -> _Rows:
    """`x[i]` and `y[i]` of `for i in range(len(x))` as rows; the index itself may not be read."""
    parameters: dict[str, tuple[str, ast.expr]] = {}
    entries: dict[int, ast.expr] = {}
    for part in body:
        for one in ast.walk(part):
            match one:
                case ast.Subscript(value=owner, slice=ast.Name(id=name)) if name == index and _is_tensor(view, owner):
                    text = ast.dump(owner)
                    taken = {parameter for parameter, _ in parameters.values()} | view.flow.names
                    free = next(f"row{end}" for end in ("", *map(str, range(2, 99))) if f"row{end}" not in taken)
                    parameters.setdefault(text, (free, owner))
                    entries[id(one)] = ast.Name(parameters[text][0], ast.Load())
    inside = {id(inner) for part in body for one in ast.walk(part) if id(one) in entries for inner in ast.walk(one)}
    for part in body:
        for one in ast.walk(part):
            if isinstance(one, ast.Name) and one.id == index and id(one) not in inside:
                raise CannotError("a step reads which one it is")
    if not parameters:
        raise CannotError("no rows of tensors")
    names, tensors = zip(*parameters.values(), strict=True)
    return _Rows(names, tensors, entries)


def _is_tensor(view: View, node: ast.expr) -> bool:
    return view.value(node).is_tensor or (isinstance(node, ast.Call) and view.nature(node) is Nature.DATA)


def _joining(view: View, node: ast.AST) -> ast.Call | None:
    """The `torch.stack` or `torch.cat` that the node is given to."""
    for one in ast.walk(view.node):
        if isinstance(one, ast.Call) and one.args and one.args[0] is node:
            return one if view.origin(one.func) in {"torch.stack", "torch.cat", "builtins.sum"} else None
    return None


def _joined(view: View, call: ast.Call, rows: ast.expr) -> ast.expr:
    """What the call makes of the rows, of the tensor that they are now."""
    given = [*call.args[1:], *(one.value for one in call.keywords if one.arg == "dim")]
    dim = given[0] if given else ast.Constant(0)
    first = isinstance(dim, ast.Constant) and dim.value == 0
    match view.origin(call.func):
        case "torch.stack":
            return rows if first else expression("ROWS.movedim(0, DIM)", ROWS=rows, DIM=dim)
        case "torch.cat" if first:
            return expression("ROWS.flatten(0, 1)", ROWS=rows)
        case "builtins.sum" if len(call.args) == 1:
            return expression("ROWS.sum(0)", ROWS=rows)
    raise CannotError("the rows are put together in another way")


def _join_reads(view: View, draft: Draft, name: str, known: Sequence[ast.stmt]) -> None:
    """Where the list is read it is put together; anything else would have to know that it is a tensor now."""
    ours = {id(inner) for one in known for inner in ast.walk(one)}
    for one in list(ast.walk(view.node)):
        if not (isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)) or id(one) in ours:
            continue
        call = _joining(view, one)
        if call is None:
            raise CannotError("the list is read")
        draft.swap(call, _joined(view, call, changed_copy(one)))
