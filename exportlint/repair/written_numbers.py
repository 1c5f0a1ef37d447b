"""The numbers at which an edit's own text may turn: `min(n, 512)`, `x[:, -256:]`, `step // 5`, `scores >= 0.3`.

No input that is like the sample comes near most of them, and arithmetic makes a choice where no decision is seen. What
is written down names the place: inputs are tried below it, at it and above it.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_Function = ast.FunctionDef | ast.AsyncFunctionDef

_MOST = 4  # each brings a dozen calls
_BOUNDING = frozenset({"min", "max", "minimum", "maximum", "clamp", "clamp_", "clip", "clip_"})
_ROUNDING = frozenset({"round", "round_", "floor", "floor_", "ceil", "ceil_", "trunc", "fix"})
# The number of a dim, of halves, of a kernel: smaller ones say how in most calls, not how far.
_SMALL = 4
_MOST_BITS = 64
_LARGEST = {"uint8": 255.0, "int8": 127.0}


def numbers_of_edit(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[float, ...]:
    """Those in expressions that only one side has, the likely ones first; -1 for an index that is computed, which may
    count from the end.

    >>> old = "def f(x):\\n    return x[:, :min(x.shape[1], 512)] * 2\\n"
    >>> numbers_of_edit({"a.py": old}, {"a.py": "def f(x):\\n    return x * 2\\n"})
    (512.0,)
    """
    found: list[tuple[bool, float]] = []
    for path in after:
        if before[path] != after[path]:
            old, new = (list(_written(ast.parse(text))) for text in (before[path], after[path]))
            for own, other in ((old, new), (new, old)):
                known = Counter(text for text, _, _ in other)
                for text, is_likely, numbers in own:
                    known[text] -= 1
                    found += [(is_likely, one) for one in numbers if known[text] < 0]
    in_order = [one for _, one in sorted(found, key=lambda one: not one[0])]
    return tuple(dict.fromkeys(in_order))[:_MOST]


def _written(module: ast.Module) -> Iterator[tuple[str, bool, list[float]]]:
    """Of each expression that may turn at a number: its text, whether it is made for that, and the numbers."""
    named = {
        target.id: value
        for one in module.body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name) and (value := _number(one.value)) is not None
    }
    for function in ast.walk(module):
        if isinstance(function, _Function):
            for node in ast.walk(function):
                match node:
                    case ast.Compare():
                        yield ast.unparse(node), True, _numbers_in([node.left, *node.comparators], named)
                    case ast.BinOp(op=ast.FloorDiv() | ast.Mod(), right=right):
                        yield ast.unparse(node), True, _numbers_in([right], named)
                    case ast.BinOp(op=ast.RShift() | ast.BitAnd() as op, right=right):
                        bits = [one for one in _numbers_in([right], named) if 0 < one < _MOST_BITS]
                        yield (
                            ast.unparse(node),
                            True,
                            [2.0**one for one in bits] if isinstance(op, ast.RShift) else bits,
                        )
                    case ast.Subscript(slice=index, ctx=ast.Load()):
                        yield ast.unparse(node), True, list(_of_index(index, named))
                    case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                        yield from _of_call(node, name, named)


def _of_call(node: ast.Call, name: str, named: Mapping[str, float]) -> Iterator[tuple[str, bool, list[float]]]:
    given = [*node.args, *(one.value for one in node.keywords)]
    numbers = _numbers_in(given, named)
    if name in _ROUNDING or (name == "int" and any(isinstance(one, ast.BinOp) for one in given)):
        steps = [one for part in ast.walk(node) if isinstance(part, ast.expr) for one in _numbers_in([part], named)]
        # Halves of a step are what is rounded to either side.
        yield ast.unparse(node), True, [half for step in [*steps[:1], 1.0] for half in (0.5 * step, 2.5 * step)]
    elif name in _BOUNDING:
        yield ast.unparse(node), True, numbers
    else:
        types = [one.attr for one in given if isinstance(one, ast.Attribute)]
        yield ast.unparse(node), False, [*(_LARGEST[one] for one in types if one in _LARGEST),
                                         *(one for one in numbers if abs(one) > _SMALL)]  # fmt: skip


def _of_index(index: ast.expr, named: Mapping[str, float]) -> Iterator[float]:
    match index:
        case ast.Tuple(elts=parts):
            for one in parts:
                yield from _of_index(one, named)
        case ast.Slice(lower=lower, upper=upper):
            yield from (abs(one) for one in _numbers_in([one for one in (lower, upper) if one], named))
        case _ if _number(index) is None and not isinstance(index, ast.Constant):
            yield -1.0


def _numbers_in(parts: list[ast.expr], named: Mapping[str, float]) -> list[float]:
    """Of these themselves, by their names too; 0 is tried of everything."""
    found = [named.get(one.id) if isinstance(one, ast.Name) else _number(one) for one in parts]
    return [one for one in found if one and math.isfinite(one)]


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -float(value)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _number(left), _number(right)
            if one is not None and other is not None and isinstance(op, ast.Add | ast.Sub | ast.Mult):
                return {ast.Add: one + other, ast.Sub: one - other, ast.Mult: one * other}[type(op)]
    return None
