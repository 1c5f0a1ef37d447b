"""The model returns a number, a word or a flag beside its tensors, and a target of deployment returns tensors only.

Why: an exported program keeps plain Python values among its outputs. The graph of ONNX has no place for them.

Instead: return tensors alone. What does not depend on the inputs, the caller knows.

No repair: what the model returns is its interface, and its callers have to change with it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Instead, Kind, Rule, Severity, walked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Code, Parsed

_ALONE = Instead(
    "return tensors alone: what does not depend on the inputs, the caller knows", shown_in="GoodTensorsAlone"
)
_CASES = {"int": "BadNumber", "float": "BadNumber", "bool": "BadFlag", "str": "BadText"}


class PlainOutputNotLowered(Rule):
    words = r"\breturn\b"
    lowerings = ("executorch", "onnxruntime")
    cases: ClassVar = {
        "BadNumber": Case("`{code}` returns a Python number", _ALONE),
        "BadText": Case("`{code}` returns a text", _ALONE),
        "BadFlag": Case("`{code}` returns a flag", _ALONE),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Does a forward return something plain, of a module that no other module of the file holds?"""
        if code.function is None or code.function.name != "forward" or code.cls is None:
            return False
        returned = (part for node in code.sketch.nodes(ast.Return) for part in _beside_others(node.value))
        plain = (part for part in returned if code.sketch.value(part).kind is Kind.SCALAR)
        return any(plain) and not _is_part(code)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return node.name.value == "forward"

    def visit_Return(self, node: cst.Return) -> None:
        at_most = Severity.ERROR if self.code.sampled else Severity.WARNING
        for case in dict.fromkeys(self._cases(node)):
            self.report(node, case, at_most=at_most)

    def _cases(self, node: cst.Return) -> Iterator[str]:
        for value in map(self.code.value, _items(node.value)):
            if value.kind is Kind.SCALAR and value.certain and value.container in _CASES:
                yield _CASES[value.container]


def _items(node: cst.BaseExpression | None) -> Iterator[cst.BaseExpression]:
    """What stands beside other values; a number that is returned alone is no model's output."""
    if isinstance(node, cst.Tuple | cst.List | cst.Dict):
        for element in node.elements:
            yield element.value
            yield from _items(element.value)


def _beside_others(node: ast.expr | None) -> Iterator[ast.expr]:
    """As `_items`, of the sketch."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield part
                yield from _beside_others(part)


def _is_part(code: Code) -> bool:
    """Does another class of the file make one?"""
    own = code.cls.name if code.cls else ""
    return bool(code.module.parsed.kept(code.module.tree, _makers).get(own, set()) - {own})


def _makers(_file: Parsed, tree: ast.AST) -> dict[str, set[str]]:
    """By the names that are called, the classes that call them."""
    found: dict[str, set[str]] = {}
    for cls in (node for node in walked(tree) if isinstance(node, ast.ClassDef)):
        for node in walked(cls):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found.setdefault(node.func.id, set()).add(cls.name)
    return found
