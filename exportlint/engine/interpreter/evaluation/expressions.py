"""Evaluate expressions, given what the names in them are. One method for each kind of expression."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from exportlint.engine.interpreter.evaluation.attributes import AttributeExpressions
from exportlint.engine.interpreter.evaluation.calls import CallExpressions
from exportlint.engine.interpreter.evaluation.indexing import IndexExpressions, one_of
from exportlint.engine.interpreter.evaluation.narrowing import is_object
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.engine.values import operators
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
    ConfigObject,
    Container,
    Function,
    Instance,
    Module,
    NumberFromData,
    Scalar,
    Shape,
    Tensor,
    Unknown,
    Value,
    exactly,
)
from exportlint.engine.values.dims.needs import extent_of
from exportlint.engine.values.joining import join
from exportlint.engine.values.kinds import Kind, Source, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.engine.values.abstract_value import Possibility


_DISPLAYS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


class Expressions(AttributeExpressions, CallExpressions, IndexExpressions):
    """Evaluates expressions of one function in one context; `env` holds the names, `engine` the project's memory."""

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
        return _of_constant(type(node.value).__name__, node.value)

    def _name(self, node: ast.Name) -> Value:
        known = self.env.names.get(node.id)
        if known is None:
            known = self.env.function.closure.get(node.id)
        return known if known is not None else self.engine.module_level(self.env.module, node.id)

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        written = self.env.names.get(_path(node) or "")
        if written is not None:
            return written
        return self.attribute(owner, node.attr, node)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner, index = self.value(node.value), self.value(node.slice)
        if (written := self.env.names.get(_path(node) or "")) is not None:
            return written
        found = operators.each(owner, lambda option: self._part_of(option, node, index))
        return found.with_trail(owner.trail) if owner.may_be_data and not found.trail else found

    def _part_of(self, owner: Possibility, node: ast.Subscript, index: Value) -> Value:
        match owner:
            case Tensor():
                return self.index_tensor(owner, node.slice, index)
            case Shape():
                return self.index_shape(owner, node.slice, index)
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
        """Operands after one that settles the matter do not run."""
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
        whole = operators.joined(values) or UNKNOWN
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
        return exactly(Container(_DISPLAYS[type(node)], operators.joined(spread), items))

    def _dict(self, node: ast.Dict) -> Value:
        for key in node.keys:
            if key is not None:
                self.value(key)
        values = [self.value(v) for v in node.values]
        pairs = zip(node.keys, values, strict=True)
        fields = tuple((str(k.value), v) for k, v in pairs if isinstance(k, ast.Constant) and _is_key(k.value))
        return exactly(Container("dict", operators.joined(values), fields=fields))

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

    def _formatted(self, node: ast.FormattedValue) -> Value:
        return self.value(node.value)

    def _starred(self, node: ast.Starred) -> Value:
        return self.value(node.value)

    def _await(self, node: ast.Await) -> Value:
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
                self.env.names[name] = _with_step(new, f"`{name}`", target.lineno)
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
        if path := _path(target):
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
        found = operators.each(value, self._element_of)
        return found.with_trail(value.trail) if value.may_be_data and found.may_be_data else found

    def _element_of(self, owner: Possibility) -> Value:
        match owner:
            case Instance(cls=cls) | Module(cls=cls) if cls and (method := cls.method("__iter__")):
                return _element(self.engine.invoke(method, exactly(owner), (), {}).lead)
            case Instance(cls=cls) if cls and (held := exactly(owner).field(LISTED)) is not None:
                return held
        return _element(owner)


def _is_key(key: object) -> bool:
    return isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool))


def _element(owner: Possibility) -> Value:
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


def _with_step(value: Value, text: str, line: int) -> Value:
    if value.kind not in {Kind.TENSOR, Kind.UNBACKED} or (value.trail and value.trail[0] == Step(text, line)):
        return value
    return value.because(text, line)


@lru_cache(maxsize=10_000)
def _of_constant(kind: str, value: object) -> Value:
    """`kind` keeps 1, 1.0 and True apart."""
    if value is None:
        return NONE
    # The text of a small int is kept: `x.shape[0]` and `x.size(0)` ask for it.
    name = str(value) if isinstance(value, int | str) and len(str(value)) < 40 else None  # noqa: PLR2004
    return exactly(Scalar(kind, bool(value), name))


def _path(node: ast.expr) -> str | None:
    """`self.a.b` and `batch["x"]` as text, the places whose last assignment a function remembers."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return f"{name}.{attr}"
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            return f"{name}[{key!r}]"
    return None


_HANDLERS = {
    ast.Constant: "_constant", ast.Name: "_name", ast.Attribute: "_attribute",
    ast.Subscript: "_subscript", ast.BinOp: "_binary", ast.UnaryOp: "_unary",
    ast.Compare: "_compare", ast.BoolOp: "_boolean", ast.IfExp: "_ternary",
    ast.List: "_display", ast.Tuple: "_display", ast.Set: "_display", ast.Dict: "_dict",
    ast.ListComp: "_comprehension", ast.SetComp: "_comprehension",
    ast.GeneratorExp: "_comprehension", ast.DictComp: "_comprehension", ast.Lambda: "_lambda",
    ast.NamedExpr: "_named", ast.JoinedStr: "_text", ast.FormattedValue: "_formatted",
    ast.Starred: "_starred", ast.Await: "_await", ast.Yield: "_yield",
    ast.YieldFrom: "_yield", ast.Call: "called",
}  # fmt: skip
