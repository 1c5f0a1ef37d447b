"""Numbers stay tensors: a number that is read from a tensor is carried on as the tensor, until it ends in one again.

Where it ends in a size, it is carried on as a symbol (`t.item()`), with `torch._check` for what must be so.
"""

from __future__ import annotations

import ast
from itertools import zip_longest
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.rewrite.decide_in_data import put, rewritten, rewritten_file
from exportlint.rewrite.draft import changed_copy, expression, statements
from exportlint.rewrite.straight_line import StraightLine, Style
from exportlint.rewrite.tensor_form import TensorForm
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View


class NumbersStayTensors:
    """`item`, `int`, `float`, `tolist`, NumPy, `math`, `len` of what data counts."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None:
            return
        if (proposal := _size_kept(site)) is not None:
            yield proposal
        yield from _size_as_tensor(site)
        for everything in (False, True):
            proposal = rewritten(site, Style(), everything=everything)
            if proposal is not None:
                yield proposal
        if (proposal := rewritten_file(site, Style())) is not None:
            yield proposal
        yield from self._as_symbols(site)

    def _as_symbols(self, site: Site) -> Iterator[Proposal]:
        """Every `int(t)` of the function as `t.item()`; with the check that it is no negative number."""
        view = site.fresh_view()
        form = TensorForm(view)
        for checked in (False, True):
            draft, found = site.draft(), False
            for node in walked(view.node):
                if not (
                    isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"int", "round"}
                ):
                    continue
                if not node.args or not view.is_data(node.args[0]):
                    continue
                new = form.number(node)
                if new is not node:
                    found = True
                    draft.swap(node, new)
            for statement, following in zip_longest(view.body, view.body[1:]):
                match statement:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if checked and _is_count(value):
                        check = statements("torch._check(NAME >= 0)", NAME=name)
                        if following is None or ast.unparse(following) != ast.unparse(check[0]):
                            found = True
                            draft.below(statement, check)
            if found:
                what = ", and check that it is not negative" if checked else ""
                yield Proposal(f"read the number as a symbol of the program{what}", draft)


def _is_count(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="int")) | ast.Call(func=ast.Attribute(attr="item")):
            return True
    return False


def _size_kept(site: Site) -> Proposal | None:
    """What makes a constant of a size at the site, as what torch carries along or as a tensor."""
    view, draft = site.fresh_view(), site.draft()
    form = TensorForm(view)
    node = site.node.value if isinstance(site.node, ast.Expr) else site.node
    match node:
        case ast.Call(args=[given, *_]) if form.is_symbol(given) or node.args == [given]:
            above = draft.parent(node)
            new = _of_size(view, form, node)
            if new is not None:
                draft.swap(node, new)
                return Proposal("leave the size a symbol", draft)
            is_listed = view.origin(node.func) in {"builtins.list", "builtins.tuple"} and view.is_data(given)
            match above:
                case ast.Call(args=[inner], keywords=[]) if (
                    is_listed and inner is node and view.origin(above.func) == "torch.stack"
                ):
                    draft.swap(above, given)
                    return Proposal("take the whole tensor", draft)
        case (
            ast.BinOp(op=ast.Mult(), left=ast.List(elts=[value]), right=size)
            | ast.BinOp(op=ast.Mult(), left=size, right=ast.List(elts=[value]))
        ) if form.is_symbol(size):
            call = draft.parent(node)
            if isinstance(call, ast.Call) and view.origin(call.func) in {"torch.tensor", "torch.as_tensor"}:
                filled = expression("torch.full((SIZE,), VALUE)", SIZE=form.symbolic(size), VALUE=value)
                assert isinstance(filled, ast.Call)  # noqa: S101 - it is written above
                draft.swap(call, changed_copy(filled, keywords=call.keywords))
                return Proposal("fill a tensor", draft)
        case ast.Subscript(value=owner, slice=index) if form.is_symbol(index):
            held = view.value(owner)
            if held.container in {"list", "tuple"}:
                of_tensors = held.element is not None and held.element.is_tensor
                text = "torch.stack(LIST)[SIZE]" if of_tensors else "torch.tensor(LIST)[SIZE]"
                draft.swap(node, expression(text, LIST=owner, SIZE=form.symbolic(index)))
                return Proposal("look it up in a tensor", draft)
    return None


_CHOOSING = frozenset({"abs", "min", "max"})


def _size_as_tensor(site: Site) -> Iterator[Proposal]:
    """What `math` makes of a size, which torch carries along as integers only: from the size on it is a tensor, of the
    dtype that Python computes in."""
    view, draft = site.fresh_view(), site.draft()
    form = TensorForm(view)
    whole: ast.AST | None = site.node.value if isinstance(site.node, ast.Expr) else site.node
    while isinstance(above := draft.parent(whole) if whole is not None else None, ast.expr) and _computes(view, above):
        whole = above
    if not isinstance(whole, ast.expr) or not _computes(view, whole):
        return
    sizes, todo = list[ast.expr](), [whole]
    for one in todo:
        if form.is_symbol(one) and _is_plain(one):
            sizes.append(one)
        else:
            todo += (part for part in ast.iter_child_nodes(one) if isinstance(part, ast.expr))
    for size in sizes:
        now: ast.AST | None = size
        while now is not None and now is not draft.parent(whole):
            if not (isinstance(now, ast.Call) and isinstance(now.func, ast.Name) and now.func.id in _CHOOSING):
                view.asked.add(id(now))
            now = draft.parent(now)
    line = StraightLine(view, Style())
    line.form.finish(sizes)
    put(draft, view.body, line.body())
    for size in sizes:
        draft.swap(size, expression("torch.tensor(SIZE, dtype=torch.float64)", SIZE=form.symbolic(size)))
    if sizes:
        yield Proposal("compute it from the size as a tensor", draft)


def _computes(view: View, node: ast.expr) -> bool:
    """Does Python compute a number of numbers there?"""
    match node:
        case ast.BinOp() | ast.UnaryOp(op=ast.USub()):
            return not view.is_data(node)
        case ast.Call(func=ast.Name(id=name)) if name in {"float", *_CHOOSING}:
            return not view.is_data(node)
        case ast.Call():
            return (view.origin(node.func) or "").startswith("math.")
    return False


def _is_plain(node: ast.expr) -> bool:
    """A size itself, or what is counted from such: `n`, `x.shape[1] - 1`."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv(), right=right):
            return _is_plain(left) and _is_plain(right)
        case ast.Call(func=ast.Name(id="len") | ast.Attribute(attr="size" | "numel")):
            return True
        case ast.Constant(value=value):
            return isinstance(value, int)
    return isinstance(node, ast.Name | ast.Subscript)


def _of_size(view: View, form: TensorForm, node: ast.Call) -> ast.expr | None:
    """`len(x)`, `int(n / 2)`, `math.sqrt(n)` of a size `n`."""
    given = node.args[0]
    name = view.origin(node.func) or ""
    if name == "builtins.len":
        return form.symbolic(node) if view.is_data(given) else None
    if not form.is_symbol(given):
        return None
    size = form.symbolic(given)
    rounds = name in {"builtins.int", "math.floor", "math.trunc", "math.ceil"}
    if rounds and _is_whole(view, given):
        return size
    match name, given:
        case "builtins.int" | "math.floor" | "math.trunc", ast.BinOp(left=left, op=ast.Div(), right=right) if (
            _is_whole(view, left)
            and _is_whole(view, right)
            and not any(
                isinstance(one, ast.BinOp | ast.UnaryOp) and isinstance(one.op, ast.Sub | ast.USub)
                for one in walked(given)  # `//` rounds what is negative down
            )
        ):
            return ast.BinOp(form.symbolic(left), ast.FloorDiv(), form.symbolic(right))
        case "math.ceil", ast.BinOp(left=left, op=ast.Div(), right=right) if _is_whole(view, left) and _is_whole(
            view, right
        ):
            return expression("-(-LEFT // RIGHT)", LEFT=form.symbolic(left), RIGHT=form.symbolic(right))
        case "builtins.int", _:
            return expression("torch.sym_int(SIZE)", SIZE=size)
        case "math.sqrt", _ if len(node.args) == 1:
            return expression("SIZE ** 0.5", SIZE=size)
        case "math.pow", _:
            return ast.BinOp(size, ast.Pow(), node.args[1])
        case "builtins.float", _:
            return expression("torch.sym_float(SIZE)", SIZE=size)
    return None


def _is_whole(view: View, node: ast.expr) -> bool:
    """Is what is computed of sizes an integer, names followed?"""
    for one in walked(node):
        match one:
            case ast.BinOp(op=ast.Div() | ast.Pow()) | ast.Constant(value=float()):
                return False
            case ast.Name(id=name) if (value := view.only_value(name)) is not None and not isinstance(value, ast.Name):
                if not _is_whole(view, value):
                    return False
    return True
