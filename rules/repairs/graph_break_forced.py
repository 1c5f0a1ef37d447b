"""What tells the compiler to stay away goes: the decorator, the wrapper, the statement or the `with`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, Elsewhere, FunctionInfo, Repair, Rewrite, Undecorated
from exportlint.rewriting.source.left_statements import without_statement, without_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import AnyChange

_DISABLE = frozenset(
    {"torch.compiler.disable", "torch._dynamo.disable", "torch._dynamo.eval_frame.disable", "torch._disable_dynamo"}
)
_STATEMENTS = frozenset({"BadGraphBreak", "BadMarkDynamic", "BadReset"})


class LeftToTheCompiler(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        changes = tuple(self._changes(node, case))
        if changes:
            yield Rewrite("let the exporter follow it", changes)

    def _changes(self, node: cst.CSTNode, case: str) -> Iterator[AnyChange]:
        match node:
            case cst.Decorator() if self.code.function is not None:
                yield from self._undecorated(self.code.function)
            case cst.Call() if case in _STATEMENTS:
                yield from filter(None, [without_statement(self.code, node)])
            case cst.Call() if case == "BadStance":
                yield from filter(None, [without_with(self.code, node), without_statement(self.code, node)][:1])
            case cst.Call(args=[cst.Arg(value=inner), *_]) if case == "BadDisabledInPlace":
                text = self.source(inner)
                yield Change(node, f"({text})" if isinstance(inner, cst.Lambda) else text)
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))) if case == "BadDisabledAttribute":
                yield from self._unwrapped(name)
            case cst.Call() if (known := self.code.value(node.func).function) is not None:
                yield from self._undecorated(known)

    def _undecorated(self, function: FunctionInfo) -> Iterator[Undecorated]:
        if function.module is self.code.module:
            for one in getattr(function.node, "decorator_list", ()):
                if self._disables(one.func if isinstance(one, ast.Call) else one):
                    yield Undecorated(one)

    def _disables(self, node: ast.expr) -> bool:
        """`torch.compiler.disable`, or a function of the file that gives such a thing."""
        name = self.code.module.dotted(node) or ""
        if name.startswith("torch."):
            return name in _DISABLE
        own = self.code.module.functions.get(name.rpartition(".")[2])
        returned = (one.value for one in ast.walk(own.node) if isinstance(one, ast.Return)) if own else ()
        return any(isinstance(value, ast.Call) and self._disables(value.func) for value in returned)

    def _unwrapped(self, name: str) -> Iterator[Elsewhere]:
        """`self.act = torch.tanh` for `self.act = torch.compiler.disable(torch.tanh)`."""
        for one in ast.walk(self.code.cls.node) if self.code.cls and self.code.cls.module is self.code.module else ():
            match one:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=attr)],
                    value=ast.Call(args=[inner, *_]) as call,
                ):
                    if attr == name and self._disables(call.func):
                        text = ast.get_source_segment(self.code.module.parsed.text, inner)
                        yield Elsewhere(call, text or ast.unparse(inner))
