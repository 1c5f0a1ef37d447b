"""Evaluates expressions: given what the names in a function are, what each expression may be.

One method for each kind of node, each of which gives a value of the abstract domain and leaves it in the `Environment`
for the rules. Then what the harder kinds need, in the order in which they are met: tests (which narrow what a name may
be in the branch they lead to, and of which some are settled by the code alone), indices, attributes, calls, and
Python's own functions.

An operation on a value is done on each of its possibilities, None left out, and the results are joined (`each_option`):
what is None there raises, so whatever goes on was not None.
"""

from __future__ import annotations

import ast
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from exportlint.engine.entry.samples import DIM
from exportlint.engine.source.parsed import last_name
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.engine.values import library, operators
from exportlint.engine.values.abstract_value import (
    LISTED,
    NONE,
    ROWS,
    SCALAR,
    SIZE,
    TENSOR,
    UNBACKED,
    UNKNOWN,
    Array,
    Class,
    ConfigObject,
    Container,
    Function,
    Instance,
    Kind,
    Module,
    NumberFromData,
    Scalar,
    Shape,
    Source,
    Span,
    Step,
    Super,
    Tensor,
    Transform,
    Unknown,
    Value,
    each_option,
    exactly,
    join,
    join_all,
    sized,
    span_of,
)
from exportlint.engine.values.extents import less
from exportlint.engine.values.shapes import (
    NEW_DIM,
    UNCLEAR,
    Piece,
    dims_of,
    effect,
    extent_of,
    indexed,
    is_no_mask_of,
    layer_effect,
    pieces,
    recurrent_parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from exportlint.engine.source.symbols import ClassInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Possibility
    from exportlint.engine.values.extents import Dims, Extent


class Interpreter(Protocol):
    """What the run of one function asks; `exportlint.engine.interpreter.engine.Engine` implements it.

    training   whether the model that runs now is in train mode, by what its sample calls
    operators  how many operators, such as `torch.cond`, run the function that runs now
    """

    training: bool
    operators: int

    @property
    def silent(self) -> bool:
        """Is the code that runs now no part of the exported program, such as a constructor?"""

    @property
    def watching(self) -> bool:
        """Is code followed that makes a sample?"""

    def module_level(self, module: ModuleInfo, name: str) -> Value:
        """What a name means when the function does not bind it."""

    def dotted(self, name: str) -> Value:
        """The value of an imported or builtin name."""

    def attributes(self, cls: ClassInfo) -> dict[str, Value]:
        """What `__init__` (and the class body) puts on the object."""

    def class_levels(self, cls: ClassInfo) -> dict[str, Value]:
        """What a class body assigns."""

    def layers(self, cls: ClassInfo | None) -> frozenset[str]:
        """The attributes that hold a layer of torch.nn, which takes a tensor."""

    def instance(self, cls: ClassInfo, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """What `Cls(…)` makes, with the attributes that these arguments give it."""

    def changed(
        self, function: FunctionInfo, owner: Value | None, args: tuple[Value, ...], keywords: dict[str, Value]
    ) -> dict[int | str, Value]:
        """The containers among the arguments that a call has changed, by place or keyword."""

    def on_self(
        self, method: FunctionInfo, args: tuple[Value, ...], keywords: dict[str, Value], env: Environment
    ) -> Value | None:
        """Run a method of the object under construction; what it sets on self is set in `env`."""

    def watch(
        self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], env: Environment, node: ast.Call
    ) -> None:
        """Note a call that gives a model inputs, where samples are looked for."""

    def before_export(self, function: FunctionInfo, node: ast.expr) -> Value:
        """The value of an expression beside a function, such as a default, which runs before export does."""

    def invoke(
        self,
        function: FunctionInfo,
        owner: Value | None,
        args: tuple[Value, ...],
        keywords: dict[str, Value],
        *,
        root: bool = False,
    ) -> Value:
        """What the function returns for these arguments; its body is judged on the way."""


class Environment:
    """What one run of one function knows."""

    def __init__(self, function: FunctionInfo, names: dict[str, Value]) -> None:
        self.function = function
        self.module = function.module
        self.names = names
        # What attributes and items held before they were assigned: what they still hold on a path that assigns nothing.
        self.earlier: dict[str, Value] = {}
        self.returned: list[Value] = []
        self.yielded: list[Value] = []
        self.values: dict[ast.expr, Value] = {}
        # Dead is what a settled test cut off. A loop runs twice: what one round reached is not dead.
        self.dead: set[ast.AST] = set()
        self.alive: set[ast.AST] = set()

    def believe(self, node: ast.expr, value: Value) -> None:
        self.values[node] = value

    def believed(self, node: ast.expr) -> Value:
        return self.values.get(node, UNKNOWN)

    def beliefs(self) -> dict[Span, Value]:
        """What each expression was, by its place. (The parts of an f-string stand where the whole does, which wins.)"""
        return {
            (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0): value
            for node, value in self.values.items()
        }

    def unreached(self) -> set[Span]:
        """The places of statements and operands that did not run."""
        return {span for node in self.dead - self.alive if (span := span_of(node))}

    def mark_unreachable(self, statements: Iterable[ast.AST]) -> None:
        """Note that these statements, or operands, do not run in this context."""
        self.dead.update(statements)

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Names bound or narrowed inside are forgotten outside."""
        before = dict(self.names)
        try:
            yield
        finally:
            self.names = before


_DISPLAYS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}
_NOT_TENSOR = frozenset(
    {"int", "float", "bool", "str", "list", "tuple", "dict", "set", "Mapping", "Sequence", "Module"}
)
_EQUALITIES = ast.Is | ast.IsNot | ast.Eq | ast.NotEq
_OF_CONTAINERS = frozenset({"get", "items", "keys", "append", "extend", "pop", "update", "setdefault"})
_NAMED_RESULTS = frozenset(
    {"values", "indices", "eigenvalues", "eigenvectors", "L", "Q", "R", "U", "S", "Vh", "solution", "sign", "logabsdet"}
)
_METHODS_OF_MODULES = library.REGISTERED.keys() | library.RETURN_THE_MODULE
_DIMS = frozenset({DIM, "torch.export.dynamic_shapes.Dim"})
_TRAINING = (("training", exactly(Scalar("bool", truth=True))),)
_GROWING = frozenset({"append", "add", "appendleft", "insert", "extend", "update"})
# Methods of containers that change them and give None.
_SILENT = _GROWING | {"extendleft", "remove", "discard", "clear", "sort", "reverse", "rotate", "move_to_end"}
_BRANCHING = frozenset({"torch.cond", "torch._higher_order_ops.cond", "functorch.experimental.control_flow.cond"})
_LOOPING = frozenset(
    {"torch.while_loop", "torch._higher_order_ops.while_loop", "torch._higher_order_ops.while_loop.while_loop"}
)
_OPERANDS = ("operands", "carried_inputs")  # of a branch, of a loop
_MAPPING = frozenset(
    {"torch._higher_order_ops.map", "torch._higher_order_ops.map.map", "functorch.experimental.control_flow.map"}
)
# Of torch and torch.func: they give the function in another form, which runs it when it is called.
_TRANSFORMS = frozenset({"torch.vmap", "torch.func.vmap", "functorch.vmap"}) | {
    f"{home}.{name}" for home in ("torch.func", "functorch") for name in ("grad", "jacrev", "jacfwd", "hessian")
}
_DERIVED = frozenset({"torch.func.vjp", "torch.func.jvp", "functorch.vjp", "functorch.jvp"})
_SHALLOW = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "filter", "dict"})
_NUMERIC = frozenset(
    {"len", "int", "float", "bool", "abs", "round", "sum", "min", "max", "pow", "divmod", "range", "any", "all"}
)
_CALLING_A_FUNCTION = frozenset({"filter", "sorted", "min", "max"})


class Expressions:
    """Evaluates expressions of one function in one context; `env` holds the names, `engine` the project's memory."""

    def __init__(self, engine: Interpreter, env: Environment) -> None:
        self.engine = engine
        self.env = env

    def value(self, node: ast.expr) -> Value:
        """The expression's value, remembered for the rules."""
        handler: Callable[[ast.expr], Value] = getattr(self, _HANDLERS.get(type(node), "_children"))
        found = handler(node)
        self.env.believe(node, found)
        return found

    def _children(self, node: ast.expr) -> Value:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return UNKNOWN

    def _constant(self, node: ast.Constant) -> Value:
        return _constant_value(type(node.value).__name__, node.value)

    def _name(self, node: ast.Name) -> Value:
        known = self.env.names.get(node.id)
        if known is None:
            known = self.env.function.closure.get(node.id)
        return known if known is not None else self.engine.module_level(self.env.module, node.id)

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        written = self.env.names.get(_path_of(node) or "")
        if written is not None:
            return written
        return self.attribute(owner, node.attr, node)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner, index = self.value(node.value), self.value(node.slice)
        if (written := self.env.names.get(_path_of(node) or "")) is not None:
            return written
        found = each_option(owner, lambda option: self._part_of(option, node, index))
        return found.with_trail(owner.trail) if owner.may_be_data and not found.trail else found

    def _part_of(self, owner: Possibility, node: ast.Subscript, index: Value) -> Value:
        match owner:
            case Tensor():
                return self.index_tensor(owner, node.slice, index)
            case Shape():
                return self.index_shape(owner, node, index)
            case Unknown() if index.is_tensor and index.boolean:
                return ROWS
            case Instance(cls=cls) | Module(cls=cls) if cls and (method := cls.method("__getitem__")):
                return self.engine.invoke(method, exactly(owner), (index,), {})
            case Container() | Module() | Unknown():
                return self.item(owner, node.slice, index)
            case Array():
                return exactly(Array(on_self=owner.on_self))
            case NumberFromData():
                return exactly(owner)  # an item of a row of `.tolist()`
        return exactly(owner) if isinstance(owner, ConfigObject) else UNKNOWN

    def _binary(self, node: ast.BinOp) -> Value:
        return operators.combine(self.value(node.left), self.value(node.right), node.op)

    def _unary(self, node: ast.UnaryOp) -> Value:
        inner = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(node.operand)
            return exactly(Scalar("bool", None if truth is None else not truth))
        if isinstance(node.op, ast.USub) and (extent := extent_of(inner)) and extent.number is not None:
            return exactly(Scalar("int", bool(extent.number), str(-extent.number)))
        return inner.but(truth=None, name=None, extent=None) if inner.kind is not Kind.CONFIG else UNKNOWN

    def _compare(self, node: ast.Compare) -> Value:
        values = [self.value(node.left), *map(self.value, node.comparators)]
        with_none = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
        if with_none or any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return exactly(Scalar("bool", self.truth_of_test(node)))
        return operators.compare(values, node.ops[0] if len(node.ops) == 1 else None)

    def _boolean(self, node: ast.BoolOp) -> Value:
        """Operands after one that settles the matter do not run; those that it cannot be are no possibility."""
        stop = isinstance(node.op, ast.Or)
        values: list[Value] = []
        for i, operand in enumerate(node.values):
            found, truth = self.value(operand), self.truth(operand)
            if truth is None or truth is stop or i == len(node.values) - 1:
                values.append(found)
            if truth is stop:
                self.env.mark_unreachable(node.values[i + 1 :])
                break
        if stop and is_object(values[0]) and values[0].kind is not Kind.TENSOR:
            return values[0]
        settled = self.truth_of_parts(node)
        whole = join_all(values) or UNKNOWN
        return whole.but(truth=settled) if whole.kind is Kind.SCALAR else whole

    def _ternary(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        truth = self.truth(node.test)
        if truth is not None:
            self.env.mark_unreachable([node.orelse if truth else node.body])
            return self.value(node.body if truth else node.orelse)
        return join(self.narrowed(node.test, node.body, True), self.narrowed(node.test, node.orelse, False))

    def narrowed(self, test: ast.expr, node: ast.expr, truth: bool) -> Value:
        with self.env.branch():
            self.narrow(test, truth)
            return self.value(node)

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        values = tuple(self.value(e.value if isinstance(e, ast.Starred) else e) for e in node.elts)
        starred = any(isinstance(e, ast.Starred) for e in node.elts)
        spread = [
            v.element or UNKNOWN if isinstance(e, ast.Starred) else v for e, v in zip(node.elts, values, strict=True)
        ]
        items = None if starred or isinstance(node, ast.Set) else values
        return exactly(Container(_DISPLAYS[type(node)], join_all(spread), items))

    def _dict(self, node: ast.Dict) -> Value:
        for key in node.keys:
            if key is not None:
                self.value(key)
        values = [self.value(v) for v in node.values]
        pairs = zip(node.keys, values, strict=True)
        fields = tuple((str(k.value), v) for k, v in pairs if isinstance(k, ast.Constant) and _is_key(k.value))
        return exactly(Container("dict", join_all(values), fields=fields))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        with self.env.branch():
            for generator in node.generators:
                self.assign(generator.target, self.element_of(self.value(generator.iter)))
                for test in generator.ifs:
                    self.value(test)
                    self.narrow(test, True)
            if isinstance(node, ast.DictComp):
                self.value(node.key)
                return exactly(Container("dict", self.value(node.value)))
            name = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
            return exactly(Container(name, self.value(node.elt)))

    def _lambda(self, node: ast.Lambda) -> Value:
        closure = {**self.env.function.closure, **self.env.names}
        return exactly(Function(FunctionInfo("<lambda>", node, self.env.module, self.env.function.cls, closure)))

    def _named(self, node: ast.NamedExpr) -> Value:
        found = self.value(node.value)
        self.assign(node.target, found)
        return found

    def _text(self, node: ast.JoinedStr) -> Value:
        self._children(node)
        return exactly(Scalar("str"))

    def _inner(self, node: ast.FormattedValue | ast.Starred | ast.Await) -> Value:
        return self.value(node.value)

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Value:
        found = self.value(node.value) if node.value else NONE
        self.env.yielded.append(self.element_of(found) if isinstance(node, ast.YieldFrom) else found)
        return UNKNOWN

    def assign(self, target: ast.expr, new: Value) -> None:
        """Bind a target, unpacking what can be unpacked."""
        match target:
            case ast.Name(id=name):
                self.env.believe(target, new)
                self.env.names[name] = _with_step(new, f"`{name}`", target.lineno, self.env.module.path)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpack(parts, new)
            case ast.Starred(value=inner):
                self.assign(inner, exactly(Container("list", self.element_of(new))))
            case ast.Attribute(value=owner) | ast.Subscript(value=owner):
                self._assign_place(target, owner, new)

    def _unpack(self, parts: list[ast.expr], new: Value) -> None:
        exact = new.items if new.items and len(new.items) == len(parts) else None
        for i, part in enumerate(parts):
            if new.kind is Kind.SHAPE and exact is None:
                item = UNBACKED if i == new.data_dim else SIZE
            else:
                item = exact[i] if exact else one_of(self.element_of(new))
            self.assign(part, item)

    def _assign_place(self, target: ast.Attribute | ast.Subscript, owner: ast.expr, new: Value) -> None:
        self.value(owner)
        if isinstance(target, ast.Subscript):
            self.value(target.slice)
        before = self._attribute(target) if isinstance(target, ast.Attribute) else self._subscript(target)
        self.env.believe(target, before)
        if isinstance(target, ast.Subscript) and isinstance(owner, ast.Name):
            self._set_item(owner.id, target.slice, new)
        if path := _path_of(target):
            self.env.earlier.setdefault(path, before)
            self.env.names[path] = new.but(on_self=True) if path.startswith("self.") else new

    def _set_item(self, name: str, index: ast.expr, new: Value) -> None:
        """`batch["x"] = new`: whoever is given the container later gets it with the item."""
        held = self.env.names.get(name)
        if held is None or not held.certain or held.container not in {"dict", "list"}:
            return
        given = held.source is Source.INPUT and held.element is not None  # what came in is still what it was
        element = held.element if given else join(held.element, new) if held.element else new
        match index:
            case ast.Constant(value=str(key)) if held.container == "dict":
                fields = (*(f for f in held.fields if f[0] != key), (key, new))
                self.env.names[name] = held.but(fields=fields, element=element)
            case _ if held.container == "list":
                self.env.names[name] = held.but(items=None, element=element)
            case _:
                fields = tuple((key, join(value, new)) for key, value in held.fields)
                self.env.names[name] = held.but(fields=fields, element=element)

    def element_of(self, value: Value) -> Value:
        """What iterating gives."""
        found = each_option(value, self._iterated)
        return found.with_trail(value.trail) if value.may_be_data and found.may_be_data else found

    def _iterated(self, owner: Possibility) -> Value:
        match owner:
            case Instance(cls=cls) | Module(cls=cls) if cls and (method := cls.method("__iter__")):
                return _element_of_option(self.engine.invoke(method, exactly(owner), (), {}).lead)
            case Instance(cls=cls) if cls and (held := exactly(owner).field(LISTED)) is not None:
                return held
        return _element_of_option(owner)

    # Narrowing.

    def truth(self, node: ast.expr) -> bool | None:
        """True or False where the code alone settles a test; None where it does not."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                inside = self.truth(inner)
                return None if inside is None else not inside
            case ast.BoolOp():
                return self.truth_of_parts(node)
            case ast.Compare() if (settled := self.truth_of_test(node)) is not None:
                return settled
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
                return self._isinstance(self.env.believed(subject), classes)
            case ast.Call(args=[subject]) if self.env.module.dotted(node.func) == "torch.is_tensor":
                return self._isinstance(self.env.believed(subject), ast.Name("Tensor"))
        return self.env.believed(node).truth

    def truth_of_parts(self, node: ast.BoolOp) -> bool | None:
        stop = isinstance(node.op, ast.Or)
        truths = [self.truth(v) for v in node.values]
        if stop in truths:
            return stop
        return None if None in truths else not stop

    def truth_of_test(self, node: ast.Compare) -> bool | None:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]) if isinstance(
                op, _EQUALITIES
            ):
                op = ast.Is() if isinstance(op, ast.Is | ast.Eq) else ast.IsNot()
                value = self.env.believed(left)
                if value.kind is Kind.NONE:
                    return isinstance(op, ast.Is)
                if is_object(value) or _is_known_number(value):
                    return isinstance(op, ast.IsNot) if not value.maybe_none else None
        return None

    def _isinstance(self, value: Value, classes: ast.expr) -> bool | None:
        names = {last_name(c) for c in (classes.elts if isinstance(classes, ast.Tuple) else [classes])}
        if value.kind is Kind.TENSOR and value.certain and not value.maybe_none:
            return True if "Tensor" in names else False if names <= _NOT_TENSOR else None
        if value.kind in {Kind.SCALAR, Kind.NONE, Kind.CONTAINER, Kind.SIZE} and names == {"Tensor"}:
            return False
        if (
            value.kind is Kind.CONTAINER
            and value.container in names & {"list", "tuple", "dict"}
            and not value.maybe_none
        ):
            return True
        return None

    def narrow(self, test: ast.expr, truth: bool) -> None:
        """Note what a test shows about a name in the branch where it came out as `truth`.

        Only tests that Python decides whatever the data is: for None and for classes.
        """
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                self.narrow(inner, not truth)
            case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is truth:
                for part in parts:
                    self.narrow(part, truth)
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]) if isinstance(
                op, _EQUALITIES
            ):
                self._narrow_none(left, isinstance(op, ast.Is | ast.Eq) is truth)
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
                self._narrow_class(subject, classes, truth)
            case ast.Call(args=[subject]) if self.env.module.dotted(test.func) == "torch.is_tensor":
                self._narrow_class(subject, ast.Name("Tensor"), truth)

    def _narrow_none(self, node: ast.expr, is_none: bool) -> None:
        key = _narrowed_name(node)
        if key is None:
            return
        value = self.env.believed(node)
        if is_none:
            self.env.names[key] = NONE if value.kind is not Kind.UNKNOWN else value
        else:
            self.env.names[key] = value.without(Kind.NONE) or UNKNOWN

    def _narrow_class(self, node: ast.expr, classes: ast.expr, truth: bool) -> None:
        key, value = _narrowed_name(node), self.env.believed(node)
        names = {last_name(c) for c in (classes.elts if isinstance(classes, ast.Tuple) else [classes])}
        if key is None:
            return
        if truth and names == {"Tensor"}:
            self.env.names[key] = value.only(Kind.TENSOR) or exactly(Tensor(Source.INPUT))
        elif truth and names <= {"list", "tuple", "dict", "set", "Mapping", "Sequence"}:
            made = exactly(Container("dict" if "dict" in names else "list", source=value.source))
            self.env.names[key] = value.only(Kind.CONTAINER) or made
        elif truth and names <= {"int", "float", "bool", "str"}:
            self.env.names[key] = value.without(Kind.TENSOR, Kind.UNKNOWN) or SCALAR
        elif not truth and names == {"Tensor"} and value.kind is Kind.TENSOR:
            self.env.names[key] = value.without(Kind.TENSOR) or UNKNOWN

    # Indexing.

    def index_tensor(self, owner: Tensor, node: ast.expr, index: Value) -> Value:
        parts = [self.value(p) for p in node.elts] if isinstance(node, ast.Tuple) else [index]
        masked = any(p.kind is Kind.TENSOR and p.boolean and p.certain for p in parts)
        # An index with a mask copies. Any other is taken for a view: a write to part of a buffer writes to the buffer.
        view = owner.source is not Source.INPUT and not masked
        source = owner.source if view else Source.COMPUTED
        dims = self._indexed_dims(owner.dims, node) if owner.dims is not None else None
        return exactly(
            Tensor(source, owner.boolean, self._data_dim(owner.data_dim, node), owner.on_self and view, dims)
        )

    def _data_dim(self, before: int | None, node: ast.expr) -> int | None:
        """The place of the dim whose size depends on data, after an index: of a mask, of a slice up to a number that
        was read, or where that of the owner goes."""
        taken = given = 0  # dims of the owner that were spoken of, and of the result
        for part in node.elts if isinstance(node, ast.Tuple) else [node]:
            if isinstance(part, ast.Constant) and part.value is ...:
                # How many dims it stands for is not known; the first is one of them, of rows with several columns.
                return given if before == 0 and not taken else None
            if isinstance(part, ast.Constant) and part.value is None:
                given += 1
                continue
            if self._is_data_sized(part) or (isinstance(part, ast.Slice) and before == taken):
                return given
            taken += 1
            given += self._leaves_a_dim(part)
        return given + before - taken if before is not None and before >= taken else None

    def _is_data_sized(self, part: ast.expr) -> bool:
        if isinstance(part, ast.Slice):
            return any(end is not None and self.value(end).is_unbacked for end in (part.lower, part.upper))
        index = self.value(part)
        return index.kind is Kind.TENSOR and ((index.boolean and index.certain) or index.unbacked)

    def _leaves_a_dim(self, part: ast.expr) -> bool:
        """Does the result have a dim for this part of an index? A number takes it away."""
        return isinstance(part, ast.Slice) or self.value(part).kind not in {Kind.SCALAR, Kind.SIZE, Kind.UNBACKED}

    def _indexed_dims(self, dims: Dims, node: ast.expr) -> Dims | None:
        nodes = node.elts if isinstance(node, ast.Tuple) else [node]
        if len(nodes) == 1 and dims:
            chosen = dims_of(self.value(nodes[0]))
            if chosen is not None and is_no_mask_of(dims, chosen):
                return (*chosen, *dims[1:])
        parts: list[Piece | Extent] = []
        for part in nodes:
            if isinstance(part, ast.Constant) and part.value is ...:
                taken = sum(not (isinstance(p, ast.Constant) and p.value in (None, ...)) for p in nodes)
                parts += [Piece()] * (len(dims) - taken)
            elif (piece := self._piece(part)) is not None:
                parts.append(piece)
            else:
                return None
        return indexed(dims, parts).dims

    def _piece(self, node: ast.expr) -> Piece | Extent | None:
        match node:
            case ast.Constant(value=None):
                return NEW_DIM
            case ast.Slice(step=None, lower=lower, upper=upper):
                low, high = (extent_of(self.value(end)) or UNCLEAR if end else None for end in (lower, upper))
                return Piece(low, high)
            case ast.Slice():  # with a step
                return Piece(UNCLEAR, UNCLEAR)
        found = self.value(node)
        if found.kind in {Kind.SCALAR, Kind.SIZE, Kind.UNBACKED} and found.certain and found.container != "bool":
            return extent_of(found) or UNCLEAR
        return None

    def index_shape(self, owner: Shape, node: ast.Subscript, index: Value) -> Value:
        if isinstance(node.slice, ast.Slice):
            return exactly(
                Shape(self._data_dim_of_slice(owner.data_dim, node.slice), self._dims_of_slice(owner.dims, node.slice))
            )
        place = extent_of(index)
        if owner.data_dim is not None and place is not None and place.number == owner.data_dim:
            return UNBACKED.because(f"`{ast.unparse(node)[:40]}`", node.lineno, self.env.module.path)
        if owner.dims is None or place is None or place.number is None:
            return SIZE
        return sized(owner.dims[place.number]) if -len(owner.dims) <= place.number < len(owner.dims) else SIZE

    def _data_dim_of_slice(self, data_dim: int | None, node: ast.Slice) -> int | None:
        low = extent_of(self.value(node.lower)) if node.lower else None
        start = 0 if node.lower is None else low.number if low else None
        return data_dim - start if data_dim is not None and start is not None and 0 <= start <= data_dim else None

    def _dims_of_slice(self, dims: Dims | None, node: ast.Slice) -> Dims | None:
        """`x.shape[1:]`."""
        ends = [extent_of(self.value(end)) if end else UNCLEAR for end in (node.lower, node.upper)]
        if dims is None or node.step or any(end is None or (end != UNCLEAR and end.number is None) for end in ends):
            return None
        low, high = (end.number if end else None for end in ends)
        return dims[low:high]

    def item(self, owner: Container | Module | Unknown, node: ast.expr, index: Value) -> Value:
        whole = exactly(owner)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, int) and whole.items and -len(whole.items) <= node.value < len(whole.items):
                return whole.items[node.value]
            if isinstance(node.value, str | int) and (field := whole.field(str(node.value))) is not None:
                return field
        if index.container == "str" and index.name and (field := whole.field(index.name)) is not None:
            return field
        if isinstance(node, ast.Slice):
            return whole.but(items=None)
        # Which of the elements it is, is not known.
        found = (
            whole.element.but(on_self=owner.on_self, truth=None, name=None)
            if whole.element
            else exactly(Unknown(on_self=owner.on_self))
        )
        return one_of(found) if isinstance(node, ast.Constant) else found

    # Attributes.

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """`owner.name`, of whatever it may be; None has none of interest."""
        found = each_option(owner, lambda option: self._attribute_of(option, name, node))
        return found.with_trail(owner.trail) if owner.may_be_data and found.may_be_data else found

    def _attribute_of(self, owner: Possibility, name: str, node: ast.expr) -> Value:
        match owner:
            case Tensor():
                return self._of_tensor(owner, name)
            case Module() | Instance():
                return self._of_object(owner, name, node)
            case Class(cls=cls) if cls:
                return self._of_class(cls, name)
            case ConfigObject():
                return exactly(ConfigObject(name, owner.on_self))
            case Container(container="tuple", element=element) if element is not None and name in _NAMED_RESULTS:
                return element  # `x.max(dim=1).values`
            case Shape() | Container():
                return exactly(Function(owner=exactly(owner), name=name))
            case Array() if name in library.ARRAY_SCALARS:
                return SCALAR
            case Array():
                return exactly(Function(owner=exactly(owner), name=name))
        path = getattr(owner, "name", None)
        dotted = self.env.module.dotted(node) if path else None
        if dotted:
            return self.engine.dotted(dotted)
        on_self = getattr(owner, "on_self", False)
        return exactly(Unknown(f"{path}.{name}" if path else None, on_self=on_self))

    def _of_class(self, cls: ClassInfo, name: str) -> Value:
        if cls.is_autograd_function and name == "apply" and (forward := cls.method("forward")):
            return exactly(Function(forward, name=name))
        if method := cls.method(name):
            return exactly(Function(method, name=name))
        levels = (self.engine.class_levels(base).get(name) for base in cls.lineage)
        return next((value for value in levels if value is not None), UNKNOWN)

    def _of_tensor(self, owner: Tensor, name: str) -> Value:
        if name == "shape":
            return library.shape_of(owner)
        if name in library.SCALAR_ATTRIBUTES:
            return SCALAR
        if name in _OF_CONTAINERS:
            return UNKNOWN
        if name in {"T", "mT", "H", "mH"}:
            return exactly(owner).but(dims=effect(name, (exactly(owner),), {}).dims)
        if name in {"data", "real", "imag", "grad"}:
            return exactly(owner).doubted().or_none() if name == "grad" else exactly(owner)
        return exactly(Function(owner=exactly(owner), name=name))

    def _of_object(self, owner: Module | Instance, name: str, node: ast.expr) -> Value:
        if (field := exactly(owner).field(name)) is not None:
            return field
        if name == "training":
            return exactly(Scalar("bool", truth=self.engine.training))
        if owner.cls is None:
            return self._of_foreign(owner, name)
        if name == "__class__":
            return exactly(Class(owner.cls))
        if method := owner.cls.method(name):
            if "builtins.property" in method.decorators or any(
                d.endswith("cached_property") for d in method.decorators
            ):
                return self.engine.invoke(method, exactly(owner), (), {})
            return exactly(Function(method, exactly(owner), name))
        made = owner.made.attributes.get(name) if isinstance(owner, Module) and owner.made else None
        found = made or self.engine.attributes(owner.cls).get(name)
        if found is None and isinstance(owner, Module) and name in _METHODS_OF_MODULES:
            return exactly(Function(owner=exactly(owner), name=name))
        if found is None:
            return exactly(Unknown(on_self=True))
        found = found.but(on_self=True)
        step = f"`self.{name}`" if _is_self(node) else f"`.{name}`"
        return found.because(step, node.lineno, self.env.module.path) if found.kind is Kind.TENSOR else found

    def _of_foreign(self, owner: Module | Instance, name: str) -> Value:
        """An attribute of a torch layer or of an instance of a library's class."""
        if owner.name == library.PACKED_CLASS and (found := library.field_of_packed(name)) is not None:
            return found
        if isinstance(owner, Module) and name in {"weight", "bias", "running_mean", "running_var"}:
            tensor = exactly(Tensor(Source.PARAMETER, on_self=True))
            return tensor.or_none() if name == "bias" else tensor
        if isinstance(owner, Module) and name not in {"forward", "__call__"}:
            return exactly(Function(owner=exactly(owner), name=name))
        if (owner.name or "").startswith("torch.distributions."):
            return exactly(Function(owner=exactly(owner), name=name))
        return exactly(Unknown(name, exactly(owner)))

    # Calls.

    def called(self, node: ast.Call) -> Value:
        """Evaluate a call: the function, its arguments, then what it gives."""
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self._super()
        function = self.value(node.func)
        if function.name == "builtins.zip" and len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            return self._transposed(self.value(node.args[0].value))
        # `places`: the arguments that are names, since a callee may fill a container that a name of ours holds.
        args: list[Value] = []
        named = ((k.arg, k.value) for k in node.keywords)
        places: dict[int | str, str] = {arg: v.id for arg, v in named if arg and isinstance(v, ast.Name)}
        for arg in node.args:
            found = self.value(arg)
            if isinstance(arg, ast.Name):
                places[len(args)] = arg.id
            if isinstance(arg, ast.Starred):
                args.extend(found.items if found.items is not None else [self.element_of(found)])
            else:
                args.append(found)
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        for k in node.keywords:
            if k.arg is None:
                keywords = {**dict(self.value(k.value).fields), **keywords}
        result = self._with_dims(self.result(function, tuple(args), keywords, node), function, tuple(args), keywords)
        self._take_back(function, args, keywords, places)
        # The message of a finding shows the way that data took: where it was read, and through which function it came.
        if result.kind is Kind.UNBACKED and not result.trail:
            result = result.because(f"`{ast.unparse(node)[:40]}`", node.lineno, self.env.module.path)
        if result.kind in {Kind.TENSOR, Kind.UNBACKED} and function.function is not None:
            result = result.because(f"`{ast.unparse(node.func)}(…)`", node.lineno, self.env.module.path)
        return result

    def _with_dims(self, result: Value, function: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The result of a function or method of torch, with its dims where those of the arguments are known."""
        match result.options, function.options:
            case (Tensor(dims=None, data_dim=None),), (Function(function=None, owner=owner, name=str(name)),) if owner:
                return result.but(dims=effect(name, (owner, *args), keywords).dims)
            case (Container(container="tuple", element=element),), (
                Function(function=None, owner=owner, name=str(name)),
            ) if owner is not None and element is not None and name in {"chunk", "split"}:
                return result.but(element=element.but(dims=pieces(name, (owner, *args), keywords)))
            case (Tensor(dims=None, data_dim=None),), (Unknown(owner=None, name=str(name)),):
                last = name.rpartition(".")[2]
                return result.but(dims=effect(last, args, keywords).dims) if name.startswith("torch.") else result
        return result

    def _take_back(
        self, function: Value, args: list[Value], keywords: dict[str, Value], names: Mapping[int | str, str]
    ) -> None:
        """What a function of the project has put into a container that it was given by name.

        `names`: those names, by the place or keyword of the argument.
        """
        if not any(self.env.names[name].kind is Kind.CONTAINER for name in names.values() if name in self.env.names):
            return
        match function.lead:
            case Function(function=known, owner=owner) if known is not None:
                changed = self.engine.changed(known, owner, tuple(args), keywords)
            case Module(cls=cls) as module if cls and (forward := cls.method("forward")):
                changed = self.engine.changed(forward, exactly(module), tuple(args), keywords)
            case _:
                return
        for place, value in changed.items():
            if place in names:
                self._rebind_filled(names[place], value)

    def _rebind_filled(self, name: str, value: Value) -> None:
        """A container that a call has filled; what was noted of its items before holds no more."""
        for path in [path for path in self.env.names if path.startswith(f"{name}[")]:
            del self.env.names[path]
        self.env.names[name] = value

    def _transposed(self, rows: Value) -> Value:
        """`zip(*rows)`: what each row has at a place, for each place."""
        row = rows.element or UNKNOWN
        if row.is_tensor:  # `zip(*torch.where(mask))`
            return exactly(Container("list", exactly(Container("tuple", TENSOR)), unbacked=row.unbacked))
        if row.items is not None:
            items = tuple(exactly(Container("tuple", item)) for item in row.items)
            return exactly(Container("list", join_all(items), items))
        return exactly(Container("list", exactly(Container("tuple", self.element_of(row)))))

    def _super(self) -> Value:
        owner, cls = self.env.names.get("self", UNKNOWN), self.env.function.cls
        return exactly(Super(cls, owner)) if owner.cls and cls else UNKNOWN

    def result(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call) -> Value:
        """What `function(*args, **keywords)` gives: what each thing gives that it may be, None aside."""
        if isinstance(node.func, ast.Attribute) and (up := self._super_method(node.func)):
            return self.engine.invoke(up, self.env.names["self"], args, keywords)
        return each_option(function, lambda option: self._result_of(option, args, keywords, node))

    def _result_of(
        self, function: Possibility, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        match function:
            case Function(transform=Transform() as transform):
                return self._transform_called(replace(function, transform=None), transform, args)
            case Function(function=known, owner=owner) if known is not None:
                given, named = function.bound
                return self.engine.invoke(known, owner, (*given, *args), {**dict(named), **keywords})
            case Module():
                return self._module_called(function, args, keywords)
            case Class(cls=cls) if cls:
                return self.engine.instance(cls, args, keywords)
            case Instance(cls=cls) if cls and (call := cls.method("__call__")):
                return self.engine.invoke(call, exactly(function), args, keywords)
            case Function(owner=owner, name=name) | Unknown(owner=owner, name=name) if owner is not None:
                return self._library_method(owner, name or "", args, keywords, node)
        name = getattr(function, "name", None) or ""
        if function.kind is Kind.UNKNOWN and (method := _torch_only(node.func, name)):
            return library.tensor_method(Tensor(), method, args, keywords)
        return self._named_function(name, args, keywords) if name else UNKNOWN

    def _super_method(self, func: ast.Attribute) -> FunctionInfo | None:
        inner = self.env.believed(func.value).lead if isinstance(func.value, ast.Call) else None
        if not isinstance(inner, Super) or not inner.owner.cls:
            return None
        return inner.owner.cls.method(func.attr, after=inner.cls)

    def _module_called(self, module: Module, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        if module.cls:
            forward = module.cls.method("forward")
            return self.engine.invoke(forward, exactly(module), args, keywords) if forward else UNKNOWN
        if module.name == "torch.nn.Sequential":
            return self._sequence(module, args)
        if module.name in library.MODULE_CONTAINERS:
            return UNKNOWN
        found = library.module_call(module.name or "", args)
        if found.kind is Kind.CONTAINER and (parts := recurrent_parts(exactly(module), args)) is not None:
            return exactly(Container("tuple", TENSOR, parts))
        return (
            found
            if found.kind is not Kind.TENSOR or found.data_dim is not None
            else found.but(dims=layer_effect(exactly(module), args).dims)
        )

    def _sequence(self, module: Module, args: tuple[Value, ...]) -> Value:
        steps = module.items or ((module.element,) if module.element else ())
        current = args
        for step in steps:
            if step.kind is not Kind.MODULE:
                return UNKNOWN
            current = (self.apply(step, current),)
        return current[0] if current and steps else TENSOR

    def _library_method(
        self, owner: Value, name: str, args: tuple[Value, ...], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        match owner.lead:
            case Tensor() as tensor:
                found = library.tensor_method(tensor, name, args, keywords)
                keep = found.kind in {Kind.TENSOR, Kind.UNBACKED, Kind.CONTAINER}
                on_self = tensor.on_self and name in library.VIEWS
                return found.but(on_self=on_self).with_trail(self._trail_of(node)) if keep else found
            case Container() | Shape() as container:
                return self._container_method(container, name, args, keywords, node)
            case Module() as module if name in {"train", "eval"} and not args:
                others = tuple(field for field in module.fields if field[0] != "training")
                return exactly(replace(module, fields=(*others, *_TRAINING) if name == "train" else others))
            case Module() as module if name in library.RETURN_THE_MODULE:
                return exactly(module)
            case Module(name=layers) as module if layers in library.MODULE_CONTAINERS:
                kind = "dict" if "Dict" in (layers or "") else "list"
                container = Container(kind, module.element, module.items, module.fields, on_self=module.on_self)
                return self._container_method(container, name, args, keywords, node)
            case Module() if name in library.REGISTERED:
                return library.registered(name)
            case Module(cls=None) if name == library.SQUARE_MASK:
                return TENSOR
            case Array() as array:
                return library.array_method(array, name)
            case Instance(name=origin) if (origin or "").startswith("torch.distributions."):
                return TENSOR
        return UNKNOWN

    def _trail_of(self, node: ast.Call) -> tuple[Step, ...]:
        """How the object came here whose method is called."""
        return self.env.believed(node.func.value).trail if isinstance(node.func, ast.Attribute) else ()

    def _container_method(
        self,
        owner: Container | Shape,
        name: str,
        args: tuple[Value, ...],
        keywords: dict[str, Value],
        node: ast.Call,
    ) -> Value:
        whole = exactly(owner)
        element = whole.element or UNKNOWN
        if name in _GROWING and (args or keywords):
            self._filled_by_method(node, whole, name, args, keywords)
            return NONE
        if name == "items":
            return exactly(Container("list", exactly(Container("tuple", items=(SCALAR, element)))))
        if name == "get" and args and args[0].container == "str" and args[0].name:
            return whole.field(args[0].name) or join(element, args[1] if len(args) > 1 else NONE)
        if name in {"values", "copy"}:
            kind, fields = ("list", ()) if name == "values" else (whole.container, whole.fields)
            return whole.but(container=kind, fields=fields, source=None, on_self=False)
        if name == "setdefault" and len(args) > 1:
            self._fill_container(node, whole, args[1])
            return join(element, args[1]) if whole.element else args[1]
        if name in {"get", "pop", "popleft", "setdefault"}:
            return element.but(truth=None, name=None)
        if name in {"keys", "index", "count", "numel"}:
            return SCALAR
        return NONE if name in _SILENT else UNKNOWN

    def _filled_by_method(
        self, node: ast.Call, whole: Value, name: str, args: tuple[Value, ...], keywords: dict[str, Value]
    ) -> None:
        """`rows.append(x)`, `batch.update(other, mask=mask)`."""
        if name != "update":
            self._fill_container(
                node, whole, (self.element_of(args[0]) if name == "extend" else args[-1]) if args else UNKNOWN
            )
            return
        given = [args[0].element or UNKNOWN] if args else []
        added = (*(args[0].fields if args else ()), *keywords.items())
        self._fill_container(node, whole, join_all((*given, *keywords.values())) or UNKNOWN, added)

    def _fill_container(
        self, node: ast.Call, owner: Value, new: Value, added: tuple[tuple[str, Value], ...] = ()
    ) -> None:
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            element = join(owner.element, new) if owner.element else new
            fields = tuple({**dict(owner.fields), **dict(added)}.items())
            self._rebind_filled(node.func.value.id, owner.but(element=element, items=None, fields=fields))

    def _named_function(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        if name.startswith("builtins."):
            return self.builtin(name.removeprefix("builtins."), args, keywords)
        if (run := self._run_by_torch(name, args, keywords)) is not None:
            return run
        if name.startswith("torch.distributions."):
            if name.rpartition(".")[2].islower():  # kl_divergence
                return TENSOR
            return exactly(Instance(name=name, fields=tuple(keywords.items())))
        if name in {"torch.utils.checkpoint.checkpoint", "torch.jit.annotate"} and args:
            return args[-1] if name.endswith("annotate") else self.apply(args[0], args[1:])
        if name in _DIMS:
            fields = tuple((str(i), arg) for i, arg in enumerate(args))
            return exactly(Instance(name=DIM, fields=(*fields, *keywords.items())))
        if name == "functools.reduce" and len(args) > 1:
            element = self.element_of(args[1])
            return self.apply(args[0], (args[2] if len(args) > 2 else element, element))  # noqa: PLR2004 - the start
        if name == "functools.partial" and args and args[0].function:
            return args[0].but(bound=(args[1:], tuple(keywords.items())))
        found = library.call(name, args, keywords)
        trail = next((a.trail for a in args if a.trail), ())
        return found.with_trail(trail) if found.kind in {Kind.TENSOR, Kind.UNBACKED} else found

    def _run_by_torch(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value | None:
        """What a function of torch gives that runs the functions it is given."""
        if name in _BRANCHING or name in _LOOPING:
            return self._branched(args, keywords)
        if name in _TRANSFORMS and args and isinstance(args[0].lead, Function) and args[0].function:
            return args[0].but(transform=_transform_of(name, given=len(args) > 1 or "in_dims" in keywords))
        if name in _DERIVED and len(args) > 1:
            self.apply(args[0], args[1:] if name.endswith("vjp") else args[1].items or ())
        if name in _MAPPING and len(args) > 1:
            return self._by_operator([args[0]], (self.element_of(args[1]), *args[2:])).but(dims=None)
        return None

    def apply(self, function: Value, args: tuple[Value, ...]) -> Value:
        """What each function or module gives that the value may be."""
        return each_option(function, lambda option: self._applied(option, args))

    def _applied(self, function: Possibility, args: tuple[Value, ...]) -> Value:
        match function:
            case Module():
                return self._module_called(function, args, {})
            case Function(function=known, owner=owner) if known is not None:
                given, named = function.bound
                return self.engine.invoke(known, owner, (*given, *args), dict(named))
        return UNKNOWN

    def _branched(self, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """`torch.cond` and its like: the functions among the arguments run on the operands, which come last."""
        given = (*args, *keywords.values())
        whole = next((keywords[name] for name in _OPERANDS if name in keywords), given[-1] if given else UNKNOWN)
        operands = whole.items or () if whole.kind is Kind.CONTAINER else ()
        return self._by_operator([f for f in given if f.kind in {Kind.FUNCTION, Kind.MODULE}], operands)

    def _transform_called(self, function: Function, transform: Transform, args: tuple[Value, ...]) -> Value:
        """What `torch.vmap(function)` gives, or a derivative of it, which run the function as Python runs it."""
        if transform is Transform.OF_DERIVATIVES:
            self.apply(exactly(function), args)
            return TENSOR if args and args[0].is_tensor else UNKNOWN
        # One argument that is not known is the tensor to be sliced; of several, some may be dicts of parameters.
        known = (TENSOR,) if len(args) == 1 and args[0].kind is Kind.UNKNOWN else args
        first = transform is Transform.OF_ROWS
        given = (self.element_of(arg) if first else arg.but(dims=None) for arg in known)
        result = self.apply(exactly(function), tuple(given))
        return result.but(dims=None) if result.is_tensor else UNKNOWN

    def _by_operator(self, functions: Sequence[Value], operands: tuple[Value, ...]) -> Value:
        """All of the functions run under export, on the operands."""
        # A rule about operators asks whether a function ran otherwise as well, so a call knows that it runs for one.
        self.engine.operators += 1
        results = [self.apply(function, operands) for function in functions]
        self.engine.operators -= 1
        whole = results[0] if results else TENSOR
        for result in results[1:]:
            whole = join(whole, result)
        return whole

    # Builtins.

    def builtin(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        if name in _CALLING_A_FUNCTION:
            self._ask_each(name, args, keywords)
        if name in _SHALLOW:
            return self._copying_builtin(name, args, keywords)
        if name in {"zip", "enumerate", "map"}:
            return self._pairing_builtin(name, args)
        if name in _NUMERIC:
            return self._number_builtin(name, args)
        return self._question_about(name, args) if args else UNKNOWN

    def _copying_builtin(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        container = name if name in {"list", "tuple", "set", "dict"} else "list"
        if args and args[0].container == "dict" and container != "dict":
            return exactly(Container(container, SCALAR))  # its keys
        if name == "dict" and args and args[0].element and len(args[0].element.items or ()) == 2:  # noqa: PLR2004 - pairs
            return exactly(Container("dict", (args[0].element.items or ())[1]))
        if args and args[0].kind is Kind.CONTAINER:
            return (args[0].only(Kind.CONTAINER) or args[0]).but(container=container, source=None, on_self=False)
        element = self.element_of(args[0]) if args else None
        return exactly(Container(container, element, fields=tuple(keywords.items())))

    def _question_about(self, name: str, args: tuple[Value, ...]) -> Value:
        first = args[0]
        match name:
            case "next":
                return self.element_of(first)
            case "staticmethod" | "classmethod":
                return first
            case "getattr" if len(args) > 1 and args[1].name:
                return self._getattr(first, args[1].name)
            case "type" if len(args) == 1 and (first.cls or first.is_tensor):
                return exactly(Class(first.cls, None if first.cls else "torch.Tensor"))
            case "str" | "repr" | "format":
                return exactly(Scalar("str"))
            case "isinstance" | "hasattr" | "callable" | "issubclass" | "id" | "hash" | "type":
                return exactly(Scalar("bool"))
        return UNKNOWN

    def _length(self, of: Value) -> Value:
        if of.kind is Kind.TENSOR:
            dims = dims_of(of)
            return UNBACKED if of.unbacked else sized(dims[0]) if dims else SIZE
        parts = of.items
        if parts is None or not of.certain:
            return SCALAR
        return exactly(Scalar("int", bool(parts), str(len(parts))))

    def _ask_each(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        """`filter(f, xs)` and `sorted(xs, key=f)` call f with each element."""
        function = args[0] if name == "filter" and args else keywords.get("key")
        listed = args[1:] if name == "filter" else args[:1]
        if function is not None and listed:
            self.apply(function, (self.element_of(listed[0]),))

    def _getattr(self, owner: Value, name: str) -> Value:
        if owner.kind is Kind.UNKNOWN and owner.name:
            return self.engine.dotted(f"{owner.name}.{name}")
        return self.attribute(owner, name, ast.Name("getattr", lineno=0))

    def _pairing_builtin(self, name: str, args: tuple[Value, ...]) -> Value:
        if name == "map":
            given = tuple(self.element_of(a) for a in args[1:])
            element = self.apply(args[0], given) if args and args[0].function else UNKNOWN
            return exactly(Container("list", element))
        parts = tuple(self.element_of(a) for a in args)
        items = (SCALAR, *parts[:1]) if name == "enumerate" else parts
        return exactly(Container("list", exactly(Container("tuple", items=items))))

    def _number_builtin(self, name: str, args: tuple[Value, ...]) -> Value:
        first = args[0] if args else UNKNOWN
        values = [first.element or UNKNOWN] if first.kind is Kind.CONTAINER and name != "len" else list(args)
        if name == "len":
            return self._length(first)
        if name == "bool" and first.kind is Kind.SCALAR:
            return exactly(Scalar("bool", first.truth))
        if name in {"any", "all"}:
            found = next((v for v in values if v.may_be_data), None)
            return SCALAR if found is None else UNBACKED if found.is_data else UNBACKED.doubted()
        if name == "range":
            numbers = any(v.is_data for v in args)
            return exactly(Container("range", SIZE if numbers else SCALAR, unbacked=numbers))
        if any(v.kind is Kind.TENSOR for v in values):
            certain = any(v.is_tensor for v in values)
            whole = UNBACKED if name in {"int", "float", "bool"} else TENSOR
            trail = next(v.trail for v in values if v.kind is Kind.TENSOR)
            return (whole if certain else whole.doubted()).with_trail(trail)
        if found := next((v for v in values if v.kind is Kind.UNBACKED), None):
            return found
        if any(v.kind is Kind.SIZE for v in values):
            return _of_sizes(name, values)
        return SCALAR if all(v.kind in {Kind.SCALAR, Kind.CONFIG} for v in values) else SCALAR.doubted()


def _is_key(key: object) -> bool:
    return isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool))


def _element_of_option(owner: Possibility) -> Value:
    match owner:
        case Tensor():
            return TENSOR
        case Shape():
            return SIZE
        case NumberFromData():  # a row of `.tolist()`
            return UNBACKED
        case Array():
            return exactly(Array(on_self=owner.on_self))
        case Container(container="dict"):
            return SCALAR
        case Container(element=element) | Module(element=element):
            return element or UNKNOWN
    return UNKNOWN


def _with_step(value: Value, text: str, line: int, path: Path) -> Value:
    if value.kind not in {Kind.TENSOR, Kind.UNBACKED} or (value.trail and value.trail[0] == Step(text, line, path)):
        return value
    return value.because(text, line, path)


@lru_cache(maxsize=10_000)
def _constant_value(kind: str, value: object) -> Value:
    """`kind` keeps 1, 1.0 and True apart."""
    if value is None:
        return NONE
    # The text of a small int is kept: `x.shape[0]` and `x.size(0)` ask for it.
    name = str(value) if isinstance(value, int | str) and len(str(value)) < 40 else None  # noqa: PLR2004
    return exactly(Scalar(kind, bool(value), name))


def _path_of(node: ast.expr) -> str | None:
    """`self.a.b` and `batch["x"]` as text, the places whose last assignment a function remembers."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return f"{name}.{attr}"
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            return f"{name}[{key!r}]"
    return None


def is_object(value: Value) -> bool:
    """Certainly not None: a tensor, a function or class, or a question of torch's that every version answers."""
    if value.kind is Kind.TENSOR:
        return value.certain and not value.maybe_none
    return value.kind in {Kind.FUNCTION, Kind.CLASS} or library.is_question(value.name)


def _is_known_number(value: Value) -> bool:
    """A size, a number that was read, or a constant whose text is known."""
    known = value.kind in {Kind.SIZE, Kind.UNBACKED, Kind.SHAPE} or (value.kind is Kind.SCALAR and value.name)
    return bool(known and value.certain)


def _narrowed_name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return f"{name}.{attr}"
        case ast.NamedExpr(target=ast.Name(id=name)):
            return name
    return None


def one_of(element: Value) -> Value:
    """An element at one place, of which it is known only what all of them may be: tensors here, sizes there."""
    return element if len({option.kind for option in element.options}) == 1 else element.doubted()


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _transform_of(name: str, *, given: bool) -> Transform:
    """`given`: the call says more than the function, such as the dims."""
    if not name.endswith("vmap"):
        return Transform.OF_DERIVATIVES
    return Transform.OF_SLICES if given else Transform.OF_ROWS


def _torch_only(func: ast.expr, name: str) -> str | None:
    """The method of a call that only tensors have, on something we know nothing else about."""
    foreign = name.startswith(("torch.", "numpy.", "builtins."))
    return func.attr if isinstance(func, ast.Attribute) and func.attr in library.TORCH_ONLY and not foreign else None


def _of_sizes(name: str, values: list[Value]) -> Value:
    """`int(n)`, `min(n, 8)`, of sizes: the size that it surely is."""
    extents = [extent_of(value) for value in values]
    if name in {"int", "abs"}:
        return values[0]
    if name not in {"min", "max"} or None in extents:
        return SIZE
    sure = [extent for extent in extents if extent is not None]
    for one in sure:
        behind = (less(other, one) if name == "min" else less(one, other) for other in sure)
        if all(answer is False for answer in behind):
            return sized(one)
    return SIZE


_HANDLERS = {
    ast.Constant: "_constant", ast.Name: "_name", ast.Attribute: "_attribute",
    ast.Subscript: "_subscript", ast.BinOp: "_binary", ast.UnaryOp: "_unary",
    ast.Compare: "_compare", ast.BoolOp: "_boolean", ast.IfExp: "_ternary",
    ast.List: "_display", ast.Tuple: "_display", ast.Set: "_display", ast.Dict: "_dict",
    ast.ListComp: "_comprehension", ast.SetComp: "_comprehension",
    ast.GeneratorExp: "_comprehension", ast.DictComp: "_comprehension", ast.Lambda: "_lambda",
    ast.NamedExpr: "_named", ast.JoinedStr: "_text", ast.FormattedValue: "_inner",
    ast.Starred: "_inner", ast.Await: "_inner", ast.Yield: "_yield",
    ast.YieldFrom: "_yield", ast.Call: "called",
}  # fmt: skip
