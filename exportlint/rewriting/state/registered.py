"""Make a registered buffer of an attribute, which export knows, and write it in place wherever it was replaced."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import Kind
from exportlint.rule.editing.repair import Elsewhere, ModuleImport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rewriting.state.own_attribute import OwnAttribute, Store
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def buffer_line(name: str, value: str) -> str:
    """It is in no state dict, as before; so old checkpoints load as they did."""
    return f'self.register_buffer("{name}", {value}, persistent=False)'


@dataclass
class Registered:
    """The changes that make `self.name` a buffer.

    first   the source of the tensor it begins with, where that is not what `__init__` sets
    flag    the attribute that says whether it was set, of one that begins with None
    kept    statements that stay as they are
    """

    code: Code
    own: OwnAttribute
    first: str | None = None
    flag: str | None = None
    kept: tuple[ast.stmt, ...] = ()

    def changes(self) -> tuple[AnyChange, ...] | None:
        """None where there is no way."""
        definition = self.own.definition
        if isinstance(definition, ast.Expr) and self.first is None:
            return None  # it is a buffer
        first = self.first or self.first_value(self.own.defined)
        stores = [self._written(store) for store in self.own.stores if store not in self.kept]
        if definition is None or first is None or any(one is None for one in stores):
            return None
        lines = [self._line(definition, first)]
        if self.flag:
            lines.append(buffer_line(self.flag, "torch.tensor(False)"))
        written = [change for one in stores for change in one or ()]
        return (
            Elsewhere(definition, "\n".join(lines)),
            *written,
            *self._kept_apart(),
            *self._as_index(),
            ModuleImport("torch"),
        )

    def _line(self, definition: ast.stmt, first: str) -> str:
        """One that registers it already, with the words that it has."""
        match definition:
            case ast.Expr(value=ast.Call(args=[_, value, *_])):
                return self.source(definition).replace(self.source(value), first, 1)
        return buffer_line(self.own.name, first)

    def first_value(self, node: ast.expr | None) -> str | None:
        """The tensor that holds what the attribute begins with."""
        match node:
            case ast.Constant(value=bool() | int() | float()) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return self._number(self.source(node))
            case ast.List(elts=elements) if elements and all(map(_is_number, elements)):
                return f"torch.tensor({self.source(node)})"
            case ast.Name(id=name) if type(number := _default(self.own.cls, name)) in {int, float}:
                return f"torch.tensor({name}{'' if isinstance(number, int) else ', dtype=torch.float64'})"
            case ast.Call(func=function) if _makes_tensor(self.code, function):
                return self.source(node)
        return None

    def _number(self, text: str) -> str:
        """As precise as Python's numbers; where tensors flow in, of their usual type."""
        values = [store.value for store in self.own.stores if store.value is not None]
        believed = [self.code.sketch.value(one) for one in values]
        tensors = [one for one in believed if one.kind is Kind.TENSOR]
        if text in {"True", "False"}:
            return f"torch.tensor({text})"
        if tensors:
            dims = next((found for one in tensors if (found := sizes(one)) is not None), ())
            return f"torch.full({dims!r}, {float(text)})" if dims else f"torch.tensor({float(text)})"
        if text.lstrip("-").isdigit() and not any(map(_has_fraction, values)):
            return f"torch.tensor({text})"
        return f"torch.tensor({float(text)}, dtype=torch.float64)"

    def _written(self, store: Store) -> tuple[AnyChange, ...] | None:
        """The store as a write in place; None where there is no way."""
        match store:
            case ast.AugAssign():
                return ()
            case ast.AnnAssign(value=value) | ast.Assign(targets=[ast.Attribute()], value=value):
                return self._replaced(store, value)
            case ast.Assign(targets=[ast.Tuple(elts=elements)]):
                return self._taken_out(store, elements)
            case ast.Assign(
                targets=[ast.Name(id=other), ast.Attribute()] | [ast.Attribute(), ast.Name(id=other)], value=value
            ):
                text = f"{other} = {self.source(value)}\n{self._write(other)}"
                return (Elsewhere(store, text),)
        return None

    def _replaced(self, store: Store, value: ast.expr | None) -> tuple[AnyChange, ...] | None:
        match value:
            case ast.Constant(value=None) if self.flag or self.first:
                text = f"self.{self.flag}.fill_(False)" if self.flag else f"self.{self.own.name}.copy_({self.first})"
                return (Elsewhere(store, text),)
            case None | ast.Constant(value=None):
                return None
            case ast.Constant():
                return (Elsewhere(store, f"self.{self.own.name}.fill_({self.source(value)})"),)
            case ast.UnaryOp(op=ast.Not(), operand=flag) if self.own.is_own(flag):
                return (Elsewhere(store, f"self.{self.own.name}.logical_not_()"),)
        if not self._is_run(store):
            return () if self._starts_as_tensor() else (Elsewhere(store, self._filled(value)),)
        believed = self.code.sketch.value(value)
        counts = believed.kind in {Kind.SIZE, Kind.SCALAR} and not self.own.mentions(value)
        return (Elsewhere(store, self._filled(value) if counts else self._write(self.source(value))),)

    def _taken_out(self, store: Store, elements: Iterable[ast.expr]) -> tuple[AnyChange, ...] | None:
        """`out, self.h = …` by a new name."""
        target = next(one for one in elements if self.own.is_own(one))
        name = f"new_{self.own.name.lstrip('_')}"
        if name in self.code.sketch.bound or not isinstance(store, ast.Assign):
            return None
        text, whole = self.source(target), self.source(store)
        return (Elsewhere(store, f"{whole.replace(text, name, 1)}\n{self._write(name)}"),)

    def _write(self, value: str) -> str:
        flag = f"\nself.{self.flag}.fill_(True)" if self.flag else ""
        return f"self.{self.own.name}.copy_({value}){flag}"

    def _filled(self, value: ast.expr) -> str:
        return f"self.{self.own.name}.fill_({self.source(value)})"

    def _starts_as_tensor(self) -> bool:
        return isinstance(self.own.defined, ast.Call)

    def _is_run(self, store: Store) -> bool:
        return any(store in ast.walk(method) for method in self.own.run)

    def _kept_apart(self) -> Iterator[AnyChange]:
        """What is given a name, or returned, before a write must not change with it."""
        for method in self.own.run:
            for node in ast.walk(method):
                match node:
                    case ast.Assign(targets=[ast.Name()], value=value) | ast.Return(value=ast.expr() as value):
                        parts = value.elts if isinstance(value, ast.Tuple) else [value]
                        yield from (
                            Elsewhere(one, f"{self.source(one)}.clone()") for one in parts if self.own.is_own(one)
                        )

    def _as_index(self) -> Iterator[AnyChange]:
        """`self.queue[self.at] = x`: a tensor of one index, for which torch asks no tensor for its number."""
        for method in self.own.run:
            for node in ast.walk(method):
                if isinstance(node, ast.Subscript) and self.own.is_own(node.slice):
                    index = f"{self.source(node.slice)}.view(1)"
                    read = f"{self.source(node.value)}[{index}].squeeze(0)"
                    yield Elsewhere(node, read) if isinstance(node.ctx, ast.Load) else Elsewhere(node.slice, index)

    def source(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.own.module.parsed.text, node) or ast.unparse(node)


def sizes(value: object) -> tuple[int, ...] | None:
    """The sizes of a tensor of the engine, where all are numbers."""
    dims = getattr(getattr(value, "lead", None), "dims", None)
    numbers = [one.number if one is not None else None for one in dims] if dims is not None else [None]
    return tuple(one for one in numbers if one is not None) if None not in numbers else None


def _default(cls: ClassInfo, name: str) -> object:
    """Of an argument of `__init__`, where it is a constant."""
    init = cls.methods.get("__init__")
    given = init.node.args if init else None
    if given is None or not given.defaults:
        return None
    places = given.args[-len(given.defaults) :]
    values = [value for arg, value in zip(places, given.defaults, strict=True) if arg.arg == name]
    return values[0].value if values and isinstance(values[0], ast.Constant) else None


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _has_fraction(node: ast.expr) -> bool:
    return any(
        (isinstance(one, ast.Constant) and isinstance(one.value, float)) or isinstance(one, ast.Div)
        for one in ast.walk(node)
    )


def _makes_tensor(code: Code, function: ast.expr) -> bool:
    """`torch.zeros(3)`, `torch.randn(2, 3).abs()`."""
    while isinstance(function, ast.Attribute | ast.Call) and not (
        isinstance(function, ast.Attribute) and code.module.dotted(function)
    ):
        function = function.value if isinstance(function, ast.Attribute) else function.func
    name = code.module.dotted(function) or ""
    return name.startswith("torch.") and not name.startswith(
        ("torch.nn.", "torch.device", "torch.Generator", "torch.cuda")
    )
