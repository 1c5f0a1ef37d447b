"""The eager module in the place of a scripted or traced one, and plain Python in the place of TorchScript's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite, Undecorated, argument
from exportlint.rewriting.interface.run_functions import node_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import AnyChange

_LOADS = frozenset({"torch.jit.load", "torch.jit.save"})
_CONTAINERS = {"typing.List": "list", "builtins.list": "list", "typing.Dict": "dict", "builtins.dict": "dict"}
_TWO = 2  # types of a dict


class EagerAgain(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case, node:
            case (("BadScriptedSubmodule" | "BadTracedSubmodule"), cst.Call()) if (
                self.code.name(node.func) not in _LOADS
            ):
                model = argument(node, 0, "obj") or argument(node, 0, "func") or argument(node, 0, "mod")
                if model is not None:
                    yield Rewrite("keep the eager module", (Change(node, self.source(model)),))
            case "BadFork", cst.Call(args=[cst.Arg(value=first), *rest]):
                yield Rewrite("call the function", (Change(node, self._waited(node, first, rest)),))
            case "BadJitIsinstance", cst.Call(args=[cst.Arg(value=value), cst.Arg(value=kind)]):
                if text := self._type_test(self.source(value), kind):
                    yield Rewrite("ask for the container and its elements", (Change(node, text),))
            case "BadScriptModule", cst.Name():
                if changes := tuple(self._plain_module(node)):
                    yield Rewrite("make it a plain module", (*changes, ModuleImport("torch")))

    def _waited(self, node: cst.Call, first: cst.BaseExpression, rest: list[cst.Arg]) -> str:
        """`f(x)` for `fork(f, x)`, and the task itself for `wait(task)`."""
        text = self.source(first)
        if (self.code.name(node.func) or "").rpartition(".")[2].strip("_") == "wait":
            return text
        function = f"({text})" if isinstance(first, cst.Lambda) else text
        return f"{function}({', '.join(self.source(arg).rstrip(', ') for arg in rest)})"

    def _type_test(self, value: str, kind: cst.BaseExpression) -> str | None:
        """`isinstance(x, list) and all(…)` for `isinstance(x, List[Tensor])`."""
        if not isinstance(kind, cst.Subscript):
            return None
        container = _CONTAINERS.get(self.code.name(kind.value) or "")
        parts = [self.source(one.slice.value) for one in kind.slice if isinstance(one.slice, cst.Index)]
        if not all(part.replace(".", "").isidentifier() for part in parts):
            return None
        if container == "list" and len(parts) == 1:
            return f"(isinstance({value}, list) and all(isinstance(item, {parts[0]}) for item in {value}))"
        if container == "dict" and len(parts) == _TWO:
            each = f"isinstance(key, {parts[0]}) and isinstance(item, {parts[1]})"
            return f"(isinstance({value}, dict) and all({each} for key, item in {value}.items()))"
        return None

    def _plain_module(self, name: cst.Name) -> Iterator[AnyChange]:
        above: cst.CSTNode | None = name
        while above is not None and not isinstance(above, cst.ClassDef):
            above = self.code.parent(above)
        if not isinstance(above, cst.ClassDef):
            return
        for base in above.bases:
            if (self.code.name(base.value) or "").rpartition(".")[2] == "ScriptModule":
                yield Change(base.value, "torch.nn.Module")
        for method in above.body.body:
            for one in method.decorators if isinstance(method, cst.FunctionDef) else ():
                found = node_at(self.code, one.decorator, self.code.module.tree)
                if self.code.name(one.decorator) == "torch.jit.script_method" and isinstance(found, ast.expr):
                    yield Undecorated(found)
