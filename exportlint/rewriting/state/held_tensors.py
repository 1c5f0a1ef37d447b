"""Tensors and numbers that a class keeps in a list or dictionary, as one registered buffer each.

A property gives the container, made of the buffers, so what reads it stays as it is.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.rewriting.state.registered import Registered, buffer_line
from exportlint.rule.editing.repair import Elsewhere, InClass, ModuleImport
from exportlint.rule.patterns import CONTAINER_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewriting.state.own_attribute import OwnAttribute
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_PLAIN_KEY = re.compile(r"[A-Za-z]\w*")


@dataclass
class HeldTensors:
    """`self.cache = {"k": torch.zeros(2, 3)}`."""

    code: Code
    own: OwnAttribute

    def changes(self) -> tuple[AnyChange, ...] | None:
        """None where the container is no such display, or grows."""
        definition, value = self.own.definition, self.own.defined
        cls = self.own.cls.node
        if definition is None or value is None or self.own.stores or self._grows():
            return None
        made = self._comprehension(value) or self._display(value)
        items = [self._stored(store) for store in self._item_stores()]
        if made is None or any(one is None for one in items):
            return None
        lines, read = made
        prop = f"@property\ndef {self.own.name}(self):\n    return {read}"
        written = [one for one in items if one is not None]
        return (Elsewhere(definition, "\n".join(lines)), InClass(cls, prop), *written, ModuleImport("torch"))

    def _display(self, value: ast.expr) -> tuple[list[str], str] | None:
        """The lines that register the buffers, and the expression that makes the container of them."""
        pairs = list(_pairs(value))
        texts = [self._first(one) for _, one in pairs]
        if not pairs or any(text is None for text in texts):
            return None
        names = [f"{self.own.name}_{key}" for key, _ in pairs]
        lines = [buffer_line(name, text or "") for name, text in zip(names, texts, strict=True)]
        held = [f"self.{name}" for name in names]
        match value:
            case ast.List():
                return lines, f"[{', '.join(held)}]"
            case ast.Call(func=function):
                words = (f"{key}={one}" for (key, _), one in zip(pairs, held, strict=True))
                return lines, f"{self._source(function)}({', '.join(words)})"
        items = (f'"{key}": {one}' for (key, _), one in zip(pairs, held, strict=True))
        return lines, f"{{{', '.join(items)}}}"

    def _comprehension(self, value: ast.expr) -> tuple[list[str], str] | None:
        """`[torch.zeros(3) for _ in range(n)]`."""
        if not isinstance(value, ast.ListComp) or self._first(value.elt) is None:
            return None
        name = self.own.name
        lines = [
            f"tensors = {self._source(value)}",
            f"self.{name}_count = len(tensors)",
            "for index, tensor in enumerate(tensors):",
            f'    self.register_buffer(f"{name}_{{index}}", tensor, persistent=False)',
        ]
        return lines, f'[getattr(self, f"{name}_{{index}}") for index in range(self.{name}_count)]'

    def _first(self, value: ast.expr) -> str | None:
        return Registered(self.code, self.own).first_value(value) if not isinstance(value, ast.List) else None

    def _item_stores(self) -> Iterator[ast.Assign]:
        """`self.cache["k"] = …`, `self.memory.hidden = …`."""
        for name, methods in self.own.methods.items():
            for node in (one for method in methods if name != "__init__" for one in ast.walk(method)):
                if isinstance(node, ast.Assign) and any(self._is_item(target) for target in node.targets):
                    yield node

    def _is_item(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Subscript | ast.Attribute) and self.own.is_own(target.value)

    def _stored(self, store: ast.Assign) -> Elsewhere | None:
        match store:
            case ast.Assign(targets=[target], value=value) if not isinstance(value, ast.Constant):
                return Elsewhere(store, f"{self._source(target)}.copy_({self._source(value)})")
            case ast.Assign(targets=[target], value=ast.Constant(value=bool() | int() | float()) as value):
                return Elsewhere(store, f"{self._source(target)}.fill_({self._source(value)})")
        return None

    def _grows(self) -> bool:
        nodes = (node for methods in self.own.methods.values() for method in methods for node in ast.walk(method))
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in CONTAINER_METHODS
            and self.own.is_own(node.func.value)
            for node in nodes
        )

    def _source(self, node: ast.AST) -> str:
        return Registered(self.code, self.own).source(node)


def _pairs(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Each key and what is there; nothing where a key is no plain word."""
    match value:
        case ast.Dict(keys=keys, values=values):
            words = [one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else "" for one in keys]
            if all(map(_PLAIN_KEY.fullmatch, words)):
                yield from zip(words, values, strict=True)
        case ast.List(elts=elements):
            yield from ((str(index), one) for index, one in enumerate(elements))
        case ast.Call(
            func=ast.Name(id="SimpleNamespace") | ast.Attribute(attr="SimpleNamespace"), args=[], keywords=words
        ):
            yield from ((one.arg, one.value) for one in words if one.arg)
