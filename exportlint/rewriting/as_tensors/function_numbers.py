"""Keep in tensors all numbers that a function reads from them: nothing is read, and what is computed stays a tensor."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from exportlint.rewriting.as_tensors.number_tensors import NumbersAsTensors
from exportlint.rule.editing.repair import Elsewhere, ModuleImport, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


# These take tensors of one number where they take Python's.
_TAKING = frozenset({
    "abs", "add", "ceil", "clamp", "clip", "cos", "div", "exp", "floor", "log", "log1p", "log2", "lerp", "maximum",
    "minimum", "mul", "pow", "relu", "round", "rsqrt", "sigmoid", "sin", "sqrt", "sub", "tanh", "where",
})  # fmt: skip


def function_numbers(code: Code) -> Iterator[Rewrite]:
    """Nothing where a number goes where tensors do not, such as into a size, or is not read at all."""
    function = code.function.node if code.function else None
    if not isinstance(function, ast.FunctionDef):
        return
    in_tensors = _InTensors(code, function)
    changes = []
    for part in _parts(function):
        new = in_tensors.visit(copy.deepcopy(part))
        if ast.dump(new) != ast.dump(part):
            changes.append(Elsewhere(part, ast.unparse(ast.fix_missing_locations(new))))
    if changes and not in_tensors.refused:
        yield Rewrite("keep its numbers in tensors", (*changes, ModuleImport("torch")))


def _parts(function: ast.FunctionDef) -> Iterator[ast.stmt | ast.expr]:
    """The statements that hold no others, and the tests of those that do."""
    for one in ast.walk(function):
        if isinstance(one, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr):
            yield one
        elif isinstance(one, ast.If | ast.While | ast.Assert):
            yield one.test


class _InTensors(NumbersAsTensors):
    def __init__(self, code: Code, function: ast.FunctionDef) -> None:
        value = code.sketch.value
        names = {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and value(one).is_unbacked}
        super().__init__(frozenset(names))
        self._code = code

    def _asks(self, node: ast.AST) -> bool:
        return super()._asks(node) or any(self._is_read(one) for one in ast.walk(node))

    def _is_read(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="item"), args=[]):
                return self._code.sketch.value(owner).is_data
            case ast.Call(func=ast.Name(id="float" | "int"), args=[owner], keywords=[]):
                return self._code.sketch.value(owner).is_tensor
        return getattr(node, "was_read", False)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="item"), args=[]) if self._is_read(node):
                return self._read(owner)
            case ast.Call(func=ast.Name(id="float"), args=[owner], keywords=[]) if self._asks(node):
                return self._read(owner)
            case ast.Call(func=ast.Name(id="int"), args=[owner], keywords=[]) if self._asks(node):
                inner = self._read(owner)
                rounded = isinstance(inner, ast.Call) and ast.unparse(inner.func) == "torch.round"
                return inner if rounded else self._marked(_torch_call("trunc", inner))
            case ast.Call(func=ast.Name(id="round"), args=[owner], keywords=[]) if self._asks(node):
                return self._marked(_torch_call("round", self._read(owner)))
            case ast.Call(func=ast.Attribute(attr=name)) if name in _TAKING and not _is_math(node):
                self.generic_visit(node)
                return node
            case _ if self._asks(node) and _makes_bool(node):
                self.generic_visit(node)
                return node
        return super().visit_Call(node)

    def _read(self, owner: ast.expr) -> ast.expr:
        """A tensor as precise as Python's number, and without a gradient as that."""
        if not self._code.sketch.value(owner).is_tensor:
            return self._marked(self.visit(owner))
        read = ast.Call(ast.Attribute(self.visit(owner), "detach", ast.Load()), [], [])
        return self._marked(ast.Call(ast.Attribute(read, "double", ast.Load()), [], []))

    def _marked(self, node: ast.expr) -> ast.expr:
        node.was_read = True  # type: ignore[attr-defined]  # what was read is asked for further up
        return node


def _is_math(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "math"


def _makes_bool(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in {"any", "all"}


def _torch_call(name: str, given: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load()), [given], [])
