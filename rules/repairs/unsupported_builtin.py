"""A tensor is copied by `clone()`, a container by its own type, and what only manages Python goes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, InInit, Kind, Repair, Rewrite
from exportlint.rewriting.source.assigned_names import every
from exportlint.rewriting.source.left_out import left_out
from exportlint.rewriting.source.left_statements import without_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Value

_COPIES = frozenset({"BadDeepcopy", "BadCopy", "BadCopyList"})
_ORDERS = frozenset({"BadSortedPairs", "BadSortedInPlace", "BadLargestPair"})
_LEFT_OUT = frozenset({"BadCollect", "BadSystem", "BadSubprocess"})
_ATOMS = (cst.Name, cst.Attribute, cst.Subscript, cst.Call)
_CONTAINERS = frozenset({"list", "dict", "set", "tuple"})


class PlainPython(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match node:
            case cst.Call(args=[cst.Arg(value=given), *_]) if case in _COPIES:
                if text := self._copied(given, self.code.value(given)):
                    yield Rewrite("copy it by its own method", (Change(node, text),))
            case cst.Call(args=[cst.Arg(value=given), *_]) if case == "BadDeepcopyModule":
                yield Rewrite("use the module itself", (Change(node, self.source(given)),))
            case cst.Call() if case == "BadPickle":
                yield from self._round_trip(node)
            case cst.Call() if case in _ORDERS:
                arguments = [self.source(arg).rstrip(", ") for arg in node.args]
                text = f"{self.source(node.func)}({', '.join([*arguments, 'key=lambda pair: pair[0]'])})"
                yield Rewrite("say what decides", (Change(node, text),))
            case cst.Call() if case in _LEFT_OUT and (rewrite := left_out(self.code, node)) is not None:
                yield rewrite
            case cst.Call() if case == "BadLoad":
                yield from self._loaded_before(node)
            case cst.BaseExpression() if case == "BadLock" and (change := without_with(self.code, node)) is not None:
                yield Rewrite("leave locking to the caller", (change,))
            case cst.Call() if case == "BadPool":
                yield from self._in_this_thread(node)

    def _copied(self, node: cst.BaseExpression, value: Value) -> str | None:
        text = self.source(node)
        inner = text if isinstance(node, _ATOMS) else f"({text})"
        holds_tensors = value.element is not None and value.element.is_tensor
        if value.is_tensor or value.kind is Kind.UNKNOWN:
            return f"{inner}.clone()"
        if value.container == "list" and holds_tensors and self._is_deep(node):
            return f"[item.clone() for item in {text}]"
        if value.container == "dict" and holds_tensors and self._is_deep(node):
            return f"{{key: item.clone() for key, item in {inner}.items()}}"
        return f"{value.container}({text})" if value.container in _CONTAINERS and not self._is_deep(node) else None

    def _is_deep(self, node: cst.BaseExpression) -> bool:
        call = self.code.parent(self.code.parent(node) or node)
        return isinstance(call, cst.Call) and (self.code.name(call.func) or "").endswith("deepcopy")

    def _round_trip(self, node: cst.Call) -> Iterator[Rewrite]:
        """`x.clone()` for `pickle.loads(pickle.dumps(x))`."""
        above = self.code.parent(self.code.parent(node) or node)
        outer = above if isinstance(above, cst.Call) else node
        match outer:
            case cst.Call(args=[cst.Arg(value=cst.Call(args=[cst.Arg(value=given)]) as inner)]) if (
                self._last(outer) == "loads" and self._last(inner) == "dumps" and self.code.value(given).is_tensor
            ):
                text = self.source(given)
                clone = f"{text}.clone()" if isinstance(given, _ATOMS) else f"({text}).clone()"
                yield Rewrite("clone the tensor", (Change(outer, clone),))

    def _loaded_before(self, node: cst.Call) -> Iterator[Rewrite]:
        """Once in `__init__`, where it can be said there what is loaded."""
        names = {one.value for one in every(node) if isinstance(one, cst.Name)}
        if self.code.cls is not None and names.isdisjoint(self.code.sketch.bound - {"self"}):
            taken = {one.attr for one in ast.walk(self.code.cls.node) if isinstance(one, ast.Attribute)}
            name = next(
                one for one in ("loaded", "loaded_tensors", "loaded_in_init", "_loaded_in_init") if one not in taken
            )
            changes = (InInit(f"self.{name} = {self.source(node)}"), Change(node, f"self.{name}"))
            yield Rewrite("load it once, in `__init__`", changes)

    def _last(self, call: cst.Call) -> str:
        return (self.code.name(call.func) or "").rpartition(".")[2]

    def _in_this_thread(self, node: cst.Call) -> Iterator[Rewrite]:
        """`map(f, xs)` for `pool.map(f, xs)` in `with ThreadPoolExecutor() as pool:`."""
        item = self.code.parent(node)
        name = item.asname.name if isinstance(item, cst.WithItem) and item.asname else None
        change = without_with(self.code, node)
        if change is None or not isinstance(name, cst.Name):
            return
        text = change.text.replace(f"{name.value}.map(", "map(")
        if f"{name.value}." not in text:
            yield Rewrite("compute in this thread", (Change(change.node, text),))
