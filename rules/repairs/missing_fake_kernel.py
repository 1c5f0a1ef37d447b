"""A fake kernel below the operator: what it computes, where torch computes it, or a tensor like the first one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Beside, ModuleImport, Repair, Rewrite, Where, text_argument
from exportlint.rewriting.interface.run_functions import node_at

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIKE = "register a fake kernel that gives a tensor like the first one"
_SAME = "register a fake kernel that computes the same"
_READS = frozenset({"numpy", "item", "tolist", "data_ptr", "cpu", "from_numpy", "synchronize"})
_TENSOR = re.compile(r"(\w*\.)*Tensor")


class FakeKernel(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if not isinstance(node, cst.Call):
            return
        if case == "BadCustomOp":
            function = self._decorated(node)
            if function is not None:
                yield from self._of_function(function)
        else:
            yield from self._of_schema(node)

    def _decorated(self, node: cst.Call) -> ast.FunctionDef | None:
        place = node_at(self.code, node, self.code.module.tree)
        functions = (one for one in ast.walk(self.code.module.tree) if isinstance(one, ast.FunctionDef))
        return next((one for one in functions if place in one.decorator_list), None)

    def _of_function(self, function: ast.FunctionDef) -> Iterator[Rewrite]:
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        head = f"\n\n@{function.name}.register_fake\ndef _({_signature(function)}):\n"
        match [one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]:
            case [ast.Return(value=ast.expr() as value)] if not _reads(value):
                text = ast.get_source_segment(self.code.module.parsed.text, value) or ast.unparse(value)
                yield Rewrite(_SAME, (Beside(function, f"{head}    return {text}", Where.AFTER),))
        tensors = [one.arg for one in arguments if one.annotation and _TENSOR.fullmatch(ast.unparse(one.annotation))]
        if tensors and function.returns and _TENSOR.fullmatch(ast.unparse(function.returns)):
            text = f"{head}    return torch.empty_like({tensors[0]})"
            yield Rewrite(_LIKE, (Beside(function, text, Where.AFTER), ModuleImport("torch")))

    def _of_schema(self, node: cst.Call) -> Iterator[Rewrite]:
        op = f"{text_argument(node) or ''}{text_argument(node, 1) or ''}"
        found = re.fullmatch(r"\s*([\w:]+)(?:\.\w+)?\s*\((.*)\)\s*->\s*Tensor\s*", op, re.DOTALL)
        name = self._whole_name(node, found[1]) if found else None
        place = node_at(self.code, node, self.code.module.tree)
        line = next(
            (one for one in self.code.module.tree.body if isinstance(one, ast.Expr) and one.value is place), None
        )
        if not found or name is None or line is None:
            return
        names = [one.split("=")[0].split()[-1] for one in found[2].split(",") if one.strip() not in ("", "*")]
        tensors = [one.split()[-1] for one in found[2].split(",") if re.match(r"\s*Tensor(\(\w+!?\))?\s+\w+", one)]
        if tensors:
            head = f'\n\n@torch.library.register_fake("{name}")\ndef _({", ".join(names)}):\n'
            text = f"{head}    return torch.empty_like({tensors[0]})\n"
            yield Rewrite(_LIKE, (Beside(line, text, Where.AFTER), ModuleImport("torch")))

    def _whole_name(self, node: cst.Call, op: str) -> str | None:
        """With the namespace of the library that it is defined in."""
        if "::" in op:
            return op
        owner = (
            node.func.value.value
            if isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name)
            else ""
        )
        match self.code.module.assignments.get(owner):
            case ast.Call(args=[ast.Constant(value=str() as namespace), *_]):
                return f"{namespace}::{op}"
        return None


def _signature(function: ast.FunctionDef) -> str:
    arguments = ast.parse(f"def f({ast.unparse(function.args)}): ...").body[0]
    assert isinstance(arguments, ast.FunctionDef)  # noqa: S101 - it is what was written
    for one in ast.walk(arguments.args):
        if isinstance(one, ast.arg):
            one.annotation = None
    return ast.unparse(arguments.args)


def _reads(node: ast.expr) -> bool:
    """Does it look at values, or use something that is not torch's?"""
    names = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    roots = {one.func.id for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
    modules = {
        one.func.value.id
        for one in ast.walk(node)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and isinstance(one.func.value, ast.Name)
    }
    return bool(names & _READS) or bool(roots) or bool(modules & {"np", "numpy", "math", "scipy", "ctypes"})
