"""A `dynamic_shapes` beside the arguments that it speaks of: where it does not fit them, and how one that fits reads.

Torch compares the two before it traces anything: names, number and kind of the containers have to be those of the
arguments as they are given, so an argument that is given as None has its None, and what `*args` collects is a tuple.
Then come the sizes of the sample: one of 0 or 1 is a constant for torch, one outside of a declared range is none of
that dim, and one `Dim` has one size. Both are read here from the literal in the code and from what the engine knows of
the arguments; nothing is said of a part that is not known.
"""

from __future__ import annotations

import ast
import enum
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import UNKNOWN, Container, Kind, Module, Value, exactly, span_of
from exportlint.engine.values.shapes import dims_of, extent_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import ExportCall, Span

_DIM = "torch.export.Dim"
_HINTS = frozenset({f"{_DIM}.{name}" for name in ("AUTO", "DYNAMIC", "STATIC")})
_CONSTANT_SIZES = frozenset({0, 1})
_FACTORIES = frozenset({f"torch.{name}" for name in ("randn", "rand", "zeros", "ones", "empty", "randint")})


class Misfit(enum.Enum):
    """In which way a part of a specification does not fit.

    >>> Misfit.RANK.value
    'the tensor has more or fewer dims'
    """

    NAMES = "the names are not those of the arguments that are given"
    NUMBER = "there are more or fewer of them"
    CONTAINER = "the container is of another kind"
    NO_TENSOR = "it declares sizes of what is no tensor"
    RANK = "the tensor has more or fewer dims"
    NO_SIZES = "it is nothing that declares the sizes of a tensor"
    SPARE_KEYWORDS = "the argument is collected by `**`"
    CONSTANT_SIZE = "torch makes a constant of the sample's size"
    OUTSIDE = "the sample's size is outside of the declared range"
    UNEQUAL = "one Dim has two sizes"

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Misfitting:
    """A part of a specification that does not fit. `what` and `instead`: words of the argument and of the part; `dim`
    and `size`: of the sample's tensor, whose path is `argument` (by place or name, then inside of containers)."""

    node: ast.expr
    kind: Misfit
    what: str
    instead: str = ""
    argument: tuple[int | str, ...] = ()
    dim: int = 0
    size: int = 0


@dataclass
class Specification:
    """A specification that is written down as a literal, of an export call whose arguments are known.

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import torch
    ... class Scale(torch.nn.Module):
    ...     def forward(self, x, factor=None): ...
    ... batch = torch.export.Dim("batch")
    ... torch.export.export(Scale(), (torch.ones(1, 8),), dynamic_shapes={"y": {0: batch}})
    ... ''')
    >>> (one,) = specifications(code.module, code.exports)
    >>> [(misfit.kind.name, misfit.what) for misfit in one.misfits()], ast.unparse(one.fitting())
    ([('NAMES', '`x` is missing and `y` is not given')], "{'x': {0: batch}}")
    """

    node: ast.expr
    call: ExportCall
    forward: FunctionInfo
    _sizes: dict[str, tuple[int, str]] = field(default_factory=dict)

    def misfits(self) -> list[Misfitting]:
        """What of the structure does not fit; where all does, which sizes do not."""
        given = self._given()
        if given is None:
            return []
        structure = list(self._of_arguments(given))
        return structure or list(self._of_sizes(given))

    def fitting(self) -> ast.expr | None:
        """One that says the same and fits the arguments; None where that cannot be said."""
        given = self._given()
        try:
            return _fitted_arguments(given, self.node, self.forward) if given is not None else None
        except _CannotFitError:
            return None

    def _given(self) -> dict[str, Value] | None:
        """Parameter -> what it is given, in the order in which torch binds them."""
        spec = self.forward.node.args
        names = [one.arg for one in (*spec.posonlyargs, *spec.args)][1:]
        if len(self.call.args) > len(names) and not spec.vararg:
            return None
        keywords, given = dict(self.call.keywords), dict(zip(names, self.call.args, strict=False))
        found: dict[str, Value] = {}
        for name in names:
            if name in given or name in keywords:
                found[name] = given[name] if name in given else keywords.pop(name)
        if spec.vararg and len(self.call.args) > len(names):
            found[spec.vararg.arg] = _tuple(self.call.args[len(names) :])
        for one in spec.kwonlyargs:
            if one.arg in keywords:
                found[one.arg] = keywords.pop(one.arg)
        if keywords and spec.kwarg:
            found[f"**{spec.kwarg.arg}"] = UNKNOWN
        return found

    def _of_arguments(self, given: dict[str, Value]) -> Iterator[Misfitting]:
        if spare := next((name for name in given if name.startswith("**")), None):
            if not _is_empty(self.node):
                names = ", ".join(f"`{name}`" for name in self.call.keywords if name not in given)
                yield Misfitting(self.node, Misfit.SPARE_KEYWORDS, names, spare)
            return
        match self.node:
            case ast.Dict(keys=[_, *_]):
                entries = _entries(self.node)
                if entries is None or not all(isinstance(key, str) for key in entries):
                    return
                if set(entries) != set(given):
                    yield Misfitting(self.node, Misfit.NAMES, _compared(entries, given))
                    return
                parts = [(name, entries[str(name)], given[str(name)]) for name in entries]
            case ast.Tuple(elts=[_, *_] as written) | ast.List(elts=[_, *_] as written):
                if any(isinstance(one, ast.Starred) for one in written):
                    return
                if len(written) != len(given):
                    yield Misfitting(self.node, Misfit.NUMBER, _counted(len(written), len(given)))
                    return
                parts = [(name, one, given[name]) for name, one in zip(given, written, strict=True)]
            case _:
                return
        for name, node, value in parts:
            yield from _structure(node, value, f"`{name}`")

    def _of_sizes(self, given: dict[str, Value]) -> Iterator[Misfitting]:
        spec = self.call.dynamic_shapes or UNKNOWN
        for place, (name, value) in enumerate(given.items()):
            if isinstance(self.node, ast.Dict):
                part, node = spec.field(name), (_entries(self.node) or {}).get(name)
            else:
                elements = getattr(self.node, "elts", [])
                part, node = _item(spec, place), elements[place] if place < len(elements) else None
            if part is not None and node is not None:
                path = self._path(name)
                yield from self._sizes_of(node, part, value, f"`{name}`", path)

    def _path(self, name: str) -> tuple[int | str, ...]:
        names = self.forward.parameters[1:]
        at = names.index(name) if name in names else -1
        return (at,) if 0 <= at < len(self.call.args) else (name,)

    def _sizes_of(
        self, node: ast.expr, spec: Value, value: Value, name: str, path: tuple[int | str, ...]
    ) -> Iterator[Misfitting]:
        if value.is_tensor and len(value.options) == 1:
            yield from self._dims(node, spec, value, name, path)
        elif value.container in {"tuple", "list"} and value.items is not None and value.certain:
            nodes = getattr(node, "elts", [])
            for i, (inner, item) in enumerate(zip(nodes, value.items, strict=False)):
                if (part := _item(spec, i)) is not None:
                    yield from self._sizes_of(inner, part, item, f"{name}[{i}]", (*path, i))
        elif value.container == "dict" and value.certain:
            for key, inner in (_entries(node) or {}).items():
                said, given = spec.field(str(key)), value.field(str(key))
                if said is not None and given is not None:
                    yield from self._sizes_of(inner, said, given, f"{name}[{key!r}]", (*path, key))

    def _dims(
        self, node: ast.expr, spec: Value, value: Value, name: str, path: tuple[int | str, ...]
    ) -> Iterator[Misfitting]:
        dims = dims_of(value) or ()
        for dim, extent in enumerate(dims):
            said = spec.field(str(dim)) or _item(spec, dim)  # torch reads no size of a dim that is counted from the end
            at = _dim_node(node, dim)
            size = extent.number if extent is not None else None
            if said is None or at is None or size is None or len(said.options) != 1:
                continue
            what = f"dim {dim} of {name}"
            about = {"argument": path, "dim": dim, "size": size}
            if said.name == f"{_DIM}.DYNAMIC" and size in _CONSTANT_SIZES:
                yield Misfitting(at, Misfit.CONSTANT_SIZE, what, "Dim.DYNAMIC", **about)  # type: ignore[arg-type] # as they are
            elif said.kind is Kind.INSTANCE and said.name == _DIM:
                yield from self._named(at, said, what, about)

    def _named(self, at: ast.expr, dim: Value, what: str, about: dict[str, object]) -> Iterator[Misfitting]:
        size, label = int(str(about["size"])), dim.field("0")
        called = label.name.strip("'\"") if label is not None and label.name else ast.unparse(at)
        low, high = _end(dim, "min", 0), _end(dim, "max", math.inf)
        known, where = self._sizes.setdefault(called, (size, what))
        if size in _CONSTANT_SIZES:
            yield Misfitting(at, Misfit.CONSTANT_SIZE, what, f"`{called}`", **about)  # type: ignore[arg-type] # as they are
        elif low is not None and high is not None and not low <= size <= high:
            most = "or more" if high == math.inf else f"to {int(high)}"
            told = f"`{called}`, from {int(low)} {most}" if high != math.inf else f"`{called}`, {int(low)} {most}"
            yield Misfitting(at, Misfit.OUTSIDE, what, told, **about)  # type: ignore[arg-type] # as they are
        elif label is not None and label.name and known != size and known not in _CONSTANT_SIZES:
            yield Misfitting(at, Misfit.UNEQUAL, f"{what} is {size} and {where} is {known}", called, **about)  # type: ignore[arg-type] # as they are


def specifications(module: ModuleInfo, calls: Sequence[ExportCall]) -> Iterator[Specification]:
    """Those that stand in the file as literals, of models whose forward is known.

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import torch
    ... class Scale(torch.nn.Module):
    ...     def forward(self, x, factor=None): ...
    ... batch = torch.export.Dim("batch")
    ... torch.export.export(Scale(), (torch.ones(1, 8),), dynamic_shapes={"x": {0: batch}})
    ... ''')
    >>> [ast.unparse(one.node) for one in specifications(code.module, code.exports)]
    ["{'x': {0: batch}}"]
    """
    if any(_sets_forward(node) for node in walked(module.tree)):
        return  # what is called then has other parameters
    seen = set[int]()
    for call in calls:
        match call.model.options:
            case (Module(cls=cls),) if cls is not None and (forward := cls.method("forward")) is not None:
                node = _written(module, call)
                if node is not None and id(node) not in seen and all(map(_keeps_signature, forward.decorators)):
                    seen.add(id(node))
                    yield Specification(node, call, forward)


def _sets_forward(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "forward" and isinstance(node.ctx, ast.Store)


def _keeps_signature(decorator: str) -> bool:
    return decorator.startswith("torch.")


# Where it is written.


def call_at(module: ModuleInfo, place: Span) -> ast.Call | None:
    """The call of the file that stands there."""
    return next((n for n in walked(module.tree) if isinstance(n, ast.Call) and span_of(n) == place), None)


def _written(module: ModuleInfo, call: ExportCall) -> ast.expr | None:
    """The literal; None where it is made in another way, or changed after it was made."""
    if call.place is not None:
        node = call_at(module, call.place)
        words = node.keywords if node is not None else []
        given = next((word.value for word in words if word.arg == "dynamic_shapes"), None)
        return literal_of(module, given) if given is not None else None
    if call.model.cls is not None and (method := call.model.cls.method("dynamic_shapes")) is not None:
        return _returned(module, method)
    for name in ("dynamic_shapes", "get_dynamic_shapes"):
        if name in module.functions:
            return _returned(module, module.functions[name])
    return literal_of(module, module.assignments.get("dynamic_shapes"))


def samples_written(module: ModuleInfo, call: ExportCall) -> ast.expr | None:
    """The arguments by place, as they are written."""
    if call.place is not None:
        node = call_at(module, call.place)
        if node is None:
            return None
        by_name = next((word.value for word in node.keywords if word.arg == "args"), None)
        return literal_of(module, node.args[1] if len(node.args) > 1 else by_name)
    for name in ("inputs", "example_inputs", "get_example_inputs"):
        if call.model.cls is not None and (method := call.model.cls.method(name)) is not None:
            return _returned(module, method)
    for name in ("get_inputs", "example_inputs", "make_inputs"):
        if name in module.functions:
            return _returned(module, module.functions[name])
    return literal_of(module, module.assignments.get("example_args"))


def size_written(module: ModuleInfo, call: ExportCall, misfit: Misfitting) -> ast.expr | None:
    """Where the sample's size is written, as the 1 of `torch.randn(1, 8)`; None where it comes from elsewhere.

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import torch
    ... class Scale(torch.nn.Module):
    ...     def forward(self, x, factor=None): ...
    ... batch = torch.export.Dim("batch")
    ... torch.export.export(Scale(), (torch.ones(1, 8),), dynamic_shapes={"x": {0: batch}})
    ... ''')
    >>> (one,) = specifications(code.module, code.exports)
    >>> (misfit,) = one.misfits()
    >>> misfit.kind.name, ast.unparse(size_written(code.module, one.call, misfit))
    ('CONSTANT_SIZE', '1')
    """
    node = samples_written(module, call)
    for step in misfit.argument:
        if isinstance(node, ast.Dict):
            node = (_entries(node) or {}).get(step)
        elif isinstance(node, ast.Tuple | ast.List) and isinstance(step, int) and step < len(node.elts):
            node = None if any(isinstance(one, ast.Starred) for one in node.elts) else node.elts[step]
        else:
            return None
        if isinstance(node, ast.Name):
            node = set_once(module, node.id, node)
    sizes = _sizes_in(module, node)
    if sizes is None or misfit.dim >= len(sizes):
        return None
    found: ast.expr | None = sizes[misfit.dim]
    if isinstance(found, ast.Name):
        found = set_once(module, found.id, found)
    match found:
        case ast.Constant(value=int(number)) if number == misfit.size:
            return found
    return None


def _sizes_in(module: ModuleInfo, node: ast.expr | None) -> Sequence[ast.expr] | None:
    """The sizes that a call such as `torch.randn(1, 8)` names."""
    if not isinstance(node, ast.Call) or module.dotted(node.func) not in _FACTORIES:
        return None
    sizes: Sequence[ast.expr] = node.args[2:] if (module.dotted(node.func) or "").endswith("randint") else node.args
    sizes = [word.value for word in node.keywords if word.arg == "size"] or sizes
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
        sizes = sizes[0].elts
    return None if any(isinstance(one, ast.Starred) for one in sizes) else sizes


def written_sizes(module: ModuleInfo, node: ast.expr) -> list[int | None] | None:
    """The sizes of a tensor that is made by such a call, names followed; None for one that is not a number."""
    made = set_once(module, node.id, node) if isinstance(node, ast.Name) else node
    sizes = _sizes_in(module, made)
    return [_number(module, one) for one in sizes] if sizes else None


def _number(module: ModuleInfo, node: ast.expr | None) -> int | None:
    if isinstance(node, ast.Name):
        node = set_once(module, node.id, node)
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
    return None


def _returned(module: ModuleInfo, function: FunctionInfo) -> ast.expr | None:
    returns = [node for node in walked(function.node) if isinstance(node, ast.Return)]
    return literal_of(module, returns[0].value) if len(returns) == 1 else None


def literal_of(module: ModuleInfo, node: ast.expr | None) -> ast.expr | None:
    """What an expression is written as, a name followed to the one thing that it is set to and that nothing changes."""
    for _ in range(4):
        match node:
            case ast.Dict() | ast.Tuple() | ast.List():
                return node
            case ast.Name(id=name):
                node = set_once(module, name, node, unchanged=True)
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]) if name in module.functions:
                return _returned(module, module.functions[name])
            case _:
                return None
    return None


def set_once(module: ModuleInfo, name: str, use: ast.expr, *, unchanged: bool = False) -> ast.expr | None:
    """The one assignment of a name in the innermost function around its use, else in the file. `unchanged`: None for
    what may be changed after that, by items that are set or methods that are called."""
    for scope in _scopes(module, use):
        one = module.parsed.kept(scope, _names_set).get(name)
        if one is None:
            continue
        changed = one.is_changed or (unchanged and one.is_acted_on)
        if one.values or one.stored or changed:
            return one.values[0] if len(one.values) == one.stored == 1 and not changed else None
    return None


@dataclass
class _Name:
    """What a scope does with a name: the values that statements set it to, how often it is stored in all, whether it
    is changed otherwise or given by a caller, and whether items of it are set or methods called."""

    values: list[ast.expr] = field(default_factory=list)
    stored: int = 0
    is_changed: bool = False
    is_acted_on: bool = False


def _names_set(_file: Parsed, scope: ast.AST) -> Mapping[str, _Name]:
    """Of a scope with all that is inside of it. A file may be asked for each of its calls, so it is walked once."""
    found: dict[str, _Name] = defaultdict(_Name)
    for one in walked(scope):
        match one:
            case ast.Name(id=name, ctx=ast.Store()):
                found[name].stored += 1
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name].values.append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name].values.append(value)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                found[name].is_acted_on = True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
                found[name].is_acted_on = True
            case ast.AugAssign(target=ast.Name(id=name)) | ast.arg(arg=name):
                found[name].is_changed = True
    return dict(found)


def _scopes(module: ModuleInfo, node: ast.AST) -> Iterator[ast.AST]:
    """The functions around a node, from the inside, and the file."""
    yield from module.parsed.kept(module.tree, _functions_around).get(id(node), ())
    yield module.tree


def _functions_around(_file: Parsed, tree: ast.AST) -> Mapping[int, tuple[ast.FunctionDef, ...]]:
    """The functions around each node that has some, from the inside, by identity; around a function, itself too."""
    found = dict[int, tuple[ast.FunctionDef, ...]]()
    todo: list[tuple[ast.AST, tuple[ast.FunctionDef, ...]]] = [(tree, ())]
    while todo:
        node, around = todo.pop()
        if isinstance(node, ast.FunctionDef):
            around = (node, *around)
        if around:
            found[id(node)] = around
        todo += [(child, around) for child in ast.iter_child_nodes(node)]
    return found


# What fits.


def _structure(node: ast.expr, value: Value, name: str) -> Iterator[Misfitting]:
    """Where a part does not fit what it speaks of."""
    if len(value.options) != 1 or not _is_literal(node):
        return
    if value.kind is Kind.TENSOR:
        yield from _of_tensor(node, value, name)
    elif value.container in {"tuple", "list"} and value.items is not None:
        yield from _of_sequence(node, value, name)
    elif value.container == "dict" and value.fields:
        entries = _entries(node)
        if not isinstance(node, ast.Dict):
            yield Misfitting(node, Misfit.CONTAINER, name, _kind_words(value))
        elif entries is not None and {str(key) for key in entries} != {key for key, _ in value.fields}:
            yield Misfitting(node, Misfit.NAMES, _compared(entries, dict(value.fields)))
        else:
            for key, inner in (entries or {}).items():
                yield from _structure(inner, value.field(str(key)) or UNKNOWN, f"{name}[{key!r}]")
    elif not _is_none(node) and (value.kind is Kind.NONE or value.container in {"float", "str", "int", "bool"}):
        yield Misfitting(node, Misfit.NO_TENSOR, name)


def _of_sequence(node: ast.expr, value: Value, name: str) -> Iterator[Misfitting]:
    items = value.items or ()
    kind = ast.Tuple if value.container == "tuple" else ast.List
    if not isinstance(node, kind):
        yield Misfitting(node, Misfit.CONTAINER, name, _kind_words(value))
    elif not any(isinstance(one, ast.Starred) for one in node.elts):
        if len(node.elts) != len(items):
            yield Misfitting(node, Misfit.NUMBER, f"{name}: {_counted(len(node.elts), len(items))}")
            return
        for i, (inner, item) in enumerate(zip(node.elts, items, strict=True)):
            yield from _structure(inner, item, f"{name}[{i}]")


def _of_tensor(node: ast.expr, value: Value, name: str) -> Iterator[Misfitting]:
    dims = dims_of(value)
    rank = len(dims) if dims is not None else None
    match node:
        case ast.Tuple(elts=written) | ast.List(elts=written) if rank is not None:
            if len(written) != rank and not any(isinstance(one, ast.Starred) for one in written):
                yield Misfitting(node, Misfit.RANK, f"{name} has {_count(rank, 'dim')}")
        case ast.Dict():
            numbers = [key for key in _entries(node) or {} if isinstance(key, int)]
            if rank is not None and any(not -rank <= number < rank for number in numbers):
                yield Misfitting(node, Misfit.RANK, f"{name} has {_count(rank, 'dim')}")
            elif any(isinstance(key, str) for key in _entries(node) or {}):
                yield Misfitting(node, Misfit.NO_SIZES, name)
        case ast.Set():
            yield Misfitting(node, Misfit.NO_SIZES, name)


class _CannotFitError(Exception):
    """What was meant cannot be told from what is written."""


def _fitted_arguments(given: Mapping[str, Value], node: ast.expr, forward: FunctionInfo) -> ast.expr:
    if any(name.startswith("**") for name in given):
        raise _CannotFitError
    match node:
        case ast.Dict():
            entries = _entries(node)
            if entries is None:
                raise _CannotFitError
            named = {str(key): one for key, one in entries.items()}
            left, spare = [n for n in given if n not in named], [n for n in named if n not in given]
            inner = next(iter(given.values())) if len(given) == 1 else UNKNOWN
            if inner.container == "dict" and set(named) <= {key for key, _ in inner.fields}:
                return _dict({next(iter(given)): _fitted(inner, node)})
            meant = {name: named[name] for name in given if name in named}
            renamed = [name for name in spare if name not in _names_of(forward)]
            if len(left) == len(renamed) == 1:
                meant[left[0]] = named[renamed[0]]
            elif renamed:
                raise _CannotFitError
            return _dict({name: _fitted(value, meant.get(name)) for name, value in given.items()})
        case ast.Tuple(elts=written) | ast.List(elts=written):
            first = next(iter(given.values()), UNKNOWN)
            if len(given) == 1 and first.items is not None and len(first.items) == len(written) > 1:
                return ast.Tuple([_fitted(first, node)], ast.Load())
            if len(written) > len(given) and not all(map(_is_none, written[len(given) :])):
                raise _CannotFitError
            names = list(given)
            parts = [_fitted(given[name], written[i] if i < len(written) else None) for i, name in enumerate(names)]
            return type(node)(parts, ast.Load())
    raise _CannotFitError


def _names_of(forward: FunctionInfo) -> set[str]:
    spec = forward.node.args
    return {one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}


def _fitted(value: Value, node: ast.expr | None) -> ast.expr:
    """What speaks of a value as a part does, in the form that the value asks for."""
    known = len(value.options) == 1
    if known and value.container in {"tuple", "list"} and value.items is not None:
        items = value.items
        match node:
            case ast.Tuple(elts=written) | ast.List(elts=written) if len(written) == len(items):
                parts = [_fitted(item, one) for item, one in zip(items, written, strict=True)]
            case None | ast.Constant(value=None):
                parts = [_fitted(item, None) for item in items]
            case ast.Dict() if all(item.kind is Kind.TENSOR for item in items):
                parts = [node for _ in items]
            case _:
                raise _CannotFitError
        return (ast.Tuple if value.container == "tuple" else ast.List)(parts, ast.Load())
    if known and value.container == "dict" and value.fields:
        entries = {str(key): one for key, one in (_entries(node) or {}).items()} if node is not None else {}
        if node is not None and not _is_none(node) and not isinstance(node, ast.Dict):
            raise _CannotFitError
        if any(key not in entries and not isinstance(key, str) for key in entries):
            raise _CannotFitError
        return _dict({key: _fitted(item, entries.get(key)) for key, item in value.fields})
    if node is None or (known and (value.kind is Kind.NONE or value.kind is Kind.SCALAR)):
        return ast.Constant(None) if node is None or next(_structure(node, value, ""), None) else node
    return _fitted_tensor(value, node) if known and value.kind is Kind.TENSOR else node


def _fitted_tensor(value: Value, node: ast.expr) -> ast.expr:
    if next(_of_tensor(node, value, ""), None) is None:
        return node
    rank = len(dims_of(value) or ())
    match node:
        case ast.Tuple(elts=written) | ast.List(elts=written) if len(written) < rank and not _all_numbers(written):
            return type(node)([*written, *[ast.Constant(None)] * (rank - len(written))], ast.Load())
        case ast.Tuple(elts=written) | ast.List(elts=written) if rank and all(map(_is_none, written[rank:])):
            return type(node)(written[:rank], ast.Load())
        case ast.Dict(keys=keys, values=values):
            numbers = [
                int(str(key.value)) for key in keys if isinstance(key, ast.Constant) and str(key.value).isdigit()
            ]
            if len(numbers) == len(keys) and all(number < rank or not rank for number in numbers):
                return ast.Dict([ast.Constant(number) for number in numbers], values)
    raise _CannotFitError


def _all_numbers(nodes: Sequence[ast.expr]) -> bool:
    return all(isinstance(one, ast.Constant) and isinstance(one.value, int) for one in nodes)


# Parts of what is written, and of what is known.


def _entries(node: ast.expr | None) -> dict[int | str, ast.expr] | None:
    """Key -> value of a dict that is written out; None for any other."""
    if not isinstance(node, ast.Dict):
        return None
    found = dict[int | str, ast.expr]()
    for key, value in zip(node.keys, node.values, strict=True):
        match key:
            case ast.Constant(value=int() | str() as name):
                found[name] = value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                found[-number] = value
            case _:
                return None
    return found


def _dim_node(node: ast.expr, dim: int) -> ast.expr | None:
    entries = _entries(node)
    if entries is not None:
        return entries.get(dim)
    elements = getattr(node, "elts", [])
    return elements[dim] if dim < len(elements) else None


def _dict(parts: Mapping[str, ast.expr]) -> ast.Dict:
    return ast.Dict([ast.Constant(name) for name in parts], list(parts.values()))


def _tuple(items: Sequence[Value]) -> Value:
    return exactly(Container("tuple", items=tuple(items)))


def _item(value: Value, place: int) -> Value | None:
    items = value.items if value.container in {"tuple", "list"} else None
    return items[place] if items is not None and place < len(items) else None


def _end(dim: Value, name: str, default: float) -> float | None:
    """A bound of a Dim; None where it is given and not known."""
    if (given := dim.field(name)) is None or given.kind is Kind.NONE:
        return default
    extent = extent_of(given)
    return extent.number if extent is not None else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Dict | ast.Tuple | ast.List) and not any(True for _ in ast.iter_child_nodes(node))


def _is_literal(node: ast.expr) -> bool:
    """Is it written out, so that its kind is known? A name may hold anything."""
    return isinstance(node, ast.Dict | ast.Tuple | ast.List | ast.Set) or _is_none(node)


def _kind_words(value: Value) -> str:
    return f"a {value.container}"


def _compared(written: Mapping[int | str, ast.expr], given: Mapping[str, Value]) -> str:
    """ "`start` is missing", "`ids` is no argument that is given"."""
    missing = [name for name in given if name not in written]
    spare = [str(name) for name in written if str(name) not in given]
    told = [f"{_names(missing)} {'is' if len(missing) == 1 else 'are'} missing"] if missing else []
    told += [f"{_names(spare)} {'is' if len(spare) == 1 else 'are'} not given"] if spare else []
    return " and ".join(told)


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _counted(written: int, given: int) -> str:
    return f"{_count(written, 'part')} for {_count(given, 'argument')}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
