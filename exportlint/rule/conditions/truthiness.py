"""Where Python asks an expression for its truth: tests, `and`/`or`/`not`, `bool()`, chained comparisons."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.base import Rule
from exportlint.rule.conditions.checked_numbers import CheckedNumbers
from exportlint.rule.sketch import asked_for_truth

if TYPE_CHECKING:
    from exportlint.engine.values.abstract_value import Value
    from exportlint.rule.code import Code


# ruff: noqa: N802 - libcst names its visitors visit_If


# Tests that usually keep an exported program from what they guard: those that are False there, those that are True
# there (torch.jit's are not), and those of a dtype, which Python decides.
_FALSE = re.compile(r"(?P<negated>\bnot\s+)?[\w.]*\b(training|_?debug|validat\w*|requires_grad)\b")
_TRUE = re.compile(r"(?P<negated>\bnot\s+)?(?!torch\.jit)\b(?:\w+\.)*is_(tracing|\w*compiling|exporting)\b")
_DTYPE = re.compile(r"\bdtype\b")
_OF_A_SIZE = re.compile(r"\.(shape|size|numel|nelement)\b|\blen\(")


@dataclass(frozen=True, slots=True)
class Before:
    """A test that comes first: what it guards is reached only where it is `holds`."""

    node: cst.BaseExpression
    holds: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """An expression whose truth decides. `form` is what asks: if, while, assert, ternary, not, and, or …

    An `if` that does nothing but raise has the form raise, a part of an assertion's test the form assert-part, and the
    test of one whose message is computed the form assert-message: Dynamo keeps checks that say a constant text.

    `before` are the operands of `and` and `or` that are asked first and may settle the matter.

    >>> import libcst as cst
    >>> Asked(cst.parse_expression("x.sum() > 0"), "if").before
    ()
    """

    node: cst.BaseExpression
    form: str
    before: tuple[Before, ...] = ()


class TruthRule(Rule):
    """A rule that judges truth values: `asked` is called once for each expression that is asked.

    >>> from exportlint.testing import code_of
    >>> class Tests(TruthRule):
    ...     def asked(self, asked):
    ...         print(asked.form, self.code.text(asked.node), self.guarded(asked))
    >>> code = code_of('''
    ... from torch import nn
    ... class Net(nn.Module):
    ...     def forward(self, x):
    ...         if self.training and x.sum() > 0:
    ...             x = -x
    ...         return x if x.any() else x * 2
    ... ''', "forward")
    >>> code.sweep(Tests(code))
    if self.training False
    if x.sum() > 0 True
    ternary x.any() False
    """

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is any data asked for its truth?"""
        return any(code.sketch.value(node).may_be_data for node in asked_for_truth(code.sketch))

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self.checked = CheckedNumbers(code)
        self._covered: set[cst.CSTNode] = set()
        self._outer_tests: list[Before] = []

    def asked(self, asked: Asked) -> None:
        """Judge one expression."""
        raise NotImplementedError

    def guarded(self, asked: Asked) -> bool:
        """Does a test of `training`, a dtype or the tracer stand before it?"""
        return any(_guards(self.code.text(test.node), holds=test.holds) for test in (*asked.before, *self._outer_tests))

    def visit_Expr(self, node: cst.Expr) -> None:
        if not self._outer_tests:  # a check in a branch says nothing behind it
            self.checked.see(node)

    def visit_If(self, node: cst.If) -> None:
        self._ask(node.test, "raise" if node.orelse is None and _only_raises(node.body) else "if")

    def visit_If_body(self, node: cst.If) -> None:
        self._outer_tests.append(Before(node.test, holds=True))

    def leave_If_body(self, node: cst.If) -> None:  # noqa: ARG002 - libcst's signature
        self._outer_tests.pop()

    def visit_If_orelse(self, node: cst.If) -> None:
        self._outer_tests.append(Before(node.test, holds=False))

    def leave_If_orelse(self, node: cst.If) -> None:  # noqa: ARG002 - libcst's signature
        self._outer_tests.pop()

    def visit_While(self, node: cst.While) -> None:
        self._ask(node.test, "while")

    def visit_IfExp(self, node: cst.IfExp) -> None:
        self._ask(node.test, "ternary")

    def visit_Assert(self, node: cst.Assert) -> None:
        self._ask(node.test, "assert" if _is_constant_text(node.msg) else "assert-message")

    def visit_CompIf(self, node: cst.CompIf) -> None:
        self._ask(node.test, "comprehension")

    def visit_MatchCase(self, node: cst.MatchCase) -> None:
        if node.guard is not None:
            self._ask(node.guard, "guard")

    def visit_UnaryOperation(self, node: cst.UnaryOperation) -> None:
        if isinstance(node.operator, cst.Not) and node not in self._covered:
            self._ask(node.expression, "not")

    def visit_BooleanOperation(self, node: cst.BooleanOperation) -> None:
        """Outside of a test only the last operand goes unasked."""
        if node not in self._covered:
            self._covered.add(node)
            form = "and" if isinstance(node.operator, cst.And) else "or"
            self._ask(node.left, form)

    def visit_Comparison(self, node: cst.Comparison) -> None:
        if len(node.comparisons) > 1 and node not in self._covered:
            self.asked(Asked(node, "chained"))

    def _ask(self, node: cst.BaseExpression, form: str, before: tuple[Before, ...] = ()) -> None:
        self._covered.add(node)
        match node:
            case cst.BooleanOperation(left=left, right=right, operator=operator):
                part = _part(form)
                self._ask(left, part, before)
                self._ask(right, part, (*before, Before(left, holds=isinstance(operator, cst.And))))
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                self._ask(inner, _part(form), before)
            case cst.Call(args=[cst.Arg(value=inner)]) if self.code.name(node.func) == "builtins.bool":
                self._ask(inner, form, before)
            case cst.NamedExpr(value=inner) if isinstance(inner, cst.BooleanOperation):
                self._ask(inner, form, before)
            case _:
                self.asked(Asked(node, form, before))

    def covered(self, node: cst.CSTNode) -> bool:
        """Was the node taken apart as part of a test?"""
        return node in self._covered


def _part(form: str) -> str:
    """What asks for a part of a test of this form. Torch keeps an assertion of one plain test only."""
    return "assert-part" if form.startswith("assert") else form


def _is_constant_text(message: cst.BaseExpression | None) -> bool:
    match message:
        case cst.ConcatenatedString(left=left, right=right):
            return _is_constant_text(left) and _is_constant_text(right)
    return message is None or isinstance(message, cst.SimpleString)


def _only_raises(body: cst.BaseSuite) -> bool:
    match body:
        case cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Raise()])]):
            return True
        case cst.SimpleStatementSuite(body=[cst.Raise()]):
            return True
    return False


def _guards(text: str, *, holds: bool) -> bool:
    """Does an exported program usually not come where this test holds, or where it does not?"""
    if _DTYPE.search(text):
        return True
    if found := _FALSE.search(text):
        return bool(found["negated"]) is not holds
    found = _TRUE.search(text)
    return bool(found) and bool(found and found["negated"]) is holds


def of_a_size(code: Code, node: cst.CSTNode, value: Value) -> bool:
    """Does a number that depends on data come from the size of something, rather than from `.item()`?

    >>> import libcst as cst
    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... from torch import nn
    ... class Net(nn.Module):
    ...     def forward(self, x):
    ...         return x[x > 0].numel()
    ... ''', "forward")
    >>> class Returned(cst.CSTVisitor):
    ...     def visit_Return(self, node):
    ...         print(of_a_size(code, node.value, code.value(node.value)))
    >>> code.sweep(Returned())
    True
    """
    return any(_OF_A_SIZE.search(text) for text in (code.text(node), *(step.text for step in value.trail)))
