"""Evaluate expressions, given what the names in them are. One method for each kind of expression."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from exportlint.engine.interpreter.calls import CallExpressions
from exportlint.engine.interpreter.narrowing import is_object
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.engine.values import library, operators
from exportlint.engine.values.abstract_value import (
    NONE,
    SCALAR,
    SIZE,
    TENSOR,
    UNBACKED,
    UNKNOWN,
    Kind,
    Source,
    Step,
    Value,
    join,
)

if TYPE_CHECKING:
    from collections.abc import Callable


_DISPLAYS = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}


class Expressions(CallExpressions):
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

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        """`owner.name`."""
        match owner.kind:
            case Kind.TENSOR:
                return self._of_tensor(owner, name)
            case Kind.MODULE | Kind.INSTANCE:
                return self._of_object(owner, name, node)
            case Kind.CLASS if owner.cls:
                method = owner.cls.method(name)
                return Value(Kind.FUNCTION, function=method, name=name) if method else UNKNOWN
            case Kind.CONFIG:
                return Value(Kind.CONFIG, name=name, on_self=owner.on_self)
            case Kind.SHAPE | Kind.CONTAINER:
                return Value(Kind.FUNCTION, owner=owner, name=name)
        dotted = self.env.module.dotted(node) if owner.name else None
        if dotted:
            return self.engine.dotted(dotted)
        return Value(Kind.UNKNOWN, name=f"{owner.name}.{name}" if owner.name else None, on_self=owner.on_self)

    def _of_tensor(self, owner: Value, name: str) -> Value:
        if name == "shape":
            return library.shape_of(owner)
        if name in library.SCALAR_ATTRIBUTES:
            return SCALAR
        if name in {"data", "T", "mT", "H", "mH", "real", "imag", "grad"}:
            return replace(owner, certain=owner.certain and name != "grad", maybe_none=name == "grad")
        return Value(Kind.FUNCTION, owner=owner, name=name)

    def _of_object(self, owner: Value, name: str, node: ast.expr) -> Value:
        if (field := owner.field(name)) is not None:
            return field
        if name == "training":
            return replace(SCALAR, container="bool", truth=False)  # export wants eval mode; train mode has its own rule
        if owner.cls is None:
            return self._of_foreign(owner, name)
        if name == "__class__":
            return Value(Kind.CLASS, cls=owner.cls)
        if method := owner.cls.method(name):
            if "builtins.property" in method.decorators or any(
                d.endswith("cached_property") for d in method.decorators
            ):
                return self.engine.invoke(method, owner, (), {})
            return Value(Kind.FUNCTION, function=method, owner=owner, name=name)
        found = self.engine.attributes(owner.cls).get(name)
        if found is None and owner.kind is Kind.MODULE and name in library.REGISTERED:
            return Value(Kind.FUNCTION, owner=owner, name=name)
        if found is None:
            return Value(Kind.UNKNOWN, on_self=True)
        found = replace(found, on_self=True)
        return (
            found.because(f"`self.{name}`" if _is_self(node) else f"`.{name}`", node.lineno)
            if found.kind is Kind.TENSOR
            else found
        )

    def _of_foreign(self, owner: Value, name: str) -> Value:
        """An attribute of a torch layer or of an instance of a library's class."""
        if owner.kind is Kind.MODULE and name in {"weight", "bias", "running_mean", "running_var"}:
            return Value(Kind.TENSOR, Source.PARAMETER, on_self=True, maybe_none=name == "bias")
        if owner.kind is Kind.MODULE and name not in {"forward", "__call__"}:
            return Value(Kind.FUNCTION, owner=owner, name=name)
        if (owner.name or "").startswith("torch.distributions."):
            return Value(Kind.FUNCTION, owner=owner, name=name)
        return Value(Kind.UNKNOWN, owner=owner, name=name)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner, index = self.value(node.value), self.value(node.slice)
        if (written := self.env.names.get(_path(node) or "")) is not None:
            return written
        match owner.kind:
            case Kind.TENSOR:
                return self._index_tensor(owner, node.slice, index)
            case Kind.SHAPE:
                return self._index_shape(owner, node.slice)
            case Kind.UNKNOWN if index.is_tensor and index.boolean:
                return replace(TENSOR, unbacked=True)
            case Kind.CONTAINER | Kind.MODULE | Kind.UNKNOWN:
                return self._item(owner, node.slice)
        return UNKNOWN if owner.kind is not Kind.CONFIG else owner

    def _index_tensor(self, owner: Value, node: ast.expr, index: Value) -> Value:
        parts = [self.value(p) for p in node.elts] if isinstance(node, ast.Tuple) else [index]
        masked = any(p.kind is Kind.TENSOR and p.boolean and p.certain for p in parts)
        rows = any(p.kind is Kind.TENSOR and p.unbacked for p in parts)
        kept = owner.unbacked and not any(p.kind is Kind.SCALAR for p in parts[:1])
        bounded = isinstance(node, ast.Slice) and any(
            b is not None and self.value(b).is_unbacked for b in (node.lower, node.upper)
        )
        view = owner.source is not Source.INPUT and not masked
        return replace(
            owner,
            unbacked=masked or rows or kept or bounded,
            source=owner.source if view else Source.COMPUTED,
            on_self=owner.on_self and view,
        )

    def _index_shape(self, owner: Value, node: ast.expr) -> Value:
        if isinstance(node, ast.Slice):
            return replace(owner, unbacked=owner.unbacked and node.lower is None)
        first = isinstance(node, ast.Constant) and node.value == 0
        return (
            UNBACKED.because(f"`{ast.unparse(node)}` of `.shape[…]`", node.lineno) if owner.unbacked and first else SIZE
        )

    def _item(self, owner: Value, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, int) and owner.items and -len(owner.items) <= node.value < len(owner.items):
                return owner.items[node.value]
            if isinstance(node.value, str) and (field := owner.field(node.value)) is not None:
                return field
        if isinstance(node, ast.Slice):
            return replace(owner, items=None)
        return (
            replace(owner.element, on_self=owner.on_self)
            if owner.element
            else Value(Kind.UNKNOWN, on_self=owner.on_self)
        )

    def _binary(self, node: ast.BinOp) -> Value:
        return operators.combine(self.value(node.left), self.value(node.right), node.op)

    def _unary(self, node: ast.UnaryOp) -> Value:
        inner = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(node.operand)
            return replace(SCALAR, container="bool", truth=None if truth is None else not truth)
        return replace(inner, truth=None, name=None) if inner.kind is not Kind.CONFIG else UNKNOWN

    def _compare(self, node: ast.Compare) -> Value:
        values = [self.value(node.left), *map(self.value, node.comparators)]
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return replace(SCALAR, container="bool", truth=self.truth_of_test(node))
        return operators.compare(values)

    def _boolean(self, node: ast.BoolOp) -> Value:
        """Operands after one that settles the matter do not run."""
        stop = isinstance(node.op, ast.Or)
        values: list[Value] = []
        for i, operand in enumerate(node.values):
            values.append(self.value(operand))
            if self.truth(operand) is stop:
                self.env.mark_unreachable(node.values[i + 1 :])
                break
        if stop and is_object(values[0]) and values[0].kind is not Kind.TENSOR:
            return values[0]
        settled = self.truth_of_parts(node)
        whole = operators.joined(values) or UNKNOWN
        return replace(whole, truth=settled) if whole.kind is Kind.SCALAR else whole

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
        return Value(
            Kind.CONTAINER, container=_DISPLAYS[type(node)], element=operators.joined(spread),
            items=None if starred or isinstance(node, ast.Set) else values,
        )  # fmt: skip

    def _dict(self, node: ast.Dict) -> Value:
        for key in node.keys:
            if key is not None:
                self.value(key)
        values = [self.value(v) for v in node.values]
        pairs = zip(node.keys, values, strict=True)
        fields = tuple((k.value, v) for k, v in pairs if isinstance(k, ast.Constant) and isinstance(k.value, str))
        return Value(Kind.CONTAINER, container="dict", element=operators.joined(values), fields=fields)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        with self.env.branch():
            for generator in node.generators:
                self.assign(generator.target, self.element_of(self.value(generator.iter)))
                for test in generator.ifs:
                    self.value(test)
                    self.narrow(test, True)
            if isinstance(node, ast.DictComp):
                self.value(node.key)
                return Value(Kind.CONTAINER, container="dict", element=self.value(node.value))
            name = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
            return Value(Kind.CONTAINER, container=name, element=self.value(node.elt))

    def _lambda(self, node: ast.Lambda) -> Value:
        closure = {**self.env.function.closure, **self.env.names}
        return Value(
            Kind.FUNCTION, function=FunctionInfo("<lambda>", node, self.env.module, self.env.function.cls, closure)
        )

    def _named(self, node: ast.NamedExpr) -> Value:
        found = self.value(node.value)
        self.assign(node.target, found)
        return found

    def _text(self, node: ast.JoinedStr) -> Value:
        self._children(node)
        return replace(SCALAR, container="str")

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
                self.assign(inner, Value(Kind.CONTAINER, container="list", element=self.element_of(new)))
            case ast.Attribute(value=owner) | ast.Subscript(value=owner):
                self._assign_place(target, owner, new)

    def _unpack(self, parts: list[ast.expr], new: Value) -> None:
        exact = new.items if new.items and len(new.items) == len(parts) else None
        for i, part in enumerate(parts):
            if new.kind is Kind.SHAPE:
                item = UNBACKED if new.unbacked and i == 0 else SIZE
            else:
                item = exact[i] if exact else self.element_of(new)
            self.assign(part, item)

    def _assign_place(self, target: ast.Attribute | ast.Subscript, owner: ast.expr, new: Value) -> None:
        self.value(owner)
        if isinstance(target, ast.Subscript):
            self.value(target.slice)
        before = self._attribute(target) if isinstance(target, ast.Attribute) else self._subscript(target)
        self.env.believe(target, before)
        if path := _path(target):
            self.env.names[path] = replace(new, on_self=True) if path.startswith("self.") else new

    def element_of(self, value: Value) -> Value:
        """What iterating gives."""
        match value.kind:
            case Kind.TENSOR:
                return replace(TENSOR, certain=value.certain, trail=value.trail)
            case Kind.SHAPE:
                return SIZE
            case Kind.UNBACKED:  # a row of `.tolist()`
                return value
            case Kind.CONTAINER if value.container == "dict":
                return SCALAR
            case Kind.CONTAINER | Kind.MODULE:
                return value.element or UNKNOWN
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
    return replace(SCALAR, container=kind, truth=bool(value), name=name)


def _path(node: ast.expr) -> str | None:
    """`self.a.b` and `batch["x"]` as text, the places whose last assignment a function remembers."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return f"{name}.{attr}"
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            return f"{name}[{key!r}]"
    return None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


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
