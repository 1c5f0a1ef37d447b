"""A write of one number into a slice that ends where data says, by a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.numbers.numbers_of_tensors import as_owner, read_from
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code


_FEW = 3  # dims that are written out


def masked_write(code: Code, node: cst.CSTNode) -> Iterator[Rewrite]:
    """`h[i, n:] = 0` as `h[i].masked_fill_(torch.arange(h[i].shape[0]) >= n, 0)`."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as target)], value=value) if _is_number(
            code, value
        ):
            pass
        case _:
            return
    parts = [part.slice for part in target.slice]
    first = next(i for i, part in enumerate(parts) if isinstance(part, cst.Slice))
    if not all(isinstance(part, cst.Slice) and part.step is None for part in parts[first:]):
        return
    before = ", ".join(code.source_of(part) for part in parts[:first])
    owner = f"{code.source_of(target.value)}[{before}]" if before else as_owner(code, target.value)
    masks = list(_masks(code, owner, target.value, parts[first:], first))
    mask = " & ".join(masks)
    text = f"{owner}.masked_fill_({mask}, {code.source_of(value)})"
    yield Rewrite("write with a mask", (Change(node, text), ModuleImport("torch")))


def _is_number(code: Code, node: cst.BaseExpression) -> bool:
    literal = isinstance(node, cst.Integer | cst.Float) or (
        isinstance(node, cst.Name) and node.value in {"True", "False"}
    )
    match node:
        case cst.UnaryOperation(expression=inner):
            return _is_number(code, inner)
        case cst.Call(func=func) if code.name(func) == "builtins.float":
            return not any(code.value(arg.value).may_be_data for arg in node.args)
    return literal or code.value(node).kind is Kind.SCALAR


def _masks(
    code: Code, owner: str, tensor: cst.BaseExpression, parts: Sequence[cst.CSTNode], gone: int
) -> Iterator[str]:
    """One for each slice with a bound, shaped for its dim."""
    dims = getattr(code.value(tensor).lead, "dims", None)
    rank = len(dims) - gone if dims is not None else None
    for dim, part in enumerate(parts):
        if not isinstance(part, cst.Slice) or (part.lower is None and part.upper is None):
            continue
        position = f"torch.arange({owner}.shape[{dim}], device={as_owner(code, tensor)}.device)"
        tests = []
        for sign, bound in ((">=", part.lower), ("<", part.upper)):
            if bound is not None:
                tests.append(f"({position} {sign} {_bound(code, bound, f'{owner}.shape[{dim}]')})")
        yield _shaped(tests, owner, dim, rank)


def _shaped(tests: Sequence[str], owner: str, dim: int, rank: int | None) -> str:
    """The dims that follow are of size 1."""
    both = " & ".join(tests)
    text = both if len(tests) == 1 else f"({both})"
    if rank is not None and rank - dim <= _FEW:
        more = ", None" * (rank - dim - 1)
        return f"{text}[:{more}]" if more else text
    return f"{text}.reshape(-1, *[1] * ({owner}.dim() - {dim + 1}))"


def _bound(code: Code, bound: cst.BaseExpression, size: str) -> str:
    """A difference may be negative, and counts from the end then."""
    tensor = read_from(code, bound)
    text = as_owner(code, tensor if tensor is not None else bound)
    if (
        isinstance(bound, cst.BinaryOperation)
        and isinstance(bound.operator, cst.Subtract)
        and code.value(bound).is_tensor
    ):
        return f"torch.where({text} < 0, {text} + {size}, {text})"
    return text
