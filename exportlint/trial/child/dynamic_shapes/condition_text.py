"""Write a condition on sizes as people do: "height/4 must be at least 2"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_RELATIONS = {
    "Eq": "must be",
    "Ne": "must not be",
    "Lt": "must be less than",
    "StrictLessThan": "must be less than",
    "Le": "must be at most",
    "LessThan": "must be at most",
    "Gt": "must be more than",
    "StrictGreaterThan": "must be more than",
    "Ge": "must be at least",
    "GreaterThan": "must be at least",
    "Equality": "must be",
    "Unequality": "must not be",
}
_LONG = 160
_QUOTIENTS = frozenset({"FloorDiv", "CleanDiv", "IntTrueDiv"})
_TIMES = " × "
_REMAINDERS = frozenset({"Mod", "PythonMod"})


def sentence(expr: Any, called: Mapping[Any, str]) -> str:
    """The condition with the names of the dims."""
    text = _statement(expr, called)
    if len(text) > _LONG:
        concerned = [name for root, name in called.items() if root in expr.free_symbols]
        return f"something must hold of {' and '.join(concerned)} that is too long to say"
    return f"{text} (quotients are rounded down)" if _divides(expr) else text


def _divides(expr: Any) -> bool:
    return any(type(part).__name__ == "FloorDiv" for part in sympy.preorder_traversal(expr))


def _statement(expr: Any, called: Mapping[Any, str]) -> str:
    if isinstance(expr, (sympy.And, sympy.Or)):
        word = " and " if isinstance(expr, sympy.And) else " or "
        return word.join(_statement(part, called) for part in expr.args)
    if isinstance(expr, sympy.Not):
        return f"it must not hold that {_statement(expr.args[0], called)}"
    relation = _RELATIONS.get(type(expr).__name__)
    if relation is None:
        return written(expr, called)
    left, right = expr.args
    if left.is_number and not right.is_number:
        expr = expr.reversed
        (left, right), relation = expr.args, _RELATIONS[type(expr).__name__]
    if type(left).__name__ in _REMAINDERS and right == 0 and isinstance(expr, (sympy.Eq, sympy.Ne)):
        what, number = (written(part, called, 1) for part in left.args)
        return f"{what} {relation} a multiple of {number}"
    return f"{written(left, called)} {relation} {written(right, called)}"


def written(expr: Any, called: Mapping[Any, str], inside: int = 0) -> str:
    """A size that is computed from others.

    inside   0 stands alone, 1 in a sum or a comparison, 2 in a product, 3 in a quotient
    """
    if expr.is_Symbol:
        return called.get(expr, str(expr))
    if expr.is_Add:
        return _bracketed(_sum(expr, called), inside > 1)
    if expr.is_Mul:
        return _bracketed(_product(expr, called), inside > 2)  # noqa: PLR2004 - see above
    name = type(expr).__name__
    if name in _QUOTIENTS:
        top, bottom = expr.args
        return f"{written(top, called, 3)}/{written(bottom, called, 3)}"
    if name in _REMAINDERS:
        what, number = (written(part, called, 2) for part in expr.args)
        return _bracketed(f"{what} mod {number}", inside > 0)
    if name in {"Max", "Min"}:
        return f"{name.lower()}({', '.join(written(part, called) for part in expr.args)})"
    return str(expr.xreplace({root: sympy.Symbol(text) for root, text in called.items()}))


def _sum(expr: Any, called: Mapping[Any, str]) -> str:
    """Names first, numbers last, as torch's own order is of no use to a reader."""
    first = _order(called)
    parts = sorted(expr.args, key=lambda part: (part.is_number, _is_negative(part), first(part)))
    text = written(parts[0], called, 1)
    for part in parts[1:]:
        negative = _is_negative(part)
        text += f" - {written(-part, called, 1)}" if negative else f" + {written(part, called, 1)}"
    return text


def _is_negative(part: Any) -> bool:
    return bool(part.could_extract_minus_sign())


def _product(expr: Any, called: Mapping[Any, str]) -> str:
    if _is_negative(expr):
        return f"-{written(-expr, called, 2)}"
    return _TIMES.join(written(part, called, 2) for part in sorted(expr.args, key=_order(called)))


def _order(called: Mapping[Any, str]) -> Callable[[Any], int]:
    """By the inputs, whose order the names have."""
    order = {root: index for index, root in enumerate(called)}
    return lambda part: min((order.get(root, 0) for root in part.free_symbols), default=-1)


def _bracketed(text: str, needed: bool) -> str:
    return f"({text})" if needed else text
