"""What `torch._check` has said of numbers before: a test that follows from it is decided, and torch takes it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.values.abstract_value import Value
    from exportlint.rule.code import Code


_SIZE = re.compile(r"\.size\((-?\d+)\)")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`NAME op number`, whichever side the number stands on."""

    left: cst.BaseExpression
    operator: type[cst.BaseCompOp]
    number: float


@dataclass
class CheckedNumbers:
    """The numbers of one function that `torch._check` bounds, by their source and by what the engine knows of them.

    >>> from exportlint.testing import code_of
    >>> checked = CheckedNumbers(code_of("", None))
    >>> checked.add(cst.parse_expression("n >= 3"))
    >>> [checked.decide(cst.parse_expression(text)) for text in ("n >= 3", "n > 1", "n == 2", "n >= 4", "m > 1")]
    [True, True, True, False, False]
    """

    code: Code
    _bounds: dict[str, tuple[Value, float, float]] = field(default_factory=dict)
    _never: set[tuple[str, float]] = field(default_factory=set)

    def see(self, statement: cst.Expr) -> None:
        """Learn from a statement, if it is a check."""
        match statement.value:
            case cst.Call(func=func, args=[cst.Arg(value=test), *others]):
                name = self.code.name(func)
                if name == "torch._check":
                    self.add(test)
                elif name in {"torch._check_is_size", "torch._constrain_as_size"}:
                    self._narrow(Comparison(test, cst.GreaterThanEqual, 0))
                    for bound in others:
                        self._bound(test, bound)

    def _bound(self, size: cst.BaseExpression, bound: cst.Arg) -> None:
        """`min=2` or `max=8` of the old check."""
        name = bound.keyword.value if bound.keyword else ""
        number = _number(bound.value)
        if name in ("min", "max") and number is not None:
            operator = cst.GreaterThanEqual if name == "min" else cst.LessThanEqual
            self._narrow(Comparison(size, operator, number))

    def add(self, test: cst.BaseExpression) -> None:
        """What holds from here on."""
        for comparison in _comparisons(test):
            self._narrow(comparison)

    def _narrow(self, one: Comparison) -> None:
        key = self._key(one.left)
        value, low, high = self._bounds.get(key, (self._value(one), -math.inf, math.inf))
        if one.operator in (cst.GreaterThanEqual, cst.GreaterThan, cst.Equal):
            low = max(low, one.number + (one.operator is cst.GreaterThan))
        if one.operator in (cst.LessThanEqual, cst.LessThan, cst.Equal):
            high = min(high, one.number - (one.operator is cst.LessThan))
        if one.operator is cst.NotEqual:
            self._never.add((key, one.number))
        self._bounds[key] = value, low, high

    def decide(self, test: cst.BaseExpression) -> bool:
        """Does what was checked say whether the test holds?"""
        found = list(_comparisons(test))
        return len(found) == 1 and self._decides(found[0])

    def _decides(self, one: Comparison) -> bool:
        key = self._key(one.left)
        if key not in self._bounds or self._bounds[key][0] != self._value(one):
            return False  # nothing was checked, or the name stands for something else by now
        _, low, high = self._bounds[key]
        match one.operator():
            case cst.GreaterThanEqual():
                return low >= one.number or high < one.number
            case cst.GreaterThan():
                return low > one.number or high <= one.number
            case cst.LessThanEqual():
                return high <= one.number or low > one.number
            case cst.LessThan():
                return high < one.number or low >= one.number
        return (key, one.number) in self._never or not low <= one.number <= high or low == high

    def _value(self, one: Comparison) -> Value:
        """What the name at the left end stands for: `kept` of `kept.shape[0]`."""
        node = one.left
        while not isinstance(node, cst.Name):
            match node:
                case cst.Attribute(value=inner) | cst.Subscript(value=inner) | cst.Call(func=inner):
                    node = inner
                case _:
                    break
        return self.code.value(node)

    def _key(self, node: cst.BaseExpression) -> str:
        return _SIZE.sub(r".shape[\1]", cst.Module([]).code_for_node(node)).replace(" ", "")


def _comparisons(test: cst.BaseExpression) -> Iterator[Comparison]:
    """Of a test that holds all that `and` joins."""
    match test:
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            yield from _comparisons(left)
            yield from _comparisons(right)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
            kind = type(operator)
            if kind in _mirrored() and (number := _number(right)) is not None:
                yield Comparison(left, kind, number)
            elif kind in _mirrored() and (number := _number(left)) is not None:
                yield Comparison(right, _mirrored()[kind], number)


@cache
def _mirrored() -> dict[type[cst.BaseCompOp], type[cst.BaseCompOp]]:
    """What each comparison is from its other side; made on first use, since libcst takes long to import."""
    return {
        cst.LessThan: cst.GreaterThan,
        cst.GreaterThan: cst.LessThan,
        cst.LessThanEqual: cst.GreaterThanEqual,
        cst.GreaterThanEqual: cst.LessThanEqual,
        cst.Equal: cst.Equal,
        cst.NotEqual: cst.NotEqual,
    }


def _number(node: cst.BaseExpression) -> float | None:
    match node:
        case cst.Integer() | cst.Float():
            return float(node.evaluated_value)
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() | cst.Float() as inner):
            return -float(inner.evaluated_value)
    return None
