"""Declared dims, in a model that is exported with them: `y.view(4, -1)` as `y.view(x.shape[0], -1)`, where the sample's
size is 4.

What is declared for an argument that there is not is declared for the one that is left out.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.extents import Extent, number
from exportlint.engine.values.shapes import dims_of, extent_of
from exportlint.rewrite.draft import Swapped, expression, statements
from exportlint.rewrite.row_wise import puts_rows_together
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_OF_SIZES = frozenset({
    "view", "reshape", "expand", "broadcast_to", "repeat", "tile", "unflatten", "zeros", "ones", "empty", "full",
    "rand", "randn", "randint", "arange", "eye", "split", "new_zeros", "new_ones", "new_empty", "new_full",
    "tril_indices", "triu_indices",
})  # fmt: skip

_JOINING = frozenset({"torch.cat", "torch.concat", "torch.concatenate"})
_CUTTING = frozenset({"torch.chunk", "torch.split", "torch.tensor_split"})


class DeclaredDims:
    """At an operation of a model that takes one size of a declared dim."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is not None and site.belief.declares_dims:
            yield from _keys_named(site, site.view)
            yield from _sizes_taken(site, site.view)
            yield from _all_sizes_taken(site, site.view)
            yield from _in_one_piece(site, site.view)


# Only inputs of more than one piece can show it, and the sample may have none.
_ONE_PIECE = "compute all pieces as one, which is right where no row needs another one"


def _keys_named(site: Site, view: View) -> Iterator[Proposal]:
    """`dynamic_shapes` whose keys name one argument that there is not, and leave out one that there is: of the forward
    that the site is in; at a call of an export elsewhere, of any forward of the file."""
    forwards = [one for one in walked(site.module.tree) if isinstance(one, ast.FunctionDef) and one.name == "forward"]
    for forward in [one for one in forwards if one is view.node] or forwards:
        parameters = [arg.arg for arg in forward.args.args if arg.arg != "self"]
        others = [{arg.arg for arg in one.args.args} for one in forwards if one is not forward]
        yield from _keys_of(site, parameters, others)


def _keys_of(site: Site, parameters: list[str], others: list[set[str]]) -> Iterator[Proposal]:
    for node in walked(site.module.tree):
        match node:
            case ast.Dict(keys=[*keys], values=values) if all(map(_is_of_dims, values)):
                named = [key for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
                wrong = [key for key in named if key.value not in parameters]
                left = [one for one in parameters if all(one != key.value for key in named)]
                is_of_another = any({key.value for key in named} <= names for names in others)
                if len(named) == len(keys) > 0 and len(wrong) == len(left) == 1 and not is_of_another:
                    draft = site.draft()
                    draft.swap(wrong[0], ast.Constant(left[0]))
                    yield Proposal(f"name the argument `{left[0]}` as `forward` does", draft)


def _is_of_dims(node: ast.expr) -> bool:
    """`{0: BATCH}`, `(BATCH, None)`, None"""
    match node:
        case ast.Dict(keys=keys):
            return all(isinstance(key, ast.Constant) and isinstance(key.value, int) for key in keys)
    return isinstance(node, ast.Tuple | ast.List) or (isinstance(node, ast.Constant) and node.value is None)


def _in_one_piece(site: Site, view: View) -> Iterator[Proposal]:
    """`torch.cat([f(part) for part in x.chunk(2)])` as `f(x)`, and the loop that fills a list likewise: how many
    pieces there are depends on the size."""
    draft = site.draft()
    for node in walked(view.node):
        if any(isinstance(one, ast.Call) and puts_rows_together(one, of_one_dim=False) for one in _each_piece(node)):
            continue  # a row is made of the others of its piece
        match node:
            case ast.Call(args=[ast.ListComp(elt=each, generators=[made]), *_]) if (
                view.origin(node.func) in _JOINING and not made.ifs
            ):
                whole, part = _cut(view, made.iter), made.target
                if whole is not None and isinstance(part, ast.Name):
                    parts = [one for one in walked(each) if isinstance(one, ast.Name) and one.id == part.id]
                    draft.swap(node, cast("ast.expr", Swapped({id(one): whole for one in parts}).visit(each)))
                    yield Proposal(_ONE_PIECE, draft)
                    return
            case ast.For(target=ast.Name(id=name), iter=pieces, body=body, orelse=[]) if (
                whole := _cut(view, pieces)
            ) is not None:
                draft.replace(node, [*statements("NAME = WHOLE", NAME=name, WHOLE=whole), *body])
                yield Proposal(_ONE_PIECE, draft)
                return
            case ast.For(target=ast.Name(id=start), iter=ast.Call(func=ast.Name(id="range")) as steps, orelse=[]) if (
                of_all := _whole(view, start, steps, node)
            ) is not None:
                draft.replace(node, of_all)
                yield Proposal(_ONE_PIECE, draft)
                return


def _each_piece(node: ast.AST) -> Iterator[ast.AST]:
    """What is done with each piece, in a loop or a comprehension."""
    match node:
        case ast.For(body=body):
            yield from (inner for one in body for inner in walked(one))
        case ast.Call(args=[ast.ListComp(elt=each), *_]):
            yield from walked(each)


def _whole(view: View, start: str, steps: ast.Call, loop: ast.For) -> list[ast.stmt] | None:
    """What a step of `for start in range(0, x.shape[0], size)` does, with `x` for `x[start : start + size]`; None where
    a step asks in another way where it starts, or the last piece is read behind the loop."""
    match steps.args:
        case [ast.Constant(value=0), end, size] if _is_plain(view, end):
            ends = {f"{start} + {ast.unparse(size)}"}
        case _:
            return None
    body = [*loop.body]
    match body[0]:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if ends & {
            ast.unparse(one) for one in walked(value) if isinstance(one, ast.BinOp)
        }:
            if name in view.flow.live_after(loop):
                return None
            ends |= {name, ast.unparse(value)}  # `end = min(start + size, x.shape[0])` likewise
            body = body[1:]
    swapped = dict[int, ast.expr]()
    for one in (inner for statement in body for inner in walked(statement)):
        match one:
            case ast.Subscript(
                value=owner, slice=ast.Slice(lower=ast.Name(id=lower), upper=ast.expr() as upper, step=None)
            ) if lower == start and ast.unparse(upper) in ends:
                everything = ast.Subscript(owner, ast.Slice(), ast.Store())
                swapped[id(one)] = owner if isinstance(one.ctx, ast.Load) else everything
    left = view.flow.live_after(loop)
    for one in body:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in left:
                if not any(isinstance(inner, ast.Name) and inner.id == name for inner in walked(value)):
                    return None
    new = [cast("ast.stmt", Swapped(swapped).visit(one)) for one in body]
    read = {one.id for statement in new for one in walked(statement) if isinstance(one, ast.Name)}
    return new if swapped and not read & {start, *ends} and start not in left else None


def _is_plain(view: View, node: ast.expr) -> bool:
    """Is it a size as it is, and not computed from one?"""
    value = view.only_value(node.id) if isinstance(node, ast.Name) else None
    return not any(isinstance(one, ast.BinOp | ast.UnaryOp) for part in (node, value) if part for one in walked(part))


def _cut(view: View, node: ast.expr) -> ast.expr | None:
    """What `x.chunk(2)` cuts, names followed."""
    match node:
        case ast.Name(id=name) if (value := view.only_value(name)) is not None and not isinstance(value, ast.Name):
            return _cut(view, value)
        case ast.Call(func=func, args=[whole, *_]) if view.origin(func) in _CUTTING:
            return whole
        case ast.Call(func=ast.Attribute(value=whole, attr="chunk" | "split" | "tensor_split")):
            return whole
    return None


def _sizes_taken(site: Site, view: View) -> Iterator[Proposal]:
    """Numbers that sizes are given by, each as a declared dim of what the operation works on; then all like it."""
    extents = [one for node in _expressions(site.node) for one in dims_of(view.value(node)) or () if one is not None]
    numbers, own = _given_sizes(view, view.node), _given_sizes(view, site.node)
    written = {_extent(view, one) for one in _arguments(site.node)}
    dims = [one for one in dict.fromkeys(extents) if one.plain and one not in written]
    groups = [[one] for one in own]
    asked = dict.fromkeys([*own.values(), *(one.number for one in extents)])
    groups += [[one for one, size in numbers.items() if size == wanted] for wanted in asked]
    for dim in dims:
        for group in groups:
            draft = site.draft()
            sizes = [size for node in group if (size := _size(view, dim, node)) is not None]
            if len(sizes) == len(group) > 0:
                for node, size in zip(group, sizes, strict=True):
                    draft.swap(node, size)
                yield Proposal("take the size from the tensor", draft)


def _all_sizes_taken(site: Site, view: View) -> Iterator[Proposal]:
    """Every number in the function that is the sample's size of one declared dim, as that dim."""
    extents = [one for node in _expressions(view.node) for one in dims_of(view.value(node)) or () if one is not None]
    dims = {(next(iter(one.dims)).sample, one): None for one in extents if one.plain}
    sizes = [size for size, _ in dims]
    draft, found = site.draft(), False
    for node, size in _given_sizes(view, view.node).items():
        dim = next((one for own, one in dims if own == size), None) if sizes.count(size) == 1 else None
        if dim is not None and (taken := _size(view, dim, node)) is not None:
            draft.swap(node, taken)
            found = True
    if found:
        yield Proposal("take the sizes from the tensors", draft)


def _expressions(whole: ast.AST) -> Iterator[ast.expr]:
    return (one for one in walked(whole) if isinstance(one, ast.expr))


def _given_sizes(view: View, whole: ast.AST) -> dict[ast.expr, int]:
    """The arguments that are one number, where sizes are expected, and the ends of slices."""
    found = {one: extent.number for one in _arguments(whole) if (extent := _extent(view, one)) is not None}
    return {one: size for one, size in found.items() if size is not None and size > 1}


def _arguments(whole: ast.AST) -> Iterator[ast.expr]:
    for node in walked(whole):
        match node:
            case ast.Slice(upper=ast.expr() as end):
                yield end
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=given) if name in _OF_SIZES:
                for one in (*given, *(word.value for word in node.keywords)):
                    yield from one.elts if isinstance(one, ast.Tuple | ast.List) else [one]


def _extent(view: View, node: ast.expr) -> Extent | None:
    if isinstance(node, ast.Constant):
        return number(node.value) if type(node.value) is int else None
    return extent_of(view.value(node))


def _size(view: View, dim: Extent, before: ast.expr) -> ast.expr | None:
    """What gives the declared dim above a place: a name that the author gave it, else the shape of a tensor."""
    names = [one for one in walked(view.node) if isinstance(one, ast.Name)]
    stored = [one.id for one in names if isinstance(one.ctx, ast.Store)]
    above = {
        one.id for statement in view.body if (statement.end_lineno or 0) < before.lineno
        for one in walked(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }  # fmt: skip
    once = [one for one in names if stored.count(one.id) == (one.id in above) == (one.id not in view.flow.parameters)]
    for one in once:
        if extent_of(view.value(one)) == dim:
            return ast.Name(one.id, ast.Load())
    for one in once:
        dims = dims_of(view.value(one)) or ()
        if dim in dims:
            return expression(f"X.shape[{dims.index(dim)}]", X=one.id)
    return None
