"""The same tensor is given twice as a sample.

Why: the exporter tells inputs apart by the tensor objects of the sample. The same object in two places becomes one
input: the program reads the first place for both and ignores the second, in both modes and without a word. A clone, or
even a view, is another object.

Instead: a tensor for every input.

    torch.export.export(model, (x, x.clone()))        # instead of (x, x)
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, ScriptRule, Severity, argument, walked

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLONE = "give every input a tensor of its own, for instance `{name}.clone()`"
_MESSAGE = "the tensor `{name}` stands in two places of the sample; the program ignores one of them"
# Names under which samples are kept for exporters that other files run.
_SAMPLES = re.compile(r"(get_|make_|example_|sample_|dummy_)(inputs?|args|kwargs|arguments)")


class SameSampleTwice(ScriptRule):
    mended_by = ("interface",)
    words = r"torch\.export|from torch import .*\bexport\b|example_args\b|example_inputs\b|get_inputs\b|sample_inputs\b"
    shown_by = ("own-inputs",)
    cases: ClassVar = {
        "BadTwice": Case(_MESSAGE, _CLONE),
        "BadAnotherName": Case(_MESSAGE, _CLONE),
        "BadKeywords": Case(
            "the tensor `{name}` is given by place and by keyword; the program ignores one of them", _CLONE
        ),
        "BadRepeated": Case("`{name}` repeats the same tensors; the program ignores all but the first", _CLONE),
        "BadInList": Case(_MESSAGE, _CLONE),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a model exported, or a sample kept in which a tensor may stand twice?"""
        return super().concerns(code) or any(map(_may_repeat, _kept_samples(code)))

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._functions: list[str] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        super().visit_FunctionDef(node)
        self._functions.append(node.name.value)

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        super().leave_FunctionDef(original_node)
        self._functions.pop()

    def visit_Call(self, node: cst.Call) -> None:
        if self.exported(node) is not None:
            args = argument(node, 1, "args")
            kwargs = argument(node, 2, "kwargs")
            self._sample(node, [self.bound(given) for given in (args, kwargs) if given is not None])

    def visit_Return(self, node: cst.Return) -> None:
        if node.value is not None and self._functions and _SAMPLES.fullmatch(self._functions[-1]):
            self._sample(node.value, [node.value])

    def visit_Assign(self, node: cst.Assign) -> None:
        names = [target.target.value for target in node.targets if isinstance(target.target, cst.Name)]
        if len(self._scopes) == 1 and any(map(_SAMPLES.fullmatch, names)):
            self._sample(node.value, [node.value])

    def _sample(self, place: cst.CSTNode, given: list[cst.CSTNode]) -> None:
        repeated = _repeated(given[0]) if given else None
        if repeated is not None and any(map(self._is_tensor, _leaves(repeated))):
            self.report(place, "BadRepeated", name=self.code.text(given[0]))
            return
        seen: dict[int, int] = {}
        for i, whole in enumerate(given):
            for leaf in _leaves(whole):
                known = self.bound(leaf)
                if isinstance(leaf, cst.Name) and self._is_tensor(leaf) and id(known) in seen:
                    case = "BadKeywords" if seen[id(known)] != i else "BadTwice"
                    self.report(place, case, at_most=self._trust(known), name=leaf.value)
                    return
                seen[id(known)] = i

    def _is_tensor(self, leaf: cst.CSTNode) -> bool:
        """A call gives a tensor as far as samples go; numbers, strings and None may stand twice."""
        known = self.bound(leaf)
        return isinstance(known, cst.Call) and not (self.code.name(known.func) or "").startswith("builtins.")

    def _trust(self, known: cst.CSTNode) -> Severity:
        name = (self.code.name(known.func) or "") if isinstance(known, cst.Call) else ""
        return Severity.ERROR if name.startswith("torch.") else Severity.WARNING


def _kept_samples(code: Code) -> Iterator[ast.expr]:
    functions = list(code.sketch.nodes(ast.FunctionDef))
    for node in functions:
        if _SAMPLES.fullmatch(node.name):
            yield from (part.value for part in walked(node) if isinstance(part, ast.Return) and part.value)
    for assign in code.sketch.nodes(ast.Assign):
        named = any(isinstance(target, ast.Name) and _SAMPLES.fullmatch(target.id) for target in assign.targets)
        if named and not any(node.lineno <= assign.lineno <= (node.end_lineno or 0) for node in functions):
            yield assign.value


def _may_repeat(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=ast.Tuple() | ast.List(), op=ast.Mult()):
            return True
        case ast.Tuple() | ast.List() | ast.Dict():
            return sum(isinstance(part, ast.Name) for part in walked(node)) > 1
    return False


def _repeated(node: cst.CSTNode) -> cst.BaseExpression | None:
    """`(x,)` for `(x,) * 2`."""
    match node:
        case cst.BinaryOperation(left=cst.Tuple() | cst.List() as left, operator=cst.Multiply()):
            return left
    return None


def _leaves(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match node:
        case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Dict(elements=elements):
            for element in elements:
                if isinstance(element, cst.Element | cst.DictElement):
                    yield from _leaves(element.value)
        case _:
            yield node
