"""Writes between bounds that data says, as writes of all with a mask.

`y[i, n:] = 0` has as many places as `n` says, which no graph can know. The same places are those of all of `y[i]` at
which a mask is true. Where a loop writes so to each row in turn, one mask serves all of them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind
from exportlint.rewrite.draft import Swapped, as_value, expression, stands_for
from exportlint.rewrite.transformation import CannotError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.tensor_form import TensorForm
    from exportlint.rewrite.view import View


def filled_between(form: TensorForm, target: ast.Subscript, value: ast.expr) -> ast.expr | None:
    """`y[i, n:] = 0` as `y[i].movedim(0, -1).masked_fill_(…, 0)`; None where it is no such write. Only a number is
    written so: what else is, has as many entries as data says. Raises CannotError."""
    view = form.view
    at = _bounded_by_data(view, target)
    if at is None or view.is_data(value) or isinstance(value, ast.List | ast.Tuple):
        return None
    before, bounds = _parts(target)[:at], _parts(target)[at]
    if not all(_is_whole(one) or _is_one_place(view, one) for one in before):
        raise CannotError("what is written between bounds that data says is chosen in another way")
    places: list[ast.expr] = list(before)
    while places and _is_whole(places[-1]):
        places.pop()
    rows = _chosen(as_value(target.value), places)
    lower, upper = (_from_begin(view, one, one and _in_test(form, one), target.value, at) for one in _both(bounds))
    mask = _mask(target.value, at, lower, upper)
    return _filled(rows, mask, value, dims=(sum(map(_is_whole, before)),), behind=_dims_behind(view, target.value, at))


def rows_filled(form: TensorForm, draft: Draft, loop: ast.For) -> bool:
    """`for i in range(n): y[i, lengths[i]:] = 0`, and the same with `enumerate(lengths)`, with one mask for all rows.
    Raises CannotError."""
    view = form.view
    match loop.target, loop.iter:
        case ast.Name(id=index), ast.Call(func=ast.Name(id="range"), args=[count]):
            each, over = None, None
        case (
            ast.Tuple(elts=[ast.Name(id=index), ast.Name(id=each)]),
            ast.Call(func=ast.Name(id="enumerate"), args=[over], keywords=[]),
        ) if view.is_data(over):
            count = expression("X.shape[0]", X=over)
        case _:
            return False
    write = _one_write(loop.body, index)
    if write is None:
        return False
    target, value = write
    at = _bounded_by_data(view, target)
    is_fixed = not view.is_data(value) and not isinstance(value, ast.List | ast.Tuple) and index not in _names(value)
    set_here = {one.id for one in walked(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    if not at or not is_fixed or loop.orelse or set_here & set(view.flow.live_after(loop)):
        return False
    first, *between = _parts(target)[:at]
    bounds = _parts(target)[at]
    if not isinstance(first, ast.Name) or first.id != index or index in _names(target.value):
        return False
    if not all(map(_is_whole, between)):
        return False
    whole = as_value(target.value)
    columns = (_of_all_rows(form, one, index, each, over, count) for one in _both(bounds))
    # Lengths may lie on another device: of numbers that Python read nobody asked.
    placed = [one and expression("X.to(Y.device)", X=one, Y=whole) for one in columns]
    lower, upper = (_from_begin(view, bound, new, whole, at) for bound, new in zip(_both(bounds), placed, strict=True))
    all_rows = _is_length(view, count, target.value)
    rows = as_value(target.value) if all_rows else expression("Y[:N]", Y=as_value(target.value), N=count)
    mask = _mask(target.value, at, lower, upper)
    # The mask stands along the two dims as it is only where no other is between them.
    behind = None if between else _dims_behind(view, target.value, at)
    filled = _filled(rows, mask, value, dims=(0, at), behind=behind)
    draft.replace(loop, [stands_for(ast.Expr(filled), loop)])
    return True


def _one_write(body: Sequence[ast.stmt], index: str) -> tuple[ast.Subscript, ast.expr] | None:
    """What is written, and where, by the only thing that the steps of a loop do: at an index, or with `fill_` or
    `zero_`. A number may be read first, under a name, and a test may ask whether there is anything to write."""
    match body:
        case [ast.Assign(targets=[ast.Name(id=name)], value=read), *rest] if rest:
            found = _one_write(rest, index)
            if found is None or any(isinstance(one, ast.Name) and one.id == name for one in walked(found[1])):
                return None
            by_name = {
                id(one): read for one in walked(found[0])
                if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
            }  # fmt: skip
            target = Swapped(by_name).visit(found[0])
            return (target, found[1]) if by_name and isinstance(target, ast.Subscript) else None
        case [ast.If(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=[inner], orelse=[])]:
            found = _one_write([inner], index)
            return found if found is not None and _asks_for_any(left, op, right, found[0]) else None
        case [ast.Assign(targets=[ast.Subscript() as target], value=value)]:
            return _in_one_index(target, index), value
        case [ast.Expr(value=ast.Call(func=ast.Attribute(value=written, attr="fill_"), args=[value], keywords=[]))]:
            place = _place_written(written, index)
            return (place, value) if place is not None else None
        case [ast.Expr(value=ast.Call(func=ast.Attribute(value=written, attr="zero_"), args=[], keywords=[]))]:
            place = _place_written(written, index)
            return (place, ast.Constant(0)) if place is not None else None
    return None


def _place_written(view: ast.expr, row: str) -> ast.Subscript | None:
    """`y[i, n:]`, and `y[i].narrow(dim, n, count)` as an index."""
    match view:
        case ast.Subscript():
            return _in_one_index(view, row)
        case ast.Call(
            func=ast.Attribute(value=rows, attr="narrow"),
            args=[ast.Constant(value=int(dim)), lower, count],
            keywords=[],
        ) if dim >= 0:
            upper: ast.expr | None = ast.BinOp(lower, ast.Add(), count)
            if ast.dump(count) in {ast.dump(ast.BinOp(size, ast.Sub(), lower)) for size in _sizes(rows, dim)}:
                upper = None
            places: list[ast.expr] = [*(ast.Slice() for _ in range(dim)), ast.Slice(lower, upper)]
            index = places[0] if len(places) == 1 else ast.Tuple(places, ast.Load())
            return _in_one_index(ast.Subscript(rows, index, ast.Load()), row)
    return None


def _in_one_index(target: ast.Subscript, row: str) -> ast.Subscript:
    """`y[i][n:]` as `y[i, n:]`, of the number of the `row`."""
    match target.value:
        case ast.Subscript(slice=ast.Name(id=name) as first) as outer if name == row:
            return ast.Subscript(outer.value, ast.Tuple([first, *_parts(target)], ast.Load()), target.ctx)
    return target


def _asks_for_any(left: ast.expr, op: ast.cmpop, right: ast.expr, target: ast.Subscript) -> bool:
    """`y.size(1) - n > 0`, `n < y.size(1)` and `y.size(1) > n`, of `y[i, n:]`: else nothing is written."""
    parts = _parts(target)
    bounds = parts[-1]
    if not isinstance(bounds, ast.Slice) or bounds.lower is None or bounds.upper is not None:
        return False
    match left, op, right:
        case ast.BinOp(left=size, op=ast.Sub(), right=begin), ast.Gt(), ast.Constant(value=0):
            pass
        case size, ast.Gt(), begin:
            pass
        case begin, ast.Lt(), size:
            pass
        case _:
            return False
    rows: list[tuple[ast.expr, int]] = [(target.value, len(parts) - 1)]
    if isinstance(parts[0], ast.Name):
        rows.append((ast.Subscript(target.value, parts[0], ast.Load()), len(parts) - 2))
    sizes = {ast.dump(one) for owner, dim in rows for one in _sizes(owner, dim)}
    return ast.dump(begin) == ast.dump(bounds.lower) and ast.dump(size) in sizes


def _sizes(owner: ast.expr, dim: int) -> list[ast.expr]:
    """How the size of a dim may be written."""
    given = {"X": as_value(owner), "DIM": ast.Constant(dim)}
    return [expression(text, **given) for text in ("X.size(DIM)", "X.shape[DIM]", "X.size()[DIM]")]


def _of_all_rows(
    form: TensorForm, bound: ast.expr | None, index: str, each: str | None, over: ast.expr | None, count: ast.expr
) -> ast.expr | None:
    """The bound of each row, as one column: with `lengths` for `lengths[i]`; None where it is one of Python's for all.
    Raises CannotError."""
    if bound is None or not form.view.is_data(bound):
        if bound is not None and {index, each} & _names(bound):
            raise CannotError("a bound is the number of the row")
        return None

    def of_all(entry: ast.expr) -> ast.expr | None:
        match entry:
            case ast.Subscript(value=owner, slice=ast.Name(id=name)) if name == index and form.view.is_data(owner):
                given = {"X": owner, "N": count}
                return expression("X[:, None]" if _is_length(form.view, count, owner) else "X[:N, None]", **given)
            case ast.Name(id=name) if name == each and over is not None:
                return expression("X[:, None]", X=over)
            case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[]):
                return of_all(inner)
            case ast.Call(func=ast.Name(id="int"), args=[inner]) if (whole := of_all(inner)) is not None:
                return form.index(whole)
        return None

    found = {id(one): whole for one in walked(bound) if isinstance(one, ast.expr) and (whole := of_all(one))}
    new = Swapped(found).visit(bound)
    if not found or not isinstance(new, ast.expr) or {index, each} & _names(new):
        raise CannotError("a bound is no entry of a tensor")
    form.finish(found.values())
    return _in_test(form, new)


def _in_test(form: TensorForm, bound: ast.expr) -> ast.expr:
    """The bound as a tensor. No gradient passes it."""
    form.in_tests += 1
    new = form.of(bound)
    form.in_tests -= 1
    return new


def _from_begin(view: View, bound: ast.expr | None, new: ast.expr | None, whole: ast.expr, dim: int) -> ast.expr | None:
    """The bound, or what it is in tensors, counted from the begin, as Python counts a negative one from the end."""
    if bound is None or not _may_count_from_end(view, bound):
        return new or bound
    if new is None or not view.is_data(bound):
        is_number = isinstance(bound, ast.UnaryOp) and isinstance(bound.operand, ast.Constant)
        if not is_number:
            raise CannotError("a bound may count from the end")
        return expression("Y.shape[DIM] + N", Y=as_value(whole), DIM=ast.Constant(dim), N=bound)
    return expression("torch.where(N < 0, N + Y.shape[DIM], N)", N=new, Y=as_value(whole), DIM=ast.Constant(dim))


def _may_count_from_end(view: View, bound: ast.expr | None) -> bool:
    """May it be negative, by how it is computed? A length that is read is none."""
    if bound is None or isinstance(bound, ast.Constant):
        return False
    todo, seen = [bound], set[str]()
    for one in todo:
        for part in walked(one):
            if isinstance(part, ast.BinOp | ast.UnaryOp) and isinstance(part.op, ast.Sub | ast.USub):
                return True
            if isinstance(part, ast.Name) and part.id not in seen and (value := view.only_value(part.id)) is not None:
                seen.add(part.id)
                todo.append(value)
    return False


def _filled(rows: ast.expr, mask: ast.expr, value: ast.expr, dims: Sequence[int], behind: int | None) -> ast.expr:
    """The write to the rows, of which the mask says these dims. `behind`: how many dims follow those; None where nobody
    knows, which is why they are moved behind the others."""
    last = tuple(range(-len(dims), 0))
    if behind is None:
        moved = (dims[0], last[0]) if len(dims) == 1 else (dims, last)
        rows = expression("X.movedim(FROM, TO)", X=rows, **{
            key: ast.parse(repr(one), mode="eval").body for key, one in zip(("FROM", "TO"), moved, strict=True)
        })  # fmt: skip
    elif behind:
        further = ", ".join(["...", *["None"] * behind])
        mask = expression(f"(MASK)[{further}]", MASK=mask)
    return expression("X.masked_fill_(MASK, VALUE)", X=rows, MASK=mask, VALUE=value)


def _mask(whole: ast.expr, dim: int, lower: ast.expr | None, upper: ast.expr | None) -> ast.expr:
    """The places along a dim of the tensor that are within bounds."""
    places = expression("torch.arange(Y.shape[DIM], device=Y.device)", Y=as_value(whole), DIM=ast.Constant(dim))
    tests: list[ast.expr] = []
    if lower is not None:
        tests.append(ast.Compare(places, [ast.GtE()], [lower]))
    if upper is not None:
        tests.append(ast.Compare(places, [ast.Lt()], [upper]))
    return tests[0] if len(tests) == 1 else ast.BinOp(tests[0], ast.BitAnd(), tests[1])


def _bounded_by_data(view: View, target: ast.Subscript) -> int | None:
    """Which part of the index has bounds that data says, where all behind it are taken whole; None where none has."""
    parts = _parts(target)
    found = [
        place for place, one in enumerate(parts)
        if isinstance(one, ast.Slice) and one.step is None
        and any(bound is not None and view.is_data(bound) for bound in _both(one))
    ]  # fmt: skip
    if len(found) != 1 or not all(map(_is_whole, parts[found[0] + 1 :])) or not view.is_data(target.value):
        return None
    return found[0]


def _both(bounds: ast.expr) -> tuple[ast.expr | None, ast.expr | None]:
    assert isinstance(bounds, ast.Slice)  # noqa: S101 - asked by those who call
    return bounds.lower, bounds.upper


def _parts(target: ast.Subscript) -> list[ast.expr]:
    return list(target.slice.elts) if isinstance(target.slice, ast.Tuple) else [target.slice]


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None


def _is_one_place(view: View, node: ast.expr) -> bool:
    """Is it surely a number of Python's? A tensor, or a list, would choose a copy, which nobody sees written."""
    match node:
        case ast.Constant(value=int()):
            return True
        case ast.Name(id=name):
            known = view.value(node).kind in (Kind.SCALAR, Kind.SIZE)
            return known or any(_counts(one, name) for one in walked(view.node))
    return False


def _counts(node: ast.AST, name: str) -> bool:
    """Is it a loop that gives the name a number: of `range`, or before what `enumerate` gives?"""
    match node:
        case ast.For(target=ast.Name(id=own), iter=ast.Call(func=ast.Name(id="range"))):
            return own == name
        case ast.For(target=ast.Tuple(elts=[ast.Name(id=own), _]), iter=ast.Call(func=ast.Name(id="enumerate"))):
            return own == name
    return False


def _chosen(whole: ast.expr, places: Sequence[ast.expr]) -> ast.expr:
    if not places:
        return whole
    return ast.Subscript(whole, places[0] if len(places) == 1 else ast.Tuple(list(places), ast.Load()), ast.Load())


def _dims_behind(view: View, whole: ast.expr, at: int) -> int | None:
    dims = view.dims(whole)
    return len(dims) - at - 1 if dims is not None else None


def _is_length(view: View, count: ast.expr, tensor: ast.expr) -> bool:
    """Is it how many rows the tensor has, by what is written?"""
    if isinstance(count, ast.Name) and (value := view.only_value(count.id)) is not None:
        count = value
    texts = ("len(X)", "X.shape[0]", "X.size(0)")
    return ast.dump(count) in {ast.dump(expression(text, X=as_value(tensor))) for text in texts}


def _names(node: ast.AST) -> set[str | None]:
    return {one.id for one in walked(node) if isinstance(one, ast.Name)}
