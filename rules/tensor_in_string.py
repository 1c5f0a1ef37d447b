"""Text is made from a tensor's value.

Why: while it is traced a tensor has no value to show. In non-strict mode the text says `FakeTensor(..., size=())` or
`u0`, and torch keeps it without a word: a program that returns the text, compares it or looks something up by it
differs from eager. A format spec (`{x:.2f}`) is refused, and strict mode refuses nearly all such text. Shapes, dtypes
and configuration are Python and fine, and so is the message of an error that is not raised.

Instead: return the tensor and make the text outside of the model; decide with `torch.where` on the value itself.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Instead, Kind, Rule, called

if TYPE_CHECKING:
    from exportlint import Code, Value

_OUTSIDE = Instead(
    "return the tensor and make the text outside, or decide on the value with `torch.where`", shown_in="GoodLabelTensor"
)
_TEXT = "`{code}` makes text of a tensor's value"
_MAKES_TEXT = frozenset({"str", "ascii", "repr", "format", "chr"})
# Text that goes there decides nothing; that it is lost is another rule's business.
_SINKS = frozenset({"print", "warn", "warn_explicit", "debug", "info", "warning", "error", "critical", "exception"})
_SINKS |= frozenset(
    {"log", "warning_once", "write", "_check", "_assert", "_assert_async", "_check_value", "_check_index"}
)
_SINKS |= frozenset({"add_scalar", "set_postfix", "set_description", "record_function", "annotate", "_check_is_size"})


class TensorInString(Rule):
    mended_by = (
        "printed-by-program",
        "effect-operator",
        "python-numbers",
        "decide-in-data",
        "loop-in-data",
        "numbers-stay-tensors",
        "number-operator",
    )
    graph_breaks = ("GB0569", "GB0190", "GB7968")
    torch_says = (
        r"unsupported format string passed to (FakeTensor|Sym)",
        r"repr\(\) on tensor",
        r"StringFormatVariable",
    )
    cases: ClassVar = {
        "BadFString": Case(_TEXT, _OUTSIDE),
        "BadFormat": Case(_TEXT, _OUTSIDE),
        "BadStr": Case(_TEXT, _OUTSIDE),
        "BadRepr": Case(_TEXT, _OUTSIDE),
        "BadPercent": Case(_TEXT, _OUTSIDE),
        "BadFormatMethod": Case(_TEXT, _OUTSIDE),
        "BadFormatBuiltin": Case(_TEXT, _OUTSIDE),
        "BadStrItem": Case("`{code}` makes text of a number that was read from a tensor", _OUTSIDE),
        "BadFStringItem": Case("`{code}` makes text of a number that was read from a tensor", _OUTSIDE),
        "BadFStringItemSpec": Case("`{code}` makes text of a number that was read from a tensor", _OUTSIDE),
        "BadListString": Case("`{code}` makes text of a list of tensors", _OUTSIDE),
        "BadChr": Case("`{code}` makes a character of a tensor's value", _OUTSIDE),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is text made of data?"""
        sketch = code.sketch
        shown = [arg for call in sketch.calls if call.method in _MAKES_TEXT for arg in call.arguments]
        shown += (node.value for node in sketch.nodes(ast.FormattedValue))
        filled = (node.right for node in sketch.nodes(ast.BinOp) if isinstance(node.op, ast.Mod) and _is_text_of(node))
        shown += (part for node in filled for part in (node, *getattr(node, "elts", ())))
        return sketch.holds_data(shown)

    def visit_Raise(self, node: cst.Raise) -> bool:
        return False

    def visit_Assert(self, node: cst.Assert) -> bool:
        node.test.visit(self)
        return False

    def visit_Expr(self, node: cst.Expr) -> bool:
        """A text that is a statement of its own goes nowhere."""
        return not isinstance(node.value, cst.FormattedString | cst.BinaryOperation)

    def visit_Call(self, node: cst.Call) -> bool:
        if called(node) in _SINKS:
            return False
        name = self.code.name(node.func) or ""
        if node.args:
            value = self.code.value(node.args[0].value)
            match name:
                case "builtins.str" | "builtins.ascii":
                    self._shown(node, value, "BadStr", "BadStrItem")
                case "builtins.repr":
                    self._shown(node, value, "BadRepr", "BadStrItem")
                case "builtins.format":
                    self._shown(node, value, "BadFormatBuiltin", "BadFStringItemSpec")
                case "builtins.chr":
                    self._shown(node, value, "BadChr", "BadChr")
        if called(node) == "format" and isinstance(node.func, cst.Attribute) and _is_text(node.func.value):
            self._first(node, [arg.value for arg in node.args], "BadFormatMethod", "BadFStringItem")
        return True

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                value = self.code.value(part.expression)
                spec = bool(part.format_spec)
                cases = ("BadFormat", "BadFStringItemSpec") if spec else ("BadFString", "BadFStringItem")
                if self._shown(node, value, *cases):
                    return

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        if isinstance(node.operator, cst.Modulo) and _is_text(node.left):
            right = node.right
            shown = [part.value for part in right.elements] if isinstance(right, cst.Tuple) else [right]
            self._first(node, shown, "BadPercent", "BadFStringItem")

    def _first(self, node: cst.CSTNode, shown: list[cst.BaseExpression], tensor: str, number: str) -> None:
        for part in shown:
            if self._shown(node, self.code.value(part), tensor, number):
                return

    def _shown(self, node: cst.CSTNode, value: Value, tensor: str, number: str) -> bool:
        if value.is_tensor:
            self.report(node, tensor, because=value)
        elif value.is_unbacked:
            self.report(node, number, because=value)
        elif value.kind is Kind.CONTAINER and value.element is not None and value.element.is_data:
            self.report(node, "BadListString", because=value)
        else:
            return False
        return True


def _is_text(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.SimpleString | cst.ConcatenatedString | cst.FormattedString)


def _is_text_of(node: ast.BinOp) -> bool:
    """`"loss %s" % loss`."""
    left = node.left
    return isinstance(left, ast.JoinedStr) or (isinstance(left, ast.Constant) and isinstance(left.value, str))
