"""What tensors hold a place that outlives a call, and how reads and writes of the place become those of the tensors.

    a number, a flag, a tensor          one buffer
    None until something is known       one of the size of what is put there, and one that tells whether it was
    a pair, a list, a dict, a namespace of elements that the code names     one buffer each
    a list or deque that has a bound, or of which the last few are read     the stacked elements, moved by one with each
                                        new one; and how many there are
    a list that only grows              the sum and the number of its elements, where that is all that is read
    an iterator, a generator            the numbers that it goes on with
    one of the module's layers          its number among those that are put there

The outcome are *cells*: attributes that hold tensors and are assigned like any variable. That they are buffers, which
are written in place, is the business of who asks.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from exportlint.engine.flow.control_flow import statements as statements_of
from exportlint.engine.flow.def_use import defined, path_of, root_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.engine.values.abstract_value import Container, Kind, Tensor, Value, exactly
from exportlint.rewrite.draft import as_target, as_value, changed_copy, expression, stands_for, statements
from exportlint.rewrite.state_homes import Place, block, given_to, rebuilt, reference
from exportlint.rewrite.transformation import CannotError
from exportlint.rewrite.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.engine.source.symbols import ModuleInfo
    from exportlint.engine.values.abstract_value import Belief
    from exportlint.rewrite.state_homes import Home, Scope

_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)
_GROWING = frozenset({"append", "appendleft", "insert"})
_WHOLE = frozenset({"mean", "sum", "prod", "max", "min", "amax", "amin", "norm", "std", "var", "median"})
# What is put into a place: the author's expression, what the engine believes of it, or its size.
Written: TypeAlias = "ast.expr | Value | tuple[int, ...]"
Changed: TypeAlias = "ast.AST | list[ast.stmt] | None"
IsOwn: TypeAlias = "Callable[[ast.AST], bool]"
Change: TypeAlias = "Callable[[ast.AST, str, IsOwn], Changed]"
_FILLS = {
    "zeros": "zeros", "new_zeros": "zeros", "zeros_like": "zeros",
    "ones": "ones", "new_ones": "ones", "ones_like": "ones",
}  # fmt: skip
_SAME_SIZE = frozenset(
    {"detach", "clone", "float", "double", "half", "contiguous", "abs", "exp", "tanh", "sigmoid", "to"}
)


@dataclass(eq=False)
class Cell:
    """A tensor that outlives a call. `first`: what it begins with; `definition`: the statement that it is made by."""

    name: str
    home: Home
    first: ast.expr
    definition: ast.stmt | None
    is_buffer: bool = False
    each: Each | None = None


@dataclass(frozen=True)
class Each:
    """Of buffers with computed names: `for i, d in enumerate(dilations)`, the `i` that stands in the name, and what
    each begins with."""

    target: ast.expr
    over: ast.expr
    key: ast.expr
    element: ast.expr


# -- What is known of values -------------------------------------------------------------------------------------------


class Known:
    """Sizes and sorts of the values that are put into places."""

    def __init__(self, module: ModuleInfo, belief: Belief, scopes: Sequence[Scope]) -> None:
        self.module, self.belief, self.scopes = module, belief, scopes
        self.from_sample = False  # was a size of the sample asked for?
        self.answers: set[str] = set()  # names that hold whether something is there
        self.views = {
            id(scope): View(module, FunctionInfo(scope.node.name, scope.node, module), belief) for scope in scopes
        }

    def scope_of(self, node: ast.AST) -> Scope | None:
        return next((s for s in self.scopes if any(one is node for one in walked(s.node))), None)

    def view(self, node: ast.AST) -> View | None:
        scope = self.scope_of(node)
        return self.views[id(scope)] if scope is not None else None

    def is_data(self, node: ast.expr) -> bool:
        view = self.view(node)
        return view is not None and view.is_data(node)

    def is_number(self, node: ast.expr) -> bool:
        """A name of a number that was read from a tensor."""
        view = self.view(node)
        return isinstance(node, ast.Name) and view is not None and view.value(node).kind is Kind.UNBACKED

    def is_boolean(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return self.is_boolean(node.left) and self.is_boolean(node.right)
        view = self.view(node)
        return isinstance(node, ast.Compare) or (view is not None and view.is_boolean(node))

    def dims(self, node: Written, depth: int = 4) -> tuple[int, ...] | None:
        """How many elements each dim has."""
        if isinstance(node, tuple):
            return node
        if isinstance(node, Value):
            lead = node.lead
            known = lead.dims if isinstance(lead, Tensor) else None
            numbers = [one.number if one is not None else None for one in known] if known is not None else [None]
            return tuple(one for one in numbers if one is not None) if None not in numbers else None
        view = self.view(node)
        found = self.dims(view.value(node)) if view is not None else None
        if found is not None or depth == 0 or view is None:
            return found if found is not None else self._made(node)
        match node:
            case ast.IfExp(body=body, orelse=orelse):
                return self.dims(body, depth - 1) or self.dims(orelse, depth - 1)
            case ast.Name(id=name):
                values = [
                    one.value for one in walked(view.node)
                    if isinstance(one, ast.Assign) and path_of(one.targets[0]) == name
                ]  # fmt: skip
                values += self._hooked_calls(view.node, name)
                return next((d for one in values if (d := self.dims(one, depth - 1)) is not None), None)
            case ast.Call(func=ast.Attribute(attr=method), args=[], keywords=[]) if (
                method in _WHOLE or method == "item"
            ):
                return ()
            case ast.Call(func=ast.Name(id="float" | "int")):
                return ()
            case ast.Call(func=ast.Attribute(attr=maker), args=[like, *_]) if maker.endswith("_like"):
                return self.dims(like, depth - 1)
            case ast.Subscript(value=owner, slice=ast.Tuple(elts=parts)):
                taken = self._taken(owner, parts, depth - 1)
                return tuple(one for one in taken if one is not None) if taken and None not in taken else None
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _SAME_SIZE:
                return self.dims(owner, depth - 1)
            case ast.BinOp(left=left, right=right):
                sides = (left, right)
                told = [d for one in sides if (d := self.dims(one, depth - 1)) is not None]
                return _broadcast(told) if len(told) == len(sides) or not all(map(self.is_data, sides)) else None
        return self._made(node)

    def _taken(self, node: ast.expr, parts: Sequence[ast.expr], depth: int) -> list[int | None] | None:
        """The sizes of `x[..., -2:]`, where that of the dim may be anything before."""
        sizes = self._roughly(node, depth)
        if sizes is None:
            return None
        at = -len(parts) if isinstance(parts[0], ast.Constant) and parts[0].value is ... else 0
        for place, one in enumerate(parts, at):
            match one:
                case ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=most), upper=None, step=None):
                    literal = _number(most) if isinstance(most, ast.Constant) else None
                    named = self._set_in_init(most)
                    sizes[place] = literal or (_number(named) if named is not None else None)  # type: ignore[assignment] # whole
                case ast.Slice(lower=None, upper=None):
                    pass
                case ast.Constant(value=value) if value is ...:
                    pass
                case _:
                    return None
        return sizes

    def _roughly(self, node: ast.expr, depth: int) -> list[int | None] | None:
        """The sizes, None of those dims that are longer for what is put before or behind."""
        known, view = self.dims(node, depth), self.view(node)
        if known is not None or depth == 0 or view is None:
            return list(known) if known is not None else None
        match node:
            case ast.Name(id=name):
                values = [one.value for one in walked(view.node) if isinstance(one, ast.Assign)
                          and path_of(one.targets[0]) == name]  # fmt: skip
                return next((d for one in values if (d := self._roughly(one, depth - 1)) is not None), None)
            case ast.Call(func=function, args=[first, *rest], keywords=words):
                match (view.origin(function) or "").rpartition(".")[2], first:
                    case "cat", ast.List(elts=parts):
                        sizes = next((d for one in parts if (d := self._roughly(one, depth - 1)) is not None), None)
                        at = _dim(rest, words)
                        return [None if place in {at, at - len(sizes)} else one for place, one in enumerate(sizes)] if (
                            sizes is not None and at is not None) else None  # fmt: skip
                    case "pad", _:
                        sizes = self._roughly(first, depth - 1)
                        return [*sizes[:-1], None] if sizes else None
        return None

    def _set_in_init(self, node: ast.expr) -> ast.expr | None:
        """What `__init__` sets an attribute to, or has for a default."""
        for function in (scope.node for scope in self.scopes if scope.node.name == "__init__"):
            for one in walked(function):
                if isinstance(one, ast.Assign) and path_of(one.targets[0]) == path_of(node):
                    return next(_defaults(function, path_of(one.value) or ""), one.value)
        return None

    def _hooked_calls(self, hook: ast.AST, name: str) -> list[ast.expr]:
        """The calls whose results a forward hook gets under a name."""
        arguments = [one.arg for one in hook.args.args if one.arg != "self"]  # type: ignore[attr-defined] # a function
        nodes = [node for scope in self.scopes for node in walked(scope.node)]
        layers = {
            path_of(node.func.value) for node in nodes if isinstance(node, ast.Call) and node.args
            and isinstance(node.func, ast.Attribute) and node.func.attr == "register_forward_hook"
            and path_of(node.args[0]) == f"self.{hook.name}"  # type: ignore[attr-defined] # likewise
        }  # fmt: skip
        calls = (node for node in nodes if isinstance(node, ast.Call) and path_of(node.func) in layers - {None})
        return list(calls) if arguments[2:] == [name] else []

    def _made(self, node: ast.expr) -> tuple[int, ...] | None:
        """`torch.zeros(3)`."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=maker), args=args) if maker in _FILLS:
                numbers = args[0].elts if len(args) == 1 and isinstance(args[0], ast.Tuple) else args
                found = [one.value for one in numbers if isinstance(one, ast.Constant) and isinstance(one.value, int)]
                return tuple(found) if len(found) == len(numbers) else None
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="tensor"), args=[ast.Constant()]):
                return ()
        return None

    def is_integral(self, node: Written, own: str = "", depth: int = 4) -> bool:
        """Is it a whole number whatever comes? `own`: the path of a place of which that is asked."""
        if isinstance(node, Value | tuple) or depth == 0:
            return False
        match node:
            case ast.Constant(value=value):
                return isinstance(value, int)
            case ast.BinOp(op=op, left=left, right=right):
                parts = self.is_integral(left, own, depth - 1) and self.is_integral(right, own, depth - 1)
                return parts and not isinstance(op, ast.Div | ast.Pow)
            case ast.UnaryOp(operand=operand):
                return self.is_integral(operand, own, depth - 1)
            case ast.Compare() | ast.BoolOp():
                return True
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_integral(body, own, depth - 1) and self.is_integral(orelse, own, depth - 1)
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return True
            case ast.Call(func=ast.Name(id="len" | "int")):
                return True
            case ast.Call(func=ast.Name(id="min" | "max"), args=args):
                return all(self.is_integral(one, own, depth - 1) for one in args)
            case ast.Call(func=ast.Attribute(attr="where"), args=[_, left, right]):
                return self.is_integral(left, own, depth - 1) and self.is_integral(right, own, depth - 1)
            case ast.Call(func=ast.Attribute(attr="size" | "numel" | "argmax" | "argmin" | "long")):
                return True
            case ast.Attribute() | ast.Name() if path_of(root_of(node)) == own:
                return True
            case ast.Subscript() if path_of(root_of(node)) == own:
                return True
            case ast.Attribute() | ast.Name():
                scopes = [s for s in self.scopes if any(one is node for one in walked(s.node))] or self.scopes
                functions = [*(s.node for s in scopes), *(s.node for s in self.scopes if s.node.name == "__init__")]
                values = [
                    one.value for function in functions for one in walked(function)
                    if isinstance(one, ast.Assign) and path_of(one.targets[0]) == path_of(node)
                ]  # fmt: skip
                defaults = [d for function in functions for d in _defaults(function, path_of(node) or "")]
                found = [*values, *defaults]
                return bool(found) and all(self.is_integral(one, own, depth - 1) for one in found)
        return False

    def is_index(self, node: ast.expr) -> bool:
        """Does the function choose elements of tensors by it, or by a part of it: `x[edges[0]]`?"""
        view, name = self.view(node), path_of(node)
        if view is None or name is None or view.is_boolean(node):
            return False
        parts = {name}
        for one in walked(view.node):
            if isinstance(one, ast.Assign) and path_of(root_of(one.value)) == name:
                parts |= {path for target in one.targets for path in defined(target)}
        return any(path_of(root_of(one)) in parts for one in _choosing(view))

    def first(self, place: Place) -> ast.expr:
        """The tensor that a place begins with."""
        own = f"self.{place.name}"
        written = [one for one in place.written if not _is_none(one)]
        data = [one for one in written if isinstance(one, Value | tuple) or self.is_data(one)]
        dims = next((d for one in data if (d := self.dims(one)) is not None), None)
        initial = place.initial
        if initial is None:
            return self._zeros(place, data, dims, own)
        if place.is_buffer or self.makes_tensor(initial):
            had = self.dims(initial)
            if dims is not None and had is not None and _broadcast([dims, had]) == dims != had:
                self.from_sample = True
                return expression("INITIAL.repeat(DIMS)", INITIAL=initial, DIMS=_tuple(dims))
            return initial
        number = _number(initial)
        if isinstance(number, bool):
            return expression("torch.tensor(INITIAL)", INITIAL=initial)
        integral = (isinstance(number, int) or (number is None and self.is_integral(initial))) and all(
            self.is_integral(one, own) for one in written
        )
        if dims:
            self.from_sample = True
            fill = expression("torch.full(DIMS, INITIAL)", DIMS=_tuple(dims), INITIAL=_float(initial, number))
            return expression("torch.zeros(DIMS)", DIMS=_tuple(dims)) if number == 0 else fill
        if integral:
            return expression("torch.tensor(INITIAL)", INITIAL=initial)
        if data:
            if number is None and not isinstance(initial, ast.Call):
                return expression("torch.tensor(INITIAL, dtype=torch.float32)", INITIAL=initial)
            return expression("torch.tensor(INITIAL)", INITIAL=_float(initial, number))
        # Python's numbers are as precise as this; beside a tensor of numbers it changes no dtype.
        return expression("torch.tensor(INITIAL, dtype=torch.float64)", INITIAL=_float(initial, number))

    def _zeros(self, place: Place, data: list[Written], dims: tuple[int, ...] | None, own: str) -> ast.expr:
        if dims is None:
            written = [one for one in place.written if not _is_none(one)]
            if written and not data:
                whole = all(self.is_integral(one, own) for one in written)
                return expression("torch.tensor(0)" if whole else "torch.tensor(0.0, dtype=torch.float64)")
            raise CannotError(f"the size of `{place.name}` is not known")
        self.from_sample = self.from_sample or bool(dims)
        exprs = [one for one in data if isinstance(one, ast.expr)]
        if exprs and all(map(self.is_boolean, exprs)):
            return expression("torch.zeros(DIMS, dtype=torch.bool)", DIMS=_tuple(dims))
        if exprs and all(self.is_integral(one) or self.is_index(one) for one in exprs):
            return expression("torch.zeros(DIMS, dtype=torch.int64)", DIMS=_tuple(dims))
        return _call("torch.zeros", dims)

    def makes_tensor(self, node: ast.expr) -> bool:
        root: ast.expr = node
        while isinstance(root, ast.Call | ast.Attribute | ast.Subscript):
            name = self.module.dotted(root) if isinstance(root, ast.Attribute) else None
            if name is not None and name.startswith("torch."):
                return not name.startswith(("torch.nn.Module", "torch.device"))
            root = root.func if isinstance(root, ast.Call) else root.value
        if isinstance(node, ast.BinOp):
            return self.makes_tensor(node.left) or self.makes_tensor(node.right)
        if isinstance(node, ast.Name):
            fields = (one for cls in self.module.classes.values() for one in cls.node.body)
            if any(isinstance(one, ast.AnnAssign) and path_of(one.target) == node.id
                   and "Tensor" in ast.unparse(one.annotation) for one in fields):  # fmt: skip
                return True
            for scope in self.scopes:
                arguments = (*scope.node.args.args, *scope.node.args.kwonlyargs)
                if scope.node.name == "__init__" and any(
                    one.arg == node.id and one.annotation is not None and "Tensor" in ast.unparse(one.annotation)
                    for one in arguments
                ):
                    return True
                for one in walked(scope.node) if scope.node.name == "__init__" else ():
                    if (
                        isinstance(one, ast.Assign)
                        and path_of(one.targets[0]) == node.id
                        and self.makes_tensor(one.value)
                    ):
                        return True
        path = path_of(node.func if isinstance(node, ast.Call) else node) or ""
        registered = {
            one.args[0].value for scope in self.scopes if scope.node.name == "__init__" for one in walked(scope.node)
            if isinstance(one, ast.Call) and path_of(one.func) == "self.register_buffer" and len(one.args) > 1
            and isinstance(one.args[0], ast.Constant)
        }  # fmt: skip
        if path.startswith("self.") and path.split(".")[1] in registered:  # `self.initial.clone()`
            return True
        view = self.view(node)
        return view is not None and isinstance(view.value(node).lead, Tensor)

    def in_constructor(self, node: ast.expr, at: ast.stmt | None) -> ast.expr:
        """The expression as the constructor can say it at a statement: `n` of `self.n`, which it sets to `n` below."""
        for function in (one.node for one in self.scopes if one.node.name == "__init__" and at is not None):
            for one in walked(function):
                match one:
                    case ast.Assign(targets=[target], value=ast.Name() | ast.Constant() as value):
                        if path_of(target) == path_of(node) and one.lineno > at.lineno:  # type: ignore[union-attr] # see above
                            return value
        return node

    def are_layers(self, node: ast.expr) -> bool:
        """Is it a `torch.nn.ModuleList`?"""
        nodes = (one for scope in self.scopes if scope.node.name == "__init__" for one in walked(scope.node))
        made = {self.module.dotted(one.value.func) for one in nodes if isinstance(one, ast.Assign)
                and path_of(one.targets[0]) == path_of(node) and isinstance(one.value, ast.Call)}  # fmt: skip
        return made == {"torch.nn.ModuleList"}

    def is_layer(self, node: ast.expr) -> bool:
        """An attribute that constructors set to a layer, and that is set nowhere else."""
        setting = [one for scope in self.scopes for one in walked(scope.node)
                   if isinstance(one, ast.Assign) and path_of(node) in map(path_of, one.targets)]  # fmt: skip
        return bool(setting) and all(self.makes_module(one.value) for one in setting)

    def makes_module(self, node: Written) -> bool:
        """A layer is no state that a tensor holds."""
        made = (self.module.dotted(node.func) or "") if isinstance(node, ast.Call) else ""
        of_file = self.module.classes.get(made.rpartition(".")[2])
        return re.match(r"torch\.nn\.(?!Parameter|Buffer)[A-Z]", made) is not None or (
            of_file is not None and of_file.is_module
        )


def _origin(node: ast.AST) -> ast.AST:
    """The author's statement that the node stands for."""
    return getattr(node, "origin", node)


# Functions and methods that choose elements by a tensor, and which argument that is, the tensor counted as the first.
_CHOOSING = {
    **dict.fromkeys(("index_select", "gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "index_add"), 2),
    **dict.fromkeys(("index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_"), 2), "take": 1,
}  # fmt: skip


def _choosing(view: View) -> Iterator[ast.expr]:
    """What the function's tensors are indexed by, masks among it."""
    for one in walked(view.node):
        match one:
            case ast.Subscript(value=held, slice=index) if view.is_data(held):
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                yield from (part for part in parts if not isinstance(part, ast.Slice | ast.Constant))
            case ast.Call(func=ast.Attribute(attr=name) as function, args=args, keywords=words) if name in _CHOOSING:
                at = _CHOOSING[name] - (0 if (view.origin(function) or "").startswith("torch.") else 1)
                yield from (*args[at : at + 1], *(word.value for word in words if word.arg == "index"))


def _set_in(scope: Scope, name: str) -> list[ast.stmt]:
    return [one for one in statements_of(scope.body) if name in defined(one)]


def _defaults(function: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    a = function.args
    names = [one.arg for one in (*a.posonlyargs, *a.args)]
    yield from (value for arg, value in zip(names[::-1], a.defaults[::-1], strict=False) if arg == name)
    yield from (value for arg, value in zip(a.kwonlyargs, a.kw_defaults, strict=True) if arg.arg == name and value)


def _broadcast(sides: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    length = max(map(len, sides), default=0)
    padded = [(1,) * (length - len(one)) + one for one in sides]
    found = [max(column) for column in zip(*padded, strict=True)]
    fits = all(one in {1, most} for side in padded for one, most in zip(side, found, strict=True))
    return tuple(found) if fits and sides else None


def _is_none(node: Written) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _number(node: ast.expr) -> bool | int | float | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int | float) else None


def _float(node: ast.expr, number: float | None) -> ast.expr:
    if number is None or isinstance(number, float):
        return node
    return ast.Constant(float(number)) if number >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(float(-number)))


def _tuple(dims: Sequence[int]) -> ast.expr:
    return ast.Tuple([ast.Constant(one) for one in dims], ast.Load())


def _call(name: str, dims: Sequence[int]) -> ast.expr:
    """`torch.zeros(2, 3)`; `torch.zeros(())` of no dims."""
    args: list[ast.expr] = [ast.Constant(one) for one in dims] or [ast.Tuple([], ast.Load())]
    return ast.Call(expression(name), args, [])


# -- Forms -------------------------------------------------------------------------------------------------------------


class Forms:
    """Gives each place its cells, and rewrites the scopes to them.

    Raises CannotError for a place that has no form; `kept` are the places that stay as they are for that reason.
    """

    def __init__(self, known: Known, homes: Sequence[Home], scopes: Sequence[Scope]) -> None:
        self.known, self.scopes = known, scopes
        self.cells: list[Cell] = []
        self.refused: list[str] = []
        self.sizes: dict[str, list[ast.stmt]] = {}  # of names of sizes, what sets them, above each reader
        todo = [place for home in homes for place in home.places.values()]
        for place in todo:
            todo += self._form(place)

    def _form(self, place: Place) -> list[Place]:
        """Rewrites all uses of a place; the places that take its place."""
        reasons: list[str] = []
        for form in self._forms_for(place):
            before = [scope.body for scope in self.scopes]
            made = len(self.cells)
            try:
                parts = form()
            except CannotError as error:
                reasons.append(str(error))
                del self.cells[made:]
                for scope, body in zip(self.scopes, before, strict=True):
                    scope.body = body
                continue
            return parts
        self.refused.append(f"{place.name}: {', '.join(reasons) or 'no tensors can hold it'}")
        del place.home.places[place.name]
        return []

    def _forms_for(self, place: Place) -> list[Callable[[], list[Place]]]:
        initial = place.initial
        if initial is not None and (layers := self._layers_of(initial)) is not None:
            return [lambda: self._layer(place, layers)]
        if any(map(self.known.makes_module, place.written)):
            return []
        match initial:
            case ast.Call(func=function) if (self.known.module.dotted(function) or "").startswith("itertools."):
                return [lambda: self._turns(place)]
            case ast.Call(func=ast.Name(id="iter")):
                return [lambda: self._turns(place)]
            case ast.Call(func=ast.Name(id=name)) if name in self.known.module.functions and _yields(
                self.known.module.functions[name].node
            ):
                return [lambda: self._generator(place), lambda: self._round(place)]
        if initial is None and any(isinstance(one, ast.expr) and _repeated(one) for one in place.written):
            place.initial = ast.List([], ast.Load())
            return [lambda: self._window(place)]
        self._without_names(place)
        if initial is None:
            self._write_out(place)
        if initial is None and len(pair := self._pair_values(place) or []) > 1:
            return [lambda: self._named(place)]
        if initial is None:
            place.written += [value for values in pair for value in values]
        if initial is None or place.is_buffer or self.known.makes_tensor(initial) or _number(initial) is not None:
            return [lambda: self._cell(place)]
        if (count := _of_nones(initial)) is not None:
            return [lambda: self._rows(place, count), lambda: self._columns(place)]
        if isinstance(initial, ast.ListComp | ast.DictComp):
            found = [lambda: self._columns(place)]
            if (each := _each_of(initial)) is not None:
                found.append(lambda: self._with_keys(place, each))
            return [*found, lambda: self._window(place)] if isinstance(initial, ast.ListComp) else found
        if _is_listing(initial):
            windows = [lambda: self._window(place), lambda: self._window(place, named=True)]
            return [lambda: self._named(place), *windows, lambda: self._totals(place)]
        if _of_missing(initial) is not None:
            return [lambda: self._named(place)]
        if isinstance(initial, ast.Set | ast.SetComp) or _is_object(initial):
            return []  # sets, objects of libraries
        return [lambda: self._cell(place)]

    # A layer, one of several that the module has.

    def _layers_of(self, node: Written) -> list[ast.expr] | None:
        """The layers that a value may be: of `self.cold`, of `self.cold if self.first else self.warm`."""
        match node:
            case ast.IfExp(body=body, orelse=orelse):
                sides = self._layers_of(body), self._layers_of(orelse)
                return [*sides[0], *sides[1]] if sides[0] is not None and sides[1] is not None else None
            case ast.Attribute() if self.known.is_layer(node):
                return [node]
        return None

    def _layer(self, place: Place, layers: list[ast.expr]) -> list[Place]:
        """The number of the layer among all that are put there."""
        for one in place.written:
            if (more := self._layers_of(one)) is None:
                raise CannotError(f"`{place.name}` is a layer that is not known")
            layers = [*layers, *more]
        paths = list(dict.fromkeys(path_of(one) or "" for one in layers))
        number = f"{place.name}_index"
        if len(paths) == 1 or not all(path.startswith("self.") for path in paths):
            raise CannotError(f"`{place.name}` is always the same layer")

        def index(value: ast.expr) -> ast.expr:
            if isinstance(value, ast.IfExp):
                return changed_copy(value, body=index(value.body), orelse=index(value.orelse))
            return ast.Constant(paths.index(path_of(value) or ""))

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
            match node:
                case ast.stmt() if _origin(node) is place.definition:
                    return node
                case ast.Assign(targets=[target], value=value) if is_own(target):
                    if self._layers_of(value) is None or owner != "self":
                        raise CannotError(f"`{place.name}` is a layer that is not known")
                    (new,) = statements("OWN = AT", OWN=reference(f"{owner}.{number}"), AT=index(value))
                    return [stands_for(new, node)]
                case ast.Attribute(ctx=ast.Load()) if is_own(node):
                    listed = ast.List([reference(f"{owner}{path.removeprefix('self')}") for path in paths], ast.Load())
                    return expression("LAYERS[AT]", LAYERS=listed, AT=reference(f"{owner}.{number}"))
                case ast.Attribute() if is_own(node):
                    raise CannotError(f"`{place.name}` is set together with others")
            return None

        first = place.initial
        if not isinstance(first, ast.Attribute):
            raise CannotError(f"`{place.name}` begins with a layer that is not known")
        self._rewrite(place, change)
        self.cells.append(Cell(number, place.home, expression("torch.tensor(AT)", AT=index(first)), place.definition))
        del place.home.places[place.name]
        place.home.places[number] = Place(number, place.home, ast.Constant(0), place.definition)
        return []

    def _rewrite(self, place: Place, change: Change) -> None:
        """`change`: of a node, the owner's path, and what tells whether a node is the place."""
        for scope in self.scopes:
            owners = [path for path, home in scope.owners.items() if home is place.home]
            for owner in owners:
                scope.rewrite(_of_owner(change, owner, _is_place(owner, place.name)))

    # One tensor, which may be missing at first.

    def _cell(self, place: Place) -> list[Place]:
        if place.initial is not None and not self._is_deleted(place):
            first = self.known.first(place)
            self.cells.append(Cell(place.name, place.home, first, place.definition, place.is_buffer))
            self._no_calls(place)
            if first is not place.initial and not isinstance(_number(place.initial), int | float):
                self._rewrite(place, _of_one_size)
            return []
        starts = self._starts(place)
        first = self._start_value(place, starts) if starts else self.known.first(place)
        flag = f"{place.name}_set" if self._asks(place, starts) else None
        self.cells.append(Cell(place.name, place.home, first, place.definition, place.is_buffer))
        if flag is not None:
            begins = expression("torch.tensor(False)" if place.initial is None else "torch.tensor(True)")
            self.cells.append(Cell(flag, place.home, begins, place.definition))

        aliases = self._aliases(place)

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
            match node:
                case ast.Assign(targets=[ast.Name()]) if id(node) in aliases:
                    return [node, *statements("NAME = FLAG", NAME=aliases[id(node)], FLAG=reference(f"{owner}.{flag}"))]
                case ast.Compare(ops=[ast.Is() | ast.IsNot() as op]) if id(node) in aliases:
                    told = reference(aliases[id(node)])
                    return told if isinstance(op, ast.IsNot) else ast.UnaryOp(ast.Invert(), told)
                case ast.If() if any(_origin(node) is _origin(one) for one in starts):
                    rest = node.test.values[1:] if isinstance(node.test, ast.BoolOp) else []
                    return [] if all(_asks_size(one, is_own) for one in rest) else None
                case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
                    if is_own(left):
                        told = reference(f"{owner}.{flag}")
                        return told if isinstance(op, ast.IsNot) else ast.UnaryOp(ast.Invert(), told)
                case ast.Call(func=ast.Name(id="hasattr"), args=[held, ast.Constant(value=name)]):
                    if path_of(held) == owner and name == place.name:
                        return reference(f"{owner}.{flag}")
                case ast.Call(func=ast.Name(id="getattr"), args=[held, ast.Constant(value=name), _]):
                    if path_of(held) == owner and name == place.name:
                        return reference(f"{owner}.{name}")
                case ast.Assign(targets=targets, value=value) if any(
                    is_own(one) for target in targets for one in walked(target)
                ):
                    if node is place.definition or getattr(node, "origin", node) is place.definition:
                        return node
                    return self._set(node, value, owner, flag, is_own, first)
                case ast.Delete(targets=[target]) if is_own(target):
                    return statements("FLAG = False", FLAG=reference(f"{owner}.{flag}"))
            return None

        self._rewrite(place, change)
        return []

    def _set(
        self, node: ast.Assign, value: ast.expr, owner: str, flag: str | None, is_own: IsOwn, first: ast.expr
    ) -> list[ast.stmt]:
        if _is_none(value):
            others = [one for one in node.targets if not is_own(one)]
            kept: list[ast.stmt] = [changed_copy(node, targets=others)] if others else []
            if flag is not None:
                return kept + statements("FLAG = False", FLAG=reference(f"{owner}.{flag}"))
            again = [changed_copy(node, targets=[one], value=_refill(first)) for one in node.targets if is_own(one)]
            return [*kept, *again]
        if flag is None:
            return [node]
        asks = rebuilt(value, lambda one: _flagged(one, owner, flag, is_own))
        new = changed_copy(node, value=asks) if asks is not value else node
        return [new, *statements("FLAG = True", FLAG=reference(f"{owner}.{flag}"))]

    def _is_deleted(self, place: Place) -> bool:
        return any(isinstance(node, ast.Delete) and any(self.is_of(scope, one, place) for one in node.targets)
                   for scope, node in self.nodes(place))  # fmt: skip

    def _no_calls(self, place: Place) -> None:
        """A tensor or number has no methods of a container."""
        for scope in self.scopes:
            for node in (one for statement in scope.body for one in walked(statement)):
                match node:
                    case ast.Call(func=ast.Attribute(value=held, attr="append" | "pop" | "extend")):
                        if (found := scope.place(held)) is not None and found[1] is place:
                            raise CannotError(f"`{place.name}` is a container of a kind that is not known")

    def _starts(self, place: Place) -> list[ast.If]:
        """`if self.h is None: self.h = torch.zeros(…)`: all that happens is that the first value is set."""
        found = []
        for scope, node in self.nodes(place):
            match node:
                case ast.If(test=test, body=[ast.Assign(targets=[target], value=ast.Call() as made)], orelse=[]):
                    asked = test.values[0] if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else test
                    if not isinstance(asked, ast.Compare) or not isinstance(asked.ops[0], ast.Is):
                        continue
                    if self.is_of(scope, asked.left, place) and self.is_of(scope, target, place):
                        last = made.func.attr if isinstance(made.func, ast.Attribute) else ""
                        if last in _FILLS or last == "full":
                            found.append(node)
        return found

    def _start_value(self, place: Place, starts: Sequence[ast.If]) -> ast.expr:
        made = starts[0].body[0].value  # type: ignore[attr-defined] # see `_starts`
        written = (one for one in place.written if not _is_none(one))
        dims = self.known.dims(made) or next((d for one in written if (d := self.known.dims(one)) is not None), None)
        if dims is None:
            raise CannotError(f"the size of `{place.name}` is not known")
        self.known.from_sample = True
        keywords = [one for one in made.keywords if one.arg == "dtype" and ast.unparse(one.value).startswith("torch.")]
        if made.func.attr == "full":
            return ast.Call(expression("torch.full"), [_tuple(dims), made.args[-1]], keywords)
        call = _call(f"torch.{_FILLS[made.func.attr]}", dims)
        return changed_copy(call, keywords=keywords) if keywords else call

    def _aliases(self, place: Place, *, of_row: bool = False) -> dict[int, str]:
        """The questions `last is None`, where `last = self.last`, and those statements; with a name for the answer.

        `of_row`: where `last = self.last[i]`.
        """
        found: dict[int, str] = {}
        for scope in self.scopes:
            order = list(statements_of(scope.body))
            for number, taken in enumerate(order):
                match taken:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if self.is_of(
                        scope, value.value if of_row and isinstance(value, ast.Subscript) else value, place
                    ):
                        asked: dict[int, str] = {}
                        for node in order[number + 1 :]:
                            head = node.test if isinstance(node, ast.If) else node
                            asked |= {
                                id(one): f"{name}_set" for one in walked(head)
                                if isinstance(one, ast.Compare) and path_of(one.left) == name
                                and isinstance(one.comparators[0], ast.Constant) and one.comparators[0].value is None
                            }  # fmt: skip
                            if name in defined(node):
                                break
                        if asked:
                            found |= {id(taken): f"{name}_set", **asked}
        self.known.answers |= set(found.values())
        return found

    def _asks(self, place: Place, starts: Sequence[ast.If]) -> bool:
        if self._aliases(place):
            return True
        inside = {id(one) for start in starts for one in walked(start)}
        for scope, node in self.nodes(place):
            match node:
                case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()]) if id(node) not in inside:
                    if self.is_of(scope, left, place):
                        return True
                case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=name)]) if name == place.name:
                    return True
        return False

    def nodes(self, place: Place) -> Iterator[tuple[Scope, ast.AST]]:
        for scope in self.scopes:
            if any(home is place.home for home in scope.owners.values()):
                for statement in scope.body:
                    for node in walked(statement):
                        yield scope, node

    def is_of(self, scope: Scope, node: ast.AST, place: Place) -> bool:
        found = scope.place(node)
        return found is not None and found[1] is place

    def test_of(self, scope: Scope, place: Place) -> IsOwn:
        return lambda node: self.is_of(scope, node, place)

    def _without_names(self, place: Place) -> None:
        """`cache = self.cache`, of a container: what is read by such a name is read of the place, as long as that holds
        the same one."""
        wholes = _is_listing(place.initial) if place.initial is not None else len(self._pair_values(place) or []) > 1
        for scope in self.scopes if wholes else ():
            nodes = [one for statement in scope.body for one in walked(statement)]
            stored = Counter(one.id for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load))
            for node in nodes:
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if self.is_of(scope, value, place):
                        if stored[name] == 1 and not self._is_stale(scope, node, place):
                            scope.rewrite(_named_as(node, name, value))

    def _is_stale(self, scope: Scope, alias: ast.Assign, place: Place) -> bool:
        """Is the name read where the place may hold something else by now?"""
        (name,) = defined(alias)

        def is_set_by(one: Scope, node: ast.AST) -> bool:
            is_stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            return is_stored and self.is_of(one, node, place)

        setting = {one.node.name for one in self.scopes if one is not scope and any(
            is_set_by(one, node) for statement in one.body for node in walked(statement)
        )}  # fmt: skip

        def sets(node: ast.AST) -> bool:
            calls = isinstance(node, ast.Call) and (path_of(node.func) or "").rpartition(".")[2] in setting
            return calls or is_set_by(scope, node)

        def follow(body: Sequence[ast.stmt], *, is_set: bool) -> tuple[bool, bool]:
            """Is it set behind the statements, and was the name read when it was?"""
            is_stale = False
            for node in body:
                sides = [part for key in ("body", "orelse", "finalbody") if (part := getattr(node, key, None))]
                sides += [one.body for one in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]
                inside = {id(one) for side in sides for part in side for one in walked(part)}
                head = [one for one in walked(node) if id(one) not in inside]
                if isinstance(node, ast.For | ast.While) and any(map(sets, walked(node))):
                    is_set = is_set or all(one is not alias for one in walked(node))  # by an earlier round
                is_stale |= is_set and any(isinstance(one, ast.Name) and one.id == name for one in head)
                is_set = is_set or any(map(sets, head))
                before = is_set
                for side in sides:
                    after, read = follow(side, is_set=before if isinstance(node, ast.If) else is_set)
                    is_set, is_stale = is_set or after, is_stale or read
            return is_set, is_stale

        return follow(scope.body, is_set=False)[1]

    # Elements that the code names.

    def _write_out(self, place: Place) -> None:
        """`self.state = tuple(s.detach() for s in state)`, where it is known how many there are."""

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:  # noqa: ARG001 - as every change is called
            match node:
                case ast.Assign(targets=[target], value=ast.ListComp() as listed) if is_own(target):
                    pass
                case ast.Assign(
                    targets=[target],
                    value=ast.Call(func=ast.Name(id="tuple" | "list"), args=[ast.GeneratorExp() as listed]),
                ) if is_own(target):
                    pass
                case _:
                    return None
            match listed.generators:
                case [ast.comprehension(target=ast.Name(id=name), iter=ast.Name() as whole, ifs=[])]:
                    view = self.known.view(whole)
                    lead = view.value(whole).lead if view is not None else None
                    if not isinstance(lead, Container) or not lead.items:
                        return None
                    parts = []
                    for number, item in enumerate(lead.items):
                        part = expression("WHOLE[AT]", WHOLE=whole, AT=ast.Constant(number))
                        new = rebuilt(listed.elt, lambda one, p=part: p if path_of(one) == name else None)  # type: ignore[misc]
                        parts.append(cast("ast.expr", new))
                        found.append(item)
                    return [changed_copy(node, value=ast.Tuple(parts, ast.Load()))]
            return None

        found: list[Value] = []
        self._rewrite(place, change)
        if found:
            place.written = [exactly(Container("tuple", items=tuple(found)))]

    def _pair_values(self, place: Place) -> list[list[Written]] | None:
        """What is put into each element, where something puts tuples there."""
        for one in place.written:
            if isinstance(one, ast.Tuple):
                return [[part] for part in one.elts]
            if isinstance(one, Value) and isinstance(one.lead, Container) and one.lead.items:
                return [[item] for item in one.lead.items]
            if isinstance(one, ast.expr) and not _is_none(one):
                view = self.known.view(one)
                lead = view.value(one).lead if view is not None else None
                if isinstance(lead, Container) and lead.items and all(isinstance(i, Value) for i in lead.items):
                    return [[item] for item in lead.items]
        for scope, node in self.nodes(place):
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call() as made):
                    at = [n for n, one in enumerate(targets) if self.is_of(scope, one, place)]
                    view = self.known.view(made)
                    lead = view.value(made).lead if view is not None and at else None
                    if isinstance(lead, Container) and lead.items and at[0] < len(lead.items):
                        inner = lead.items[at[0]].lead
                        if isinstance(inner, Container) and inner.items:
                            return [[item] for item in inner.items]
                        place.written.append(lead.items[at[0]])
        return None

    def _named(self, place: Place) -> list[Place]:
        parts: dict[object, Place] = {}
        initial = place.initial
        kind = "list"
        missing: ast.expr | None = None
        elements: dict[object, ast.expr | None] = {}
        match initial:
            case None:
                pairs = self._pair_values(place) or []
                elements = dict.fromkeys(range(len(pairs)))
                kind = "tuple"
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                elements = dict(enumerate(elts))
                kind = "tuple" if isinstance(initial, ast.Tuple) else "list"
            case ast.Dict(keys=keys, values=values):
                kind = "dict"
                elements = {one.value: value for one, value in zip(keys, values, strict=True)
                            if isinstance(one, ast.Constant)}  # fmt: skip
                if len(elements) != len(keys):
                    raise CannotError("a key is computed")
            case ast.Call() if (missing := _of_missing(initial)) is not None:
                kind = "dict"
            case ast.Call(func=function, args=[], keywords=words):
                kind = "namespace" if (self.known.module.dotted(function) or "").endswith("SimpleNamespace") else "dict"
                if kind == "dict" and not (isinstance(function, ast.Name) and function.id == "dict"):
                    raise CannotError("a container of a kind that is not known")
                elements = {one.arg: one.value for one in words if one.arg}
            case _:
                raise CannotError("its elements have no names")
        if kind in {"dict", "namespace"}:
            for scope, node in self.nodes(place):
                if (key := self._key(scope, node, place)) is not None:
                    elements.setdefault(key, missing)
        if not elements:
            raise CannotError("it has no elements at first")
        for key, value in elements.items():
            name = f"{place.name}_{key}" if len(elements) > 1 or not isinstance(key, int) else place.name
            begins = None if value is None or _is_none(value) else value
            parts[key] = Place(name, place.home, begins, place.definition, place.moved)
        for scope in self.scopes:
            self._collect(scope, place, parts)
        if initial is None:
            for number, put_in in enumerate(self._pair_values(place) or []):
                parts[number].written += put_in
        self._rewrite(place, lambda node, owner, is_own: _part(node, owner, is_own, parts, kind, place))
        del place.home.places[place.name]
        for part in parts.values():
            place.home.places[part.name] = part
        return list(parts.values())

    def _key(self, scope: Scope, node: ast.AST, place: Place) -> object:
        match node:
            case ast.Subscript(value=held, slice=ast.Constant(value=str() | int() as key)) if self.is_of(
                scope, held, place
            ):
                return key
            case ast.Call(func=ast.Attribute(value=held, attr="get"), args=[ast.Constant(value=key), *_]):
                return key if self.is_of(scope, held, place) else None
            case ast.Attribute(value=held, attr=name) if self.is_of(scope, held, place):
                return name if not (isinstance(place.initial, ast.Dict)) and name not in dir(dict) else None
        return None

    def _collect(self, scope: Scope, place: Place, parts: dict[object, Place]) -> None:
        """What is put into the elements."""
        for node in (one for statement in scope.body for one in walked(statement)):
            match node:
                case ast.Assign(targets=[target], value=value) | ast.AugAssign(target=target, value=value):
                    if self.is_of(scope, target, place) and isinstance(value, ast.Tuple | ast.List):
                        for number, one in enumerate(value.elts):
                            if number in parts:
                                parts[number].written.append(one)
                    elif (key := self._key(scope, target, place)) in parts:
                        parts[key].written.append(value)

    # A list or dict with an element for each layer.

    def _columns(self, place: Place) -> list[Place]:
        """Elements that are tuples, or dicts with the same keys: `[(h, c) for …]` as two lists."""
        initial = place.initial
        given = next((one for one in place.written if isinstance(one, ast.Tuple)), None)
        element = getattr(initial, "elt", getattr(initial, "value", given))
        match element:
            case ast.Tuple(elts=values):
                parts: dict[object, ast.expr] = dict(enumerate(values))
            case ast.Dict(keys=keys, values=values) if all(isinstance(one, ast.Constant) for one in keys):
                parts = {one.value: value for one, value in zip(keys, values, strict=True)}  # type: ignore[union-attr] # see the guard
            case _:
                raise CannotError("its elements have no parts")
        field = "value" if isinstance(initial, ast.DictComp) else "elt"
        columns = {
            key: Place(f"{place.name}_{key}", place.home,
                       changed_copy(initial, **{field: value}) if isinstance(initial, ast.ListComp | ast.DictComp)
                       else initial, place.definition, place.moved)
            for key, value in parts.items()
        }  # fmt: skip
        for one in place.written:
            if isinstance(one, ast.Tuple) and len(one.elts) == len(columns):
                for column, value in zip(columns.values(), one.elts, strict=True):
                    column.written.append(value)

        def of(key: object, owner: str, index: ast.expr, context: ast.expr_context) -> ast.Subscript:
            return ast.Subscript(reference(f"{owner}.{columns[key].name}"), index, context)

        def names() -> list[ast.expr]:
            return [ast.Name(one.name.lstrip("_"), ast.Load()) for one in columns.values()]

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
            match node:
                case ast.stmt() if _origin(node) is place.definition:
                    return node
                case ast.Subscript(
                    value=ast.Subscript(value=held, slice=index), slice=ast.Constant(value=key), ctx=context
                ) if is_own(held) and key in columns:
                    return of(key, owner, index, context)
                case ast.Assign(targets=[ast.Subscript(value=held, slice=index)], value=value) if is_own(held):
                    match value := _rewritten(value, _of_owner(change, owner, is_own)):
                        case ast.Tuple(elts=values) if len(values) == len(columns):
                            before, given = list[ast.stmt](), dict(zip(columns, values, strict=True))
                        case ast.Constant(value=None):
                            before, given = [], dict.fromkeys(columns, value)
                        case _ if isinstance(element, ast.Tuple):
                            before = statements("NAMES = VALUE", NAMES=ast.Tuple(names(), ast.Load()), VALUE=value)
                            given = dict(zip(columns, names(), strict=True))
                        case _:
                            raise CannotError("an element is set whole")
                    return [*before, *(ast.Assign([of(key, owner, index, ast.Store())], given[key]) for key in columns)]
                case ast.Assign(targets=[target], value=ast.Name() as value) if is_own(target):
                    wholes = [as_target(reference(f"{owner}.{one.name}")) for one in columns.values()]
                    return [*statements("NAMES = zip(*VALUE)", NAMES=ast.Tuple(names(), ast.Load()), VALUE=value),
                            *(ast.Assign([a], b) for a, b in zip(wholes, names(), strict=True))]  # fmt: skip
                case ast.Compare(left=ast.Subscript(value=held, slice=index), ops=[ast.Is() | ast.IsNot()]) if is_own(
                    held
                ):
                    return changed_copy(node, left=of(next(iter(columns)), owner, index, ast.Load()))
                case ast.Subscript(value=held, slice=index) if is_own(held) and isinstance(element, ast.Tuple):
                    return ast.Tuple([of(key, owner, index, ast.Load()) for key in columns], ast.Load())
                case ast.Attribute(ctx=ast.Load()) if is_own(node) and isinstance(element, ast.Tuple):
                    return ast.Call(expression("zip"), [reference(f"{owner}.{o.name}") for o in columns.values()], [])
                case ast.Attribute() if is_own(node):
                    raise CannotError(f"`{place.name}` is handed on as a whole")
            return None

        self._rewrite(place, change)
        del place.home.places[place.name]
        for column in columns.values():
            place.home.places[column.name] = column
        return list(columns.values())

    def _with_keys(self, place: Place, each: Each) -> list[Place]:
        """A buffer for each, with the key in its name: their sizes differ, or the keys are names."""
        is_plain = isinstance(place.initial, ast.ListComp) and not _names_in(each.target) & _names_in(each.element)
        if is_plain or not self.known.makes_tensor(each.element):
            raise CannotError("its elements are of one size")
        self.cells.append(Cell(place.name, place.home, each.element, place.definition, each=each))

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
            def of(index: ast.expr) -> ast.expr:
                return named_with(owner, place.name, index)

            match node:
                case ast.stmt() if _origin(node) is place.definition:
                    return node
                case ast.Assign(targets=[ast.Subscript(value=held, slice=index)], value=value) if is_own(held):
                    new = _detached(_rewritten(value, _of_owner(change, owner, is_own)))
                    return stands_for(statements("OWN.copy_(VALUE)", OWN=of(index), VALUE=new)[0], node)
                case ast.AugAssign(target=ast.Subscript(value=held, slice=index), op=op, value=value) if is_own(held):
                    both = _detached(ast.BinOp(of(index), op, _rewritten(value, _of_owner(change, owner, is_own))))
                    return stands_for(statements("OWN.copy_(VALUE)", OWN=of(index), VALUE=both)[0], node)
                case ast.Assign(targets=[target], value=ast.ListComp() | ast.DictComp() as again) if is_own(target):
                    if (every := _each_of(again)) is not None:
                        put = statements("OWN.copy_(VALUE)", OWN=of(every.key), VALUE=every.element)
                        return [ast.For(as_target(every.target), every.over, put, [])]
                case ast.Assign(targets=[ast.Name()], value=ast.Subscript(value=held, slice=index)) if is_own(held):
                    return [changed_copy(node, value=expression("OWN.clone()", OWN=of(index)))]
                case ast.Subscript(value=held, slice=index) if is_own(held) and not isinstance(index, ast.Slice):
                    return of(index)
                case ast.Attribute() if is_own(node):
                    raise CannotError(f"`{place.name}` is handed on as a whole")
            return None

        self._rewrite(place, change)
        return []

    def _rows(self, place: Place, count: ast.expr) -> list[Place]:
        dims = next((d for one in place.written if not _is_none(one) and (d := self.known.dims(one)) is not None), None)
        if dims is None:
            raise CannotError(f"the size of what `{place.name}` holds is not known")
        self.known.from_sample = True
        flag = f"{place.name}_set"
        first = ast.Call(expression("torch.zeros"), [count, *(ast.Constant(one) for one in dims)], [])
        told = expression("torch.zeros(COUNT, dtype=torch.bool)", COUNT=count)
        self.cells.append(Cell(place.name, place.home, first, place.definition))
        aliases = self._aliases(place, of_row=True)
        is_asked = bool(aliases) or any(
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Subscript)
            and self.is_of(scope, node.left.value, place)
            for scope, node in self.nodes(place)
        )
        if is_asked:
            self.cells.append(Cell(flag, place.home, told, place.definition))

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
            flags = reference(f"{owner}.{flag}")
            match node:
                case ast.stmt() if getattr(node, "origin", node) is place.definition:
                    return node
                case ast.Assign(targets=[ast.Name()], value=ast.Subscript(slice=index)) if id(node) in aliases:
                    asked = statements("NAME = FLAGS[AT]", NAME=aliases[id(node)], FLAGS=flags, AT=index)
                    return [node, *asked]
                case ast.Compare(ops=[ast.Is() | ast.IsNot() as op]) if id(node) in aliases:
                    told = reference(aliases[id(node)])
                    return told if isinstance(op, ast.IsNot) else ast.UnaryOp(ast.Invert(), told)
                case ast.Compare(left=ast.Subscript(value=held, slice=index), ops=[ast.Is() | ast.IsNot() as op]) if (
                    is_own(held) and _is_none(node.comparators[0])
                ):
                    told = expression("FLAGS[AT]", FLAGS=flags, AT=index)
                    return told if isinstance(op, ast.IsNot) else ast.UnaryOp(ast.Invert(), told)
                case ast.Assign(targets=[ast.Subscript(value=held, slice=index)], value=value) if is_own(held):
                    is_there = ast.Constant(not _is_none(value))
                    noted = statements("FLAGS[AT] = IS", FLAGS=flags, AT=index, IS=is_there) if is_asked else []
                    return noted if _is_none(value) else [node, *noted]
                case ast.Assign(targets=[target], value=value) if is_own(target) and _of_nones(value) is not None:
                    again = reference(f"{owner}.{place.name}")
                    return statements("FLAGS = False", FLAGS=flags) if is_asked else statements("OWN = 0", OWN=again)
                case ast.Subscript(value=held, slice=ast.Slice()) if is_own(held):
                    raise CannotError("a part of it is taken")
                case ast.Subscript(value=held) if is_own(held):
                    return node
                case ast.Attribute() if is_own(node):
                    raise CannotError(f"`{place.name}` is handed on as a whole")
            return None

        self._rewrite(place, change)
        if is_asked:
            place.home.places[flag] = Place(flag, place.home, None, place.definition)
        return []

    # Lists that have a bound, and lists that only grow.

    def _window(self, place: Place, *, named: bool = False) -> list[Place]:
        """`named`: what is stacked under a name is said where the name was."""
        self._fill_first(place)
        if named:
            self._say_again(place)
        bound = self._last_ones(place)
        window = _Window(self, place, bound)
        self._rewrite(place, window.change)
        window.finish()
        return []

    def _say_again(self, place: Place) -> None:
        for scope in (one for one in self.scopes if one.is_run):
            is_own = self.test_of(scope, place)
            meant: dict[str, ast.expr] = {}
            for node in statements_of(scope.body):
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[held, *_]) as value):
                        if _is_all_of(held, is_own) and len(_set_in(scope, name)) == 1:
                            meant[name] = value

            def change(node: ast.AST, meant: dict[str, ast.expr] = meant) -> Changed:
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)]) if name in meant:
                        return []
                    case ast.Name(id=name) if name in meant:
                        return meant[name]
                return None

            scope.rewrite(change)

    def _fill_first(self, place: Place) -> None:
        """What `__init__` fills an empty list or deque with is what it begins with."""
        match place.initial:
            case ast.List(elts=[]) | ast.Call(args=[]):
                pass
            case _:
                return

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:  # noqa: ARG001 - as every change is called
            fill = _filling(node, is_own) if _origin(node) is not place.definition else None
            if fill is None:
                return None
            times = ast.comprehension(ast.Name("_", ast.Store()), expression("range(N)", N=fill[1]), [], 0)
            filled = ast.ListComp(fill[0], [times])
            old = place.initial
            place.initial = changed_copy(old, args=[filled]) if isinstance(old, ast.Call) else filled
            return []

        for scope in self.scopes:
            if scope.node.name == "__init__" and not scope.is_run and scope.owners.get("self") is place.home:
                scope.rewrite(_of_owner(change, "self", _is_place("self", place.name)))

    def _last_ones(self, place: Place) -> ast.expr | None:
        """The N where all that is read of a list that grows is `self.past[-N:]`, which then is all there is."""
        bounds: dict[str, ast.expr] = {}
        names: dict[str, None] = {}
        others = 0
        for scope in self.scopes:
            is_own = self.test_of(scope, place)
            kept = {id(one.value) for statement in scope.body for one in walked(statement)
                    if (isinstance(one, ast.Attribute) and one.attr in {*_GROWING, "clear"})
                    or (isinstance(one, ast.Subscript) and _tail(one, is_own) is not None)}  # fmt: skip
            for node in (one for statement in scope.body for one in walked(statement)):
                bound = _tail(node, is_own) if isinstance(node, ast.Subscript) else None
                if bound is not None:
                    default = next((d for d in _defaults(scope.node, path_of(bound) or "")), bound)
                    bounds[ast.unparse(default)] = default
                elif is_own(node) and id(node) not in kept and isinstance(getattr(node, "ctx", None), ast.Load):
                    others += 1
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as part):
                        if _tail(part, is_own) is not None and len(_set_in(scope, name)) == 1:
                            names[name] = None
        if len(bounds) != 1 or others or not isinstance(place.initial, ast.List):
            return None
        (most,) = bounds.values()
        if not isinstance(most, ast.Constant) and not (path_of(most) or "").startswith("self."):
            return None

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as part) if name in names:
                    return [] if _tail(part, is_own) is not None else None
                case ast.Name(id=name, ctx=ast.Load()) if name in names:
                    return reference(f"{owner}.{place.name}")
                case ast.Subscript(value=held) if is_own(held) and _tail(node, is_own) is not None:
                    return held
            return None

        self._rewrite(place, change)
        return most

    def _totals(self, place: Place) -> list[Place]:
        totals = _Totals(self, place)
        self._rewrite(place, totals.change)
        totals.finish()
        return []

    # Iterators.

    def _turns(self, place: Place) -> list[Place]:
        """`itertools.count()`, `itertools.cycle([0.1, 0.5])`, `itertools.cycle(self.heads)`: a number that goes on."""
        call = cast("ast.Call", place.initial)
        match (self.known.module.dotted(call.func) or "").rpartition(".")[2], call.args:
            case "count", args:
                step = args[1] if len(args) > 1 else ast.Constant(1)
                begin = expression("torch.tensor(START)", START=args[0] if args else ast.Constant(0))
                self._counting(place, begin, lambda own, _: own, expression("PLACE + STEP", STEP=step))
            case "cycle", [ast.Call(func=ast.Name(id="range"), args=[ast.Constant() as stop])]:
                self._counting(place, expression("torch.tensor(0)"), lambda own, _: own,
                               expression("(PLACE + 1) % STOP", STOP=stop))  # fmt: skip
            case "cycle", [ast.Attribute() as layers] if self.known.are_layers(layers):
                self._counting(place, expression("torch.tensor(0)"),
                               lambda own, _: expression("LAYERS[PLACE]", LAYERS=layers, PLACE=own),
                               expression("(PLACE + 1) % len(LAYERS)", LAYERS=layers))  # fmt: skip
            case "cycle", [values]:
                self._in_turn(place, values)
            case _:
                raise CannotError("the iterator ends")
        return []

    def _in_turn(self, place: Place, values: ast.expr) -> None:
        """Numbers that are known in `__init__`, one after the other, for ever."""
        table = f"{place.name}_values"
        elements = values.elts if isinstance(values, ast.List | ast.Tuple) else []
        if any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in elements):
            raise CannotError("it gives no numbers")
        if isinstance(values, ast.Call):
            values = expression("list(VALUES)", VALUES=values)
        self.cells.append(Cell(table, place.home, expression("torch.tensor(V)", V=values), place.definition))
        self._counting(
            place, expression("torch.tensor(0)"),
            lambda own, owner: expression("TABLE[PLACE]", TABLE=reference(f"{owner}.{table}"), PLACE=own),
            expression("(PLACE + 1) % TABLE.shape[0]"),
        )  # fmt: skip

    def _counting(
        self, place: Place, first: ast.expr, read: Callable[[ast.expr, str], ast.expr], following: ast.expr
    ) -> None:
        self.cells.append(Cell(place.name, place.home, first, place.definition))

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
            own, table = reference(f"{owner}.{place.name}"), reference(f"{owner}.{place.name}_values")
            names = {"PLACE": own, "TABLE": table}
            after = _rewritten(following, lambda one: names.get(one.id) if isinstance(one, ast.Name) else None)
            return _hoisted(node, is_own, place.name, [], read(reference(f"{owner}.{place.name}"), owner),
                            statements("PLACE = AFTER", PLACE=own, AFTER=after))  # fmt: skip

        self._rewrite(place, change)

    def _round(self, place: Place) -> list[Place]:
        """`while True: for i in range(n): yield …`, where each round gives the same."""
        call = cast("ast.Call", place.initial)
        node = cast("ast.FunctionDef", self.known.module.functions[path_of(call.func) or ""].node)
        given = given_to(node, call)
        match [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]:
            case [ast.While(test=ast.Constant(value=True), body=[ast.For(iter=over, body=body)], orelse=[])]:
                pass
            case _:
                raise CannotError("the rounds of the generator differ")
        match body:
            case [*before, ast.Expr(value=ast.Yield())] if all(isinstance(one, ast.Assign) for one in before):
                pass
            case _:
                raise CannotError("the rounds of the generator differ")
        stored = {name for one in before for name in defined(one)}
        called = {self.known.module.dotted(one.func) or "" for statement in body for one in walked(statement)
                  if isinstance(one, ast.Call)}  # fmt: skip
        if (
            stored & given.keys()
            or any("." in one for one in stored)
            or not all(one.startswith(("math.", "builtins.")) for one in called)
        ):
            raise CannotError("the rounds of the generator differ")
        over = _rewritten(over, lambda one: given.get(one.id) if isinstance(one, ast.Name) else None)
        self._in_turn(place, expression("[value for value, _ in zip(CALL, OVER)]", CALL=call, OVER=over))
        return []

    def _generator(self, place: Place) -> list[Place]:
        """`while True: yield value; value = …`: its variables go on."""
        call = place.initial
        assert isinstance(call, ast.Call)  # noqa: S101 - see `_forms_for`
        node = self.known.module.functions[path_of(call.func) or ""].node
        assert isinstance(node, ast.FunctionDef)  # noqa: S101 - a lambda has no statements
        *before, loop = [
            one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        ]
        match loop:
            case ast.While(test=ast.Constant(value=True), body=body):
                pass
            case _:
                raise CannotError("the generator ends")
        at = [n for n, one in enumerate(body) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Yield)]
        yields = sum(isinstance(one, ast.Yield | ast.YieldFrom | ast.Break | ast.Return) for one in walked(loop))
        if len(at) != 1 or yields != 1 or not all(isinstance(one, ast.Assign) for one in before):
            raise CannotError("the generator gives its values in several places")
        given = given_to(node, call)
        for statement in before:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                value = statement.value
                given[statement.targets[0].id] = given.get(value.id, value) if isinstance(value, ast.Name) else value
        changed = {inner.id for one in body for inner in walked(one)
                   if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}  # fmt: skip
        parts = {}
        for name in sorted(changed):
            if name not in given:
                raise CannotError("the generator makes a variable as it runs")
            part = Place(f"{place.name}_{name}", place.home, _or_none(given[name]), place.definition)
            part.written = [
                one.value for one in walked(loop) if isinstance(one, ast.Assign | ast.AugAssign)
                and name in {path_of(t) for t in (one.targets if isinstance(one, ast.Assign) else [one.target])}
            ]  # fmt: skip
            parts[name] = part
        kept = {one: f"{place.name}_{one}" for one in given if one not in changed and _number(given[one]) is None}
        if not all(self._stays_in_init(given[one], place) for one in kept):
            raise CannotError("what the generator works with is known in `__init__` alone")

        def change(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
            def named(one: ast.AST) -> Changed:
                if isinstance(one, ast.Name) and one.id in parts:
                    return ast.Attribute(reference(owner), parts[one.id].name, one.ctx)
                if isinstance(one, ast.Name) and one.id in kept:
                    return reference(f"{owner}.{kept[one.id]}")
                return given[one.id] if isinstance(one, ast.Name) and one.id in given else None

            given_out = body[at[0]].value.value  # type: ignore[attr-defined] # see above
            read = rebuilt(given_out, named) if given_out is not None else ast.Constant(None)
            assert isinstance(read, ast.expr)  # noqa: S101 - of an expression
            return _hoisted(node, is_own, place.name, block(body[: at[0]], named) if at[0] else [], read,
                            block(body[at[0] + 1 :], named) if body[at[0] + 1 :] else [])  # fmt: skip

        self._rewrite(place, change)
        for name, attribute in kept.items():
            own = reference(f"self.{attribute}")
            place.home.registered += statements("OWN = VALUE", OWN=own, VALUE=given[name])
        del place.home.places[place.name]
        for part in parts.values():
            place.home.places[part.name] = part
        return list(parts.values())

    def _stays_in_init(self, node: ast.expr, place: Place) -> bool:
        """Is it the same at the end of the constructor? Names, attributes and arithmetic that nothing sets further
        down."""
        plain = (ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Load)
        paths = {path_of(one) for one in walked(node) if isinstance(one, ast.Name | ast.Attribute)}
        init = next((one.node for one in self.scopes if one.node is place.home.methods.get("__init__")), None)
        line = getattr(place.definition, "lineno", None)
        if init is None or line is None or not all(isinstance(one, plain) for one in walked(node)):
            return False
        return not any(path in paths for one in statements_of(init.body) if one.lineno > line for path in defined(one))


def _yields(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Yield) for one in walked(node))


def _or_none(value: ast.expr) -> ast.expr | None:
    return None if _is_none(value) else value


def _refill(first: ast.expr) -> ast.expr:
    """The number that all elements of the first value are: of `torch.zeros(3)`, `torch.full((3,), -1.0)`."""
    match first:
        case ast.Call(func=ast.Attribute(attr="ones")):
            return ast.Constant(1)
        case ast.Call(func=ast.Attribute(attr="full"), args=[_, value]):
            return value
        case ast.Call(func=ast.Attribute(attr="tensor"), args=[value]):
            return value
    return ast.Constant(0)


def _named_as(alias: ast.Assign, name: str, value: ast.expr) -> Callable[[ast.AST], Changed]:
    """Without the name that the statement gives the value."""

    def change(node: ast.AST) -> Changed:
        if node is alias:
            return []
        return value if isinstance(node, ast.Name) and node.id == name else None

    return change


def _of_owner(change: Change, owner: str, is_own: IsOwn) -> Callable[[ast.AST], Changed]:
    return lambda node: change(node, owner, is_own)


def _is_place(owner: str, name: str) -> IsOwn:
    wanted = f"{owner}.{name}"
    return lambda node: path_of(node) == wanted


def _is_listing(node: ast.expr) -> bool:
    match node:
        case ast.List() | ast.Tuple() | ast.Dict() | ast.ListComp():
            return True
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return _is_listing(left) or _is_listing(right)
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in {"deque", "list", "dict", "SimpleNamespace", "tuple"}
    return False


def _each_of(node: ast.ListComp | ast.DictComp) -> Each | None:
    """What `[… for d in dilations]` goes through, and by which name each element is called."""
    match node:
        case ast.DictComp(
            key=ast.Name() as key, value=element, generators=[ast.comprehension(target=target, iter=over, ifs=[])]
        ):
            return Each(target, over, key, element)
        case ast.ListComp(
            elt=element,
            generators=[
                ast.comprehension(
                    target=ast.Name(id=name) as key, iter=ast.Call(func=ast.Name(id="range"), args=[_]) as over, ifs=[]
                )
            ],
        ) if name != "_":
            return Each(key, over, as_value(key), element)
        case ast.ListComp(elt=element, generators=[ast.comprehension(target=target, iter=over, ifs=[])]):
            number = next(one for one in ("i", "number", "place") if one not in _names_in(node))
            pair = ast.Tuple([ast.Name(number, ast.Store()), target], ast.Store())
            return Each(pair, expression("enumerate(OVER)", OVER=over), ast.Name(number, ast.Load()), element)
    return None


def named_with(owner: str, name: str, key: ast.expr) -> ast.expr:
    """`getattr(self, f"left_{i}")`; `self.left_0`."""
    if isinstance(key, ast.Constant) and f"{name}_{key.value!s}".isidentifier():
        return reference(f"{owner}.{name}_{key.value!s}")
    return expression("getattr(OWNER, NAME)", OWNER=reference(owner), NAME=name_with(name, key))


def name_with(name: str, key: ast.expr) -> ast.expr:
    """`f"left_{i}"`."""
    return ast.JoinedStr([ast.Constant(f"{name}_"), ast.FormattedValue(key, -1)])


def _detached(value: ast.expr) -> ast.expr:
    match value:
        case ast.Call(func=ast.Attribute(attr="detach")) | ast.Call(func=ast.Name(id="getattr")):
            return value
    return expression("VALUE.detach()", VALUE=value)


def _names_in(node: ast.AST) -> set[str]:
    return {one.id for one in walked(node) if isinstance(one, ast.Name)}


def _of_nones(node: ast.expr) -> ast.expr | None:
    """The n of `[None] * n`, `[None for _ in range(n)]`."""
    match node:
        case ast.BinOp(left=ast.List(elts=[ast.Constant(value=None)]), op=ast.Mult(), right=count):
            return count
        case ast.ListComp(
            elt=ast.Constant(value=None),
            generators=[ast.comprehension(iter=ast.Call(func=ast.Name(id="range"), args=[count]))],
        ):
            return count
        case ast.List(elts=[ast.Constant(value=None), *_] as elts) if all(map(_is_none, elts)):
            return ast.Constant(len(elts))
    return None


def _of_missing(node: ast.expr) -> ast.expr | None:
    """What an element of `Counter()`, `defaultdict(float)` begins with."""
    match node:
        case ast.Call(func=function, args=args, keywords=[]):
            match (path_of(function) or "").rpartition(".")[2], args:
                case "Counter", []:
                    return ast.Constant(0)
                case "defaultdict", [ast.Name(id="int" | "float" as made)]:
                    return ast.Constant(0 if made == "int" else 0.0)
                case "defaultdict", [ast.Lambda(body=body)]:
                    return body
    return None


def _is_object(node: ast.expr) -> bool:
    """A call that makes no number."""
    return isinstance(node, ast.Call) and path_of(node.func) not in {
        "float",
        "int",
        "bool",
        "min",
        "max",
        "abs",
        "round",
    }


def _flagged(node: ast.AST, owner: str, flag: str, is_own: IsOwn) -> Changed:
    match node:
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op]) if is_own(left):
            told = reference(f"{owner}.{flag}")
            return told if isinstance(op, ast.IsNot) else ast.UnaryOp(ast.Invert(), told)
    return None


def _of_one_size(node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
    """`if self.mem.shape != x.shape: self.mem = torch.zeros_like(x)`: it has the size of the example, and no other."""
    del owner
    match node:
        case ast.If(test=test, body=[ast.Assign(targets=[target])], orelse=[]) if is_own(target):
            if _asks_size(test, is_own):
                return [
                    changed_copy(node, body=statements('raise ValueError("another size than that of the example")'))
                ]
    return None


def _asks_size(node: ast.expr, is_own: IsOwn) -> bool:
    return any(is_own(one) for one in walked(node)) and any(
        isinstance(one, ast.Attribute) and one.attr in {"shape", "size", "device", "dtype", "ndim"}
        for one in walked(node)
    )


def _part(node: ast.AST, owner: str, is_own: IsOwn, parts: dict[object, Place], kind: str, place: Place) -> Changed:
    """Of a place whose elements have names."""

    def named(key: object, context: ast.expr_context) -> ast.expr:
        if isinstance(key, int) and key < 0:
            key += len(parts)
        if key not in parts:
            raise CannotError(f"`{place.name}` has no such element")
        return ast.Attribute(reference(owner), parts[key].name, context)

    match node:
        case ast.stmt() if node is place.definition or getattr(node, "origin", node) is place.definition:
            return node
        case ast.Subscript(value=held, slice=ast.Constant(value=key), ctx=context) if is_own(held):
            return named(key, context)
        case ast.Subscript(
            value=held, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(key))), ctx=context
        ):
            return named(-key, context) if is_own(held) else None
        case ast.Attribute(value=held, attr=name, ctx=context) if kind == "namespace" and is_own(held):
            return named(name, context)
        case ast.Call(func=ast.Attribute(value=held, attr="get"), args=[ast.Constant(value=key), *rest]) if is_own(
            held
        ):
            own = named(key, ast.Load())
            if not rest or parts[key].initial is not None or _is_none(rest[0]):
                return own
            return expression("OTHER if OWN is None else OWN", OTHER=rest[0], OWN=own)
        case ast.Compare(left=ast.Constant(value=key), ops=[ast.In() | ast.NotIn() as op], comparators=[held]) if (
            is_own(held)
        ):
            asked = "OWN is not None" if isinstance(op, ast.In) else "OWN is None"
            return expression(asked, OWN=named(key, ast.Load()))
        case ast.Compare(left=held, ops=[ast.Is() | ast.IsNot()]) if is_own(held):
            return changed_copy(node, left=named(0, ast.Load()))
        case ast.Call(func=ast.Name(id="len"), args=[held]) if is_own(held):
            return ast.Constant(len(parts))
        case ast.Call(func=ast.Attribute(value=held, attr="values"), args=[]) if is_own(held) and kind == "dict":
            return ast.Tuple([named(key, ast.Load()) for key in parts], ast.Load())
        case ast.Assign(targets=[target], value=value) if is_own(target) and _is_none(value):
            return [one for key in parts for one in statements("OWN = None", OWN=named(key, ast.Load()))]
        case ast.Assign(targets=[target], value=ast.Dict(keys=keys, values=values)) if is_own(target):
            made = [
                (named(getattr(key, "value", None), ast.Store()), value)
                for key, value in zip(keys, values, strict=True)
            ]
            return [ast.copy_location(ast.Assign([target], value), node) for target, value in made]
        case ast.Attribute(ctx=ast.Store()) if is_own(node) and kind in {"list", "tuple"}:
            return ast.Tuple([named(key, ast.Store()) for key in parts], ast.Store())
        case ast.Attribute(value=held) if is_own(held):
            raise CannotError(f"`{place.name}` is more than its elements")
        case ast.Subscript(value=held) if is_own(held):
            raise CannotError("an index is computed")
        case ast.Attribute() if is_own(node) and kind in {"list", "tuple"}:
            shown = [named(key, ast.Load()) for key in parts]
            return ast.List(shown, ast.Load()) if kind == "list" else ast.Tuple(shown, ast.Load())
        case ast.Attribute() if is_own(node):
            raise CannotError(f"`{place.name}` is handed on as a whole")
    return None


def _hoisted(
    node: ast.AST,
    is_own: IsOwn,
    name: str,
    before: list[ast.stmt],
    read: ast.expr,
    after: list[ast.stmt],
) -> Changed:
    """A statement with `next(self.turn)` in it: the value gets a name, and the iterator goes on, above it."""

    def is_next(one: ast.AST) -> bool:
        return isinstance(one, ast.Call) and path_of(one.func) == "next" and bool(one.args) and is_own(one.args[0])

    if not isinstance(node, ast.Assign | ast.Return | ast.Expr | ast.AugAssign | ast.AnnAssign):
        if isinstance(node, ast.expr) and is_own(node) and isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            raise CannotError("the iterator is handed on")
        return None
    found = [one for one in walked(node) if is_next(one)]
    if not found:
        return None
    if len(found) > 1 or any(isinstance(one, ast.Lambda | ast.ListComp | ast.GeneratorExp) for one in walked(node)):
        raise CannotError("the iterator goes on several times")
    if isinstance(node, ast.Assign) and node.value is found[0]:
        return [*before, changed_copy(node, value=read), *after]
    if isinstance(node, ast.Expr) and node.value is found[0]:
        return [*before, *after]
    local = name.lstrip("_")
    new = rebuilt(node, lambda one: ast.Name(local, ast.Load()) if one is found[0] else None)
    assert isinstance(new, ast.stmt)  # noqa: S101 - of a statement
    return [*before, *statements("NAME = READ", NAME=local, READ=read), *after, new]


# -- Containers that grow ----------------------------------------------------------------------------------------------


class _Grown:
    """What both sorts of containers have in common: what is put in, and what is read of all elements."""

    def __init__(self, forms: Forms, place: Place) -> None:
        self.forms, self.place, self.known = forms, place, forms.known
        self.counts = False
        self.sums = False

    def count(self, owner: str) -> ast.expr:
        self.counts = True
        return reference(f"{owner}.{self.place.name}_count")

    def total(self, owner: str) -> ast.expr:
        raise NotImplementedError

    def put_in(self, owner: str, value: ast.expr, *, last: bool) -> list[ast.stmt]:
        raise NotImplementedError

    def emptied(self, owner: str) -> list[ast.stmt]:
        raise NotImplementedError

    def dims(self) -> tuple[int, ...]:
        """Of one element."""
        for one in self.place.written:
            if isinstance(one, ast.List) and len(one.elts) == 1:
                one = one.elts[0]  # noqa: PLW2901 - `self.seen += [x]`
            if isinstance(one, ast.expr) and (repeated := _repeated(one)) is not None:
                one = repeated[0]  # noqa: PLW2901 - likewise
            if not isinstance(one, ast.List) and (found := self.known.dims(one)) is not None:
                self.known.from_sample = self.known.from_sample or bool(found)
                return found
        if self.place.written and not any(
            isinstance(one, Value | tuple) or self.known.is_data(one) for one in self.place.written
        ):
            return ()
        raise CannotError(f"the size of what `{self.place.name}` holds is not known")

    def growth(self, node: ast.AST, owner: str, is_own: IsOwn) -> list[ast.stmt] | None:
        """A statement that puts an element in, or empties it."""
        if node is self.place.definition or getattr(node, "origin", None) is self.place.definition:
            return [node] if isinstance(node, ast.stmt) else None
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="append"), args=[value])) if is_own(held):
                return self.put_in(owner, value, last=True)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="appendleft"), args=[value])) if is_own(
                held
            ):
                return self.put_in(owner, value, last=False)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=held, attr="insert"), args=[ast.Constant(value=0), value])
            ):
                return self.put_in(owner, value, last=False) if is_own(held) else None
            case ast.AugAssign(target=target, op=ast.Add(), value=ast.List(elts=[value])) if is_own(target):
                return self.put_in(owner, value, last=True)
            case ast.Assign(
                targets=[target], value=ast.BinOp(left=held, op=ast.Add(), right=ast.List(elts=[value]))
            ) if is_own(target) and is_own(held):
                return self.put_in(owner, value, last=True)
            case ast.Assign(
                targets=[target],
                value=ast.BinOp(left=ast.List(elts=[value]), op=ast.Add(), right=ast.Subscript(value=held, slice=part)),
            ) if is_own(target) and is_own(held) and ast.unparse(part) == ":-1":
                return self.put_in(owner, value, last=False)
            case ast.Assign(
                targets=[target],
                value=ast.BinOp(left=ast.Subscript(value=held, slice=part), op=ast.Add(), right=ast.List(elts=[value])),
            ) if is_own(target) and is_own(held) and ast.unparse(part) == "1:":
                return self.put_in(owner, value, last=True)
            case ast.Assign(targets=[target], value=ast.List(elts=[*_, ast.Starred(value=held), value])):
                return self.put_in(owner, value, last=True) if is_own(target) and is_own(held) else None
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="clear"))) if is_own(held):
                return self.emptied(owner)
            case ast.Assign(targets=[target], value=ast.List(elts=[])) if is_own(target):
                return self.emptied(owner)
        return None

    def read(self, node: ast.AST, owner: str, is_own: IsOwn) -> ast.expr | None:
        """What is read of all elements together."""

        def all_of(one: ast.AST) -> bool:
            return _is_all_of(one, is_own)

        match node:
            case ast.Call(func=ast.Name(id="len"), args=[held]) if all_of(held):
                return self.count(owner)
            case ast.Call(func=ast.Name(id="sum"), args=[held]) if all_of(held):
                return self.total(owner)
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=joiner, args=[held, *dims], keywords=words), attr=reduce)
            ):
                how = self.known.module.dotted(joiner) or ""
                at = _dim(dims, words)
                along = _dim(node.args, node.keywords, None) if node.args or node.keywords else "all"
                if all_of(held) and how in {"torch.stack", "torch.cat"} and reduce in {"mean", "sum"}:
                    return self._reduced(owner, how, reduce, at, along)
            case ast.Call(func=function, args=[ast.Call(func=joiner, args=[held, *dims], keywords=words), *rest]):
                how, name = (self.known.module.dotted(one) or "" for one in (joiner, function))
                if how in {"torch.stack", "torch.cat"} and name in {"torch.mean", "torch.sum"} and all_of(held):
                    along = _dim(rest, node.keywords, None) if rest or node.keywords else "all"
                    return self._reduced(owner, how, name.rpartition(".")[2], _dim(dims, words), along)
            case ast.UnaryOp(op=ast.Not(), operand=held) if is_own(held):
                return expression("COUNT == 0", COUNT=self.count(owner))
            case ast.Compare(left=held, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
                if is_own(held):
                    template = "COUNT == 0" if isinstance(op, ast.Is) else "COUNT > 0"
                    return expression(template, COUNT=self.count(owner))
            case ast.BoolOp(values=values) if any(map(is_own, values)):
                asked = [expression("COUNT > 0", COUNT=self.count(owner)) if is_own(one) else one for one in values]
                return changed_copy(node, values=asked)
        return None

    def _reduced(self, owner: str, how: str, reduce: str, at: int | None, along: int | str | None) -> ast.expr | None:
        if along == "all" and how == "torch.stack":
            total = expression(f"TOTAL.{reduce}()", TOTAL=self.total(owner))
            return expression("TOTAL / COUNT", TOTAL=total, COUNT=self.count(owner)) if reduce == "mean" else total
        if along != at:
            return None
        total = self.total(owner)
        if how == "torch.stack":
            mean = expression("TOTAL / COUNT", TOTAL=total, COUNT=self.count(owner)) if reduce == "mean" else total
            return mean if at == 0 else None
        within = expression(f"TOTAL.{reduce}({at})", TOTAL=total)
        return expression("PART / COUNT", PART=within, COUNT=self.count(owner)) if reduce == "mean" else within

    def asked(self, node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
        """`if self.seen:`."""
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) if is_own(test):
                new = changed_copy(node, test=expression("COUNT > 0", COUNT=self.count(owner)))
                return rebuilt(new, lambda one: None if one is new else self.change(one, owner, is_own))
        return None

    def change(self, node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
        raise NotImplementedError


def _is_all_of(node: ast.AST, is_own: IsOwn) -> bool:
    """`self.past`, `list(self.past)`, `[*self.past]`."""
    match node:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[held]) | ast.List(elts=[ast.Starred(value=held)]):
            return is_own(held)
    return is_own(node)


def _dim(args: Sequence[ast.expr], keywords: Sequence[ast.keyword], default: int | None = 0) -> int | None:
    found = [*args[:1], *(one.value for one in keywords if one.arg in {"dim", "axis"})]
    return _number(found[0]) if found else default  # type: ignore[return-value] # a dim is a whole number


class _Totals(_Grown):
    def total(self, owner: str) -> ast.expr:
        self.sums = True
        return reference(f"{owner}.{self.place.name}_total")

    def put_in(self, owner: str, value: ast.expr, *, last: bool) -> list[ast.stmt]:
        del last  # a sum has no order
        name = self.place.name
        total = statements("TOTAL += VALUE", TOTAL=reference(f"{owner}.{name}_total"), VALUE=value)
        return [*total, *statements("COUNT += 1", COUNT=reference(f"{owner}.{name}_count"))]

    def emptied(self, owner: str) -> list[ast.stmt]:
        name = self.place.name
        return [*statements("TOTAL = 0", TOTAL=reference(f"{owner}.{name}_total")),
                *statements("COUNT = 0", COUNT=reference(f"{owner}.{name}_count"))]  # fmt: skip

    def change(self, node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
        if (grown := self.growth(node, owner, is_own)) is not None:
            return [one for new in grown for one in _each(rebuilt_inside(new, self, owner, is_own))]
        if (read := self.read(node, owner, is_own)) is not None:
            return read
        if (asked := self.asked(node, owner, is_own)) is not None:
            return asked
        if isinstance(node, ast.Attribute) and is_own(node):
            raise CannotError(f"`{self.place.name}` grows without a bound")
        return None

    def finish(self) -> None:
        place = self.place
        names = {f"{place.name}_total": self.sums, f"{place.name}_count": self.counts}
        unread = {name for name, is_read in names.items() if not is_read}

        def drop(node: ast.AST) -> Changed:
            match node:
                case ast.AugAssign(target=target) | ast.Assign(targets=[target]):
                    return [] if (path_of(target) or "").rpartition(".")[2] in unread else None
            return None

        for scope in self.forms.scopes:
            if any(home is place.home for home in scope.owners.values()):
                scope.rewrite(drop)
        if isinstance(place.initial, ast.List) and place.initial.elts:
            raise CannotError("it is not empty at first")
        if self.sums:
            dims = self.dims()
            numbers = not dims and not any(isinstance(o, Value | tuple) or self.known.is_data(o) for o in place.written)
            whole = numbers and all(self.known.is_integral(one) for one in place.written)
            first = expression("torch.tensor(0)") if whole else (
                expression("torch.tensor(0.0)") if not dims else _call("torch.zeros", dims))  # fmt: skip
            self.forms.cells.append(Cell(f"{place.name}_total", place.home, first, place.definition))
        if self.counts:
            zero = expression("torch.tensor(0)")
            self.forms.cells.append(Cell(f"{place.name}_count", place.home, zero, place.definition))
        _cells_for(place, [f"{place.name}_total", f"{place.name}_count"])


class _Window(_Grown):
    """`bound`: how many elements there are at most; `is_full`: there are always so many."""

    def __init__(self, forms: Forms, place: Place, bound: ast.expr | None = None) -> None:
        super().__init__(forms, place)
        self.told = bound
        self.grows = [
            node for scope, node in self.forms.nodes(place)
            if isinstance(node, ast.Attribute) and node.attr in _GROWING and self.forms.is_of(scope, node.value, place)
        ]  # fmt: skip
        self.grows_at_front = any(one.attr != "append" for one in self.grows)
        # Does the first call fill it, before it reads it?
        self.fills = any(scope.is_run and _filling(node, self.forms.test_of(scope, place)) for scope, node
                         in self.forms.nodes(place))  # fmt: skip
        self.bound, self.is_full, self.first = self._begin(place.initial)
        self.bound = self.known.in_constructor(self.bound, place.definition)

    def _begin(self, initial: ast.expr | None) -> tuple[ast.expr, bool, ast.expr | None]:
        match initial:
            case ast.Call(func=function, args=args, keywords=words) if (
                self.known.module.dotted(function) or ""
            ).endswith("deque"):
                limits = [one.value for one in words if one.arg == "maxlen"] or args[1:2]
                if not limits:
                    limits = [self._bound_of_code()]
                filled = args[0] if args and not (isinstance(args[0], ast.List) and not args[0].elts) else None
                if filled is None:
                    return limits[0], False, None
                if isinstance(filled, ast.List) and ast.unparse(limits[0]) != str(len(filled.elts)):
                    raise CannotError("it is filled in part at first")
                return limits[0], True, self._stacked(filled)
            case ast.Call(func=ast.Name(id="list"), args=[]) | ast.List(elts=[]):
                return self.told or self._bound_of_code(), False, None
            case ast.List() | ast.ListComp() | ast.BinOp():
                return expression("0"), True, self._stacked(initial)
        raise CannotError("it has no bound")

    def _stacked(self, filled: ast.expr) -> ast.expr:
        """The tensor of all elements."""
        element: ast.expr | None = None
        match filled:
            case ast.List(elts=[one, *_]) | ast.ListComp(elt=one):
                element = one
            case ast.BinOp(left=ast.List(elts=[one]), right=count) | ast.BinOp(left=count, right=ast.List(elts=[one])):
                element = one
                if _number(one) == 0:
                    return expression("torch.zeros(COUNT)", COUNT=count)
            case ast.GeneratorExp(elt=one):
                element = one
                filled = ast.copy_location(ast.ListComp(one, filled.generators), filled)
        if element is None:
            raise CannotError("what it begins with is not known")
        if self.known.makes_tensor(element):
            return expression("torch.stack(FILLED)", FILLED=filled)
        if isinstance(element, ast.Constant) and isinstance(element.value, int | float):
            return expression("torch.tensor(FILLED)", FILLED=filled)
        raise CannotError("its elements are no tensors and no numbers")

    def _bound_of_code(self) -> ast.expr:
        """`if len(self.past) > 4: self.past.pop(0)`, `self.past = self.past[-4:]`."""
        place = self.place
        for scope, node in self.forms.nodes(place):
            is_own = self.forms.test_of(scope, place)
            match node:
                case ast.If() | ast.While() if (limit := self._trimmed(node, is_own)) is not None:
                    return self._kept_by(node, limit[0], beyond=limit[1])
                case ast.Assign(targets=[target]) if (
                    is_own(target) and (bound := _tail(node.value, is_own)) is not None
                ):
                    return bound
                case ast.Delete(targets=[ast.Subscript(value=held, slice=ast.Slice(lower=low, upper=high))]) if (
                    is_own(held) and (bound := self._beyond(low, high)) is not None
                ):
                    return bound
            if scope.is_run and (fill := _filling(node, is_own)) is not None:
                return fill[1]
        raise CannotError(f"`{place.name}` has no bound")

    def _kept_by(self, trim: ast.If | ast.While, most: ast.expr, *, beyond: bool) -> ast.expr:
        """How many elements a call leaves: `beyond`: one goes where there are more than `most`, else where there are so
        many. What is put in behind that stays."""
        first = any(one.lineno < trim.lineno for one in self.grows) or not self.grows
        more = int(beyond) - int(first)
        if more == 0:
            return most
        if isinstance(most, ast.Constant) and isinstance(most.value, int):
            return ast.Constant(most.value + more)
        return ast.BinOp(most, ast.Add() if more > 0 else ast.Sub(), ast.Constant(1))

    def _is_trim(self, node: ast.AST, is_own: IsOwn) -> bool:
        """Does the statement only take out what is too much, which is what was put in first?"""
        match node:
            case ast.If() | ast.While():
                return self._trimmed(node, is_own) is not None
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="pop"), args=args)) if is_own(held):
                return self._is_oldest(args[0] if args else ast.Constant(-1))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="popleft"))):
                return is_own(held) and not self.grows_at_front
            case ast.Delete(targets=[ast.Subscript(value=held, slice=ast.Slice(lower=low, upper=high))]):
                return is_own(held) and self._beyond(low, high) is not None
            case ast.Delete(targets=[ast.Subscript(value=held, slice=index)]):
                return is_own(held) and self._is_oldest(index)
            case ast.Assign(targets=[target], value=ast.Subscript(value=held, slice=ast.Slice(lower=low, upper=high))):
                kept_end = high if self.grows_at_front else low
                return is_own(target) and is_own(held) and kept_end is not None and (low is None or high is None)
        return False

    def _beyond(self, low: ast.expr | None, high: ast.expr | None) -> ast.expr | None:
        """The N of `del self.past[N:]`, `del self.past[:-N]`, where what is put in first goes."""
        if self.grows_at_front:
            return low if high is None else None
        return high.operand if isinstance(high, ast.UnaryOp) and isinstance(high.op, ast.USub) and low is None else None

    def _is_oldest(self, index: ast.expr) -> bool:
        return _number(index) == (-1 if self.grows_at_front else 0)

    def _trimmed(self, node: ast.If | ast.While, is_own: IsOwn) -> tuple[ast.expr, bool] | None:
        """The N of `if len(self.past) > N: self.past.pop(0)`, and whether more than N have to be there."""
        match node.test:
            case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[held]), ops=[op], comparators=[most]):
                if is_own(held) and not node.orelse and all(self._is_trim(one, is_own) for one in node.body):
                    return (most, isinstance(op, ast.Gt)) if isinstance(op, ast.Gt | ast.GtE | ast.Eq) else None
        return None

    def own(self, owner: str) -> ast.expr:
        return reference(f"{owner}.{self.place.name}")

    def length(self, owner: str) -> ast.expr:
        return self.bound if isinstance(self.bound, ast.Constant) and self.bound.value else (
            expression("OWN.shape[0]", OWN=self.own(owner)))  # fmt: skip

    def count(self, owner: str) -> ast.expr:
        return self.length(owner) if self.is_full else super().count(owner)

    def total(self, owner: str) -> ast.expr:
        return expression("OWN.sum(0)", OWN=self.own(owner))

    def emptied(self, owner: str) -> list[ast.stmt]:
        if self.is_full:
            raise CannotError("it is emptied")
        empty = statements("OWN = 0", OWN=self.own(owner))
        return [*empty, *statements("COUNT = 0", COUNT=reference(f"{owner}.{self.place.name}_count"))]

    def _is_tensor(self, value: ast.expr) -> bool:
        """Where it begins with tensors, what is put in later is one, too."""
        stacks = isinstance(self.first, ast.Call) and path_of(self.first.func) == "torch.stack"
        return stacks or self.known.is_data(value)

    def put_in(self, owner: str, value: ast.expr, *, last: bool) -> list[ast.stmt]:
        own = self.own(owner)
        match value:
            case ast.Call(func=ast.Attribute(value=held, attr="pop" | "popleft"), args=args):
                if path_of(held) == path_of(own):
                    from_front = bool(args) or value.func.attr == "popleft"  # type: ignore[attr-defined] # see the case
                    return statements(f"OWN = OWN.roll({-1 if from_front else 1}, 0)", OWN=own)
        row = expression("VALUE.unsqueeze(0)", VALUE=value)
        if not self._is_tensor(value):
            row = expression("torch.tensor([VALUE])", VALUE=value)
        elif self.known.is_number(value):
            row = expression("torch.full((1,), VALUE)", VALUE=value)
        elif self.place.written and self.known.dims(value) == ():
            row = expression("VALUE.reshape(1)", VALUE=value)
        parts = "[OWN[1:], ROW]" if last else "[ROW, OWN[:-1]]"
        moved = statements(f"OWN = torch.cat({parts})", OWN=own, ROW=row)
        if self.is_full:
            return moved
        count = reference(f"{owner}.{self.place.name}_count")
        return [*moved, *statements("COUNT = torch.clamp(COUNT + 1, max=MOST)", COUNT=count, MOST=self.length(owner))]

    def _filled(self, node: ast.AST, value: ast.expr, owner: str) -> list[ast.stmt]:
        row = expression("VALUE.unsqueeze(0)", VALUE=value) if self._is_tensor(value) else value
        own = self.own(owner)
        filled = expression(
            "ROW.expand_as(OWN)" if self._is_tensor(value) else "torch.full_like(OWN, ROW)", ROW=row, OWN=own
        )
        if self.is_full:
            return statements("OWN = FILLED", OWN=own, FILLED=filled)
        count = reference(f"{owner}.{self.place.name}_count")
        if isinstance(node, ast.While):
            filled = expression(
                "torch.where(COUNT < MOST, FILLED, OWN)", COUNT=count, MOST=self.length(owner), FILLED=filled, OWN=own
            )
        return [
            *statements("OWN = FILLED", OWN=own, FILLED=filled),
            *statements("COUNT = MOST", COUNT=count, MOST=self.length(owner)),
        ]

    def change(self, node: ast.AST, owner: str, is_own: IsOwn) -> Changed:
        if _origin(node) is not self.place.definition and (fill := _filling(node, is_own)) is not None:
            return self._filled(node, fill[0], owner)
        if self._is_trim(node, is_own) and (self.grows or not self.is_full):
            return []
        if (grown := self.growth(node, owner, is_own)) is not None:
            return [one for new in grown for one in _each(rebuilt_inside(new, self, owner, is_own))]
        if isinstance(node, _SIMPLE) and any(self._joined(one, is_own) for one in walked(node)):
            return self._of_rows(node, owner, is_own)
        own = self.own(owner)
        match node:
            case ast.Assign(targets=[target], value=value) if is_own(target) and not self.is_full:
                if isinstance(value, ast.Subscript) and isinstance(value.value, ast.BinOp):
                    inner = value.value.right
                    if isinstance(inner, ast.List) and len(inner.elts) == 1 and is_own(value.value.left):
                        return self.put_in(owner, inner.elts[0], last=True)
            case ast.Assign(targets=[target], value=ast.Name() as value) if is_own(target) and self.is_full:
                return statements("OWN = torch.stack(VALUE)", OWN=own, VALUE=value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="rotate"), args=args)) if is_own(held):
                by = args[0] if args else ast.Constant(1)
                return statements("OWN = OWN.roll(BY, 0)", OWN=own, BY=by)
            case ast.Call(func=ast.Attribute(value=held, attr="pop" | "popleft"), args=args) if is_own(held):
                front = bool(args) or node.func.attr == "popleft"  # type: ignore[attr-defined] # see the case
                return expression(f"OWN[{0 if front else -1}]", OWN=own)
            case ast.Call(func=joiner, args=[held, *dims], keywords=words) if (self.is_full or self.fills) and (
                self.known.module.dotted(joiner) or ""
            ) == "torch.stack":
                held = held.args[0] if isinstance(held, ast.Call) and len(held.args) == 1 else held
                if is_own(held):
                    at = _dim(dims, words)
                    return own if at == 0 else expression(f"OWN.movedim(0, {at})", OWN=own)
            case ast.Call(func=ast.Name(id="max" | "min" as most), args=[held]) if _is_all_of(held, is_own):
                return expression(f"ROWS.{most}()", ROWS=self._rows(owner))
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=joiner, args=[held], keywords=[]), attr="max" | "min" | "amax" | "amin"
                ) as reduced
            ) if _is_all_of(held, is_own) and (self.known.module.dotted(joiner) or "") == "torch.stack":
                return changed_copy(node, func=changed_copy(reduced, value=self._rows(owner)))
            case ast.Subscript(value=held, slice=index) if is_own(held):
                return self._element(node, owner, index)
        if (read := self.read(node, owner, is_own)) is not None:
            return read
        if (asked := self.asked(node, owner, is_own)) is not None:
            return asked
        if isinstance(node, ast.Attribute) and is_own(node):
            if not (self.is_full or self.fills) or isinstance(node.ctx, ast.Store):
                raise CannotError(f"`{self.place.name}` has another length in the first calls")
            return expression("OWN.unbind(0)", OWN=own)
        return None

    def _joined(self, node: ast.AST, is_own: IsOwn) -> tuple[bool, int] | None:
        """Of `torch.stack(list(self.past), dim=1)`, while there may be fewer: is it stacked, and along which dim."""
        match node:
            case ast.Call(func=joiner, args=[held, *dims], keywords=words) if _is_all_of(held, is_own):
                how, at = self.known.module.dotted(joiner) or "", _dim(dims, words)
                if how in {"torch.stack", "torch.cat"} and at is not None and not (self.is_full or self.fills):
                    return how == "torch.stack", at
        return None

    def _of_rows(self, node: ast.stmt, owner: str, is_own: IsOwn) -> list[ast.stmt]:
        """A statement that reads the elements that are there: their number is a size that data decides."""
        own, name = self.own(owner), f"{self.place.name.lstrip('_')}_size"
        count, most = ast.Name(name, ast.Load()), self.length(owner)
        first = expression("0" if self.grows_at_front else "MOST - N", MOST=most, N=count)
        there = expression("OWN.narrow(0, FIRST, N)", OWN=own, FIRST=first, N=count)
        is_read = False

        def change(one: ast.AST) -> Changed:
            nonlocal is_read
            if one is not node and (read := self.read(one, owner, is_own)) is not None:
                return read
            if (joined := self._joined(one, is_own)) is not None:
                is_read, (stacked, at) = True, joined
                if stacked:
                    return expression("ROWS.movedim(0, AT)" if at else "ROWS", ROWS=there, AT=ast.Constant(at))
                start, end = (at, at + 1) if at >= 0 else (at - 1, at)
                moved = expression("ROWS.movedim(0, AT)" if start else "ROWS", ROWS=there, AT=ast.Constant(start))
                return expression("ROWS.flatten(A, B)", ROWS=moved, A=ast.Constant(start), B=ast.Constant(end))
            return None if one is node else self.change(one, owner, is_own)

        new = rebuilt(node, change)
        if is_read:
            self.forms.sizes[name] = [
                *statements("N = COUNT.item()", N=name, COUNT=self.count(owner)),
                *statements("torch._check(N >= 1)\ntorch._check(N <= MOST)", N=count, MOST=most),
            ]
        return new if isinstance(new, list) else [new]

    def _rows(self, owner: str) -> ast.expr:
        """The elements, with the newest one in the places of those that are not there yet."""
        own = self.own(owner)
        if self.is_full:
            return own
        told = "torch.arange(MOST) < COUNT" if self.grows_at_front else "torch.arange(MOST) >= MOST - COUNT"
        there = expression(told, MOST=self.length(owner), COUNT=self.count(owner))
        if dims := self.dims():
            ones = ast.Tuple([ast.Constant(one) for one in (-1, *(1 for _ in dims))], ast.Load())
            there = expression("(THERE).view(ONES)", THERE=there, ONES=ones)
        newest = expression("OWN[0]" if self.grows_at_front else "OWN[-1]", OWN=own)
        return expression("torch.where(THERE, OWN, NEWEST)", THERE=there, OWN=own, NEWEST=newest)

    def _element(self, node: ast.Subscript, owner: str, index: ast.expr) -> ast.expr | None:
        own = self.own(owner)
        if isinstance(index, ast.Slice):
            if self.is_full:
                return changed_copy(node, value=own)
            raise CannotError(f"a part of `{self.place.name}` has another length in the first calls")
        at = _number(index)
        if self.is_full or (at is not None and at < 0):
            return changed_copy(node, value=own)
        if at == 0:
            oldest = expression("MOST - COUNT", MOST=self.length(owner), COUNT=self.count(owner))
            return expression("OWN[AT]", OWN=own, AT=oldest)
        raise CannotError("an index counts from the oldest one")

    def finish(self) -> None:
        place = self.place
        first = self.first
        if first is None:
            dims = self.dims()
            first = ast.Call(expression("torch.zeros"), [self.bound, *(ast.Constant(one) for one in dims)], [])
        self.forms.cells.append(Cell(place.name, place.home, first, place.definition))
        if not self.is_full:
            zero = expression("torch.tensor(0)")
            self.forms.cells.append(Cell(f"{place.name}_count", place.home, zero, place.definition))
            _cells_for(place, [place.name, f"{place.name}_count"])


def _each(new: ast.AST | list[ast.stmt]) -> list[ast.stmt]:
    return new if isinstance(new, list) else [new]  # type: ignore[list-item] # of a statement


def rebuilt_inside(node: ast.stmt, form: _Grown, owner: str, is_own: IsOwn) -> ast.AST | list[ast.stmt]:
    """The value that a new statement puts in may read the container, too."""
    if node is form.place.definition:
        return node
    change = _of_owner(form.change, owner, is_own)
    match node:
        case ast.Assign(value=ast.Call(args=[ast.List(elts=elts)] as args) as call):
            made = [one if _is_slice_of(one, is_own) else _rewritten(one, change) for one in elts]
            return changed_copy(node, value=changed_copy(call, args=[ast.List(made, ast.Load()), *args[1:]]))
        case ast.AugAssign(value=value):
            return changed_copy(node, value=_rewritten(value, change))
    return node


def _rewritten(value: ast.expr, change: Callable[[ast.AST], Changed]) -> ast.expr:
    new = rebuilt(value, change)
    assert isinstance(new, ast.expr)  # noqa: S101 - of an expression
    return new


def _is_slice_of(node: ast.expr, is_own: IsOwn) -> bool:
    return isinstance(node, ast.Subscript) and is_own(node.value)


def _cells_for(place: Place, names: Sequence[str]) -> None:
    """The scopes know the cells as places."""
    home = place.home
    home.places.pop(place.name, None)
    for name in names:
        home.places[name] = Place(name, home, place.initial, place.definition)


def _filling(node: ast.AST, is_own: IsOwn) -> tuple[ast.expr, ast.expr] | None:
    """What a statement puts in several times, and how often: `for _ in range(4): self.frames.append(x)`."""
    match node:
        case (
            ast.For(
                iter=ast.Call(func=ast.Name(id="range"), args=[count]),
                body=[ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="append"), args=[value]))],
            )
            | ast.While(
                test=ast.Compare(left=ast.Call(func=ast.Name(id="len")), ops=[ast.Lt()], comparators=[count]),
                body=[ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="append"), args=[value]))],
            )
        ):
            return (value, count) if is_own(held) else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr="extend"), args=[given])):
            return _repeated(given) if is_own(held) else None
        case ast.Assign(targets=[held], value=given) if is_own(held):
            return _repeated(given)
    return None


def _repeated(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The x and n of `[x] * n`, `[x for _ in range(n)]`, `deque([x] * n)`."""
    match node:
        case ast.BinOp(left=ast.List(elts=[value]), op=ast.Mult(), right=count):
            return value, count
        case (
            ast.ListComp(
                elt=value, generators=[ast.comprehension(iter=ast.Call(func=ast.Name(id="range"), args=[count]))]
            )
            | ast.GeneratorExp(
                elt=value, generators=[ast.comprehension(iter=ast.Call(func=ast.Name(id="range"), args=[count]))]
            )
        ):
            return value, count
        case ast.Call(func=function, args=[given, *_]) if (path_of(function) or "").endswith(("deque", "list")):
            return _repeated(given)
    return None


def _tail(value: ast.expr, is_own: IsOwn) -> ast.expr | None:
    """The N of `self.past[-N:]`."""
    match value:
        case ast.Subscript(value=held, slice=ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=most), upper=None)):
            return most if any(is_own(one) for one in walked(held)) else None
    return None
