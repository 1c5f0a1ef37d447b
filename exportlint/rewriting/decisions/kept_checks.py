"""Write an `assert`, or an `if` that only raises, so that what it asks of data is checked while the program runs."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.decisions.size_tests import size_test
from exportlint.rewriting.decisions.tensor_test import tensor_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.rule.code import Code


def checked_at_run_time(code: Code, node: cst.Assert | cst.If) -> str | None:
    """The statements that take its place; None where it does more than to check, or asks nothing of a tensor.

    What Python can decide stays Python's, in the same order. Uses `torch` by that name.
    """
    lines = _asserted(code, node) if isinstance(node, cst.Assert) else _raising(code, node)
    text = "\n".join(lines or ())
    return text if "torch._assert_async(" in text else None


def _asserted(code: Code, node: cst.Assert) -> Sequence[str] | None:
    said = f", {code.source_of(node.msg)}" if node.msg is not None else ""
    message = code.source_of(node.msg) if isinstance(node.msg, cst.SimpleString) else repr(code.source_of(node.test))
    return _Checks(code, message, "assert {test}" + said).that(node.test, holds=True)


def _raising(code: Code, node: cst.If) -> Sequence[str] | None:
    raised = _raised(node)
    if raised is None:
        return None
    text = cst.Module([]).code_for_node(raised)
    lines = _Checks(code, _message(code, raised), "if {test}:\n    " + text).that(node.test, holds=False)
    above = code.parent(node)
    return ["else:", *_indented(lines)] if lines and isinstance(above, cst.If) and above.orelse is node else lines


def _raised(node: cst.If) -> cst.Raise | None:
    """What an `if` raises that does nothing else."""
    match node:
        case cst.If(body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Raise() as raised])]), orelse=None):
            return raised
        case cst.If(body=cst.SimpleStatementSuite(body=[cst.Raise() as raised]), orelse=None):
            return raised
    return None


def _message(code: Code, raised: cst.Raise) -> str:
    """The literal text that is raised, the fields of an f-string as they are written."""
    match raised.exc:
        case cst.Call(args=[cst.Arg(value=cst.SimpleString(value=text)), *_]):
            return text
        case cst.Call(args=[cst.Arg(value=cst.FormattedString() as formatted), *_]):
            text = re.sub(r"^[fF]|(?<=^[rR])[fF]", "", code.source_of(formatted))
            if _is_literal(text):
                return text
    return "'out of range'"


def _is_literal(text: str) -> bool:
    try:
        return isinstance(ast.literal_eval(text), str)
    except (SyntaxError, ValueError):
        return False


@dataclass(frozen=True, slots=True)
class _Checks:
    """`python`: how a test is checked that Python can decide."""

    code: Code
    message: str
    python: str

    def that(self, test: cst.BaseExpression, *, holds: bool) -> list[str] | None:
        """Statements that check that the test holds, or that it does not."""
        if self._is_python(test):
            asked = self.code.source_of(test)
            negated = holds is self.python.startswith("if")
            return self.python.replace("{test}", f"not ({asked})" if negated else asked).split("\n")
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.that(test.expression, holds=not holds)
        if (text := tensor_test(self.code, test)) is not None:
            return [f"torch._assert_async({text if holds else f'torch.logical_not({text})'}, {self.message})"]
        match test:
            case cst.BooleanOperation(left=left, operator=operator, right=right):
                needs_both = isinstance(operator, cst.And) is holds
                return self._both(left, right, holds) if needs_both else self._unless(left, right, holds)
        return None

    def _both(self, left: cst.BaseExpression, right: cst.BaseExpression, holds: bool) -> list[str] | None:
        first, second = self.that(left, holds=holds), self.that(right, holds=holds)
        return [*first, *second] if first and second else None

    def _unless(self, left: cst.BaseExpression, right: cst.BaseExpression, holds: bool) -> list[str] | None:
        """The second is asked only where the first, which Python can decide, leaves it open."""
        second = self.that(right, holds=holds)
        if second is None or not self._is_python(left):
            return None
        text = self.code.source_of(left)
        return [f"if not ({text}):" if holds else f"if {text}:", *_indented(second)]

    def _is_python(self, test: cst.BaseExpression) -> bool:
        """Is no part of it data?"""
        match test:
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                return self._is_python(inner)
            case cst.BooleanOperation(left=left, right=right):
                return self._is_python(left) and self._is_python(right)
        if self.code.value(test).may_be_data:
            return False
        return tensor_test(self.code, test) is None or size_test(self.code, test) is not None


def _indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]
