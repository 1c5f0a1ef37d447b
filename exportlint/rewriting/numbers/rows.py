"""What a loop goes through, row by row, as tensors that `torch.vmap` can go through at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import as_owner
from exportlint.rewriting.source.assigned_names import every, only_value
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rewriting.source.fresh_names import FreshNames
    from exportlint.rule.code import Code


_SAME_ROWS = frozenset({"builtins.list", "builtins.tuple", "builtins.iter", "torch.unbind"})


@dataclass(frozen=True)
class Rows:
    """The names of a step, each with the source of the tensor whose rows it takes. `stars`: one source for all names.

    `counted`: the name that only counts the steps; it need not be given where the step does not read it.
    """

    given: tuple[tuple[str, str], ...]
    length: str
    counted: str | None = None
    stars: str | None = None


def rows_of(code: Code, target: cst.BaseExpression, over: cst.BaseExpression) -> Rows | None:
    """Of `for target in over`; None where that is no tensor's rows."""
    name = code.name(over.func) if isinstance(over, cst.Call) else None
    arguments = [arg.value for arg in over.args] if isinstance(over, cst.Call) else []
    match name:
        case "builtins.range" if isinstance(target, cst.Name):
            return _of_range(code, target.value, arguments)
        case "builtins.enumerate" if len(arguments) == 1:
            return _of_enumerate(code, target, arguments[0])
        case "builtins.zip":
            return _of_zip(code, target, over)
    tensor = rows_source(code, over)
    if tensor is None or not isinstance(target, cst.Name):
        return None
    return Rows(((target.value, code.source_of(tensor)),), f"{as_owner(code, tensor)}.shape[0]")


def rows_source(code: Code, over: cst.BaseExpression) -> cst.BaseExpression | None:
    """The tensor of `x`, `list(x)`, `x.unbind(0)`, `x.tolist()`."""
    match over:
        case cst.Call(func=func, args=[cst.Arg(value=inner)]) if code.name(func) in _SAME_ROWS:
            return rows_source(code, inner)
        case cst.Call(func=cst.Attribute(value=owner), args=args) if called(over) in {"unbind", "tolist"}:
            first = not args or code.source_of(args[0].value) == "0"
            return owner if first and code.value(owner).is_tensor else None
        case cst.Name() if (value := only_value(code, over)) is not None and not code.value(over).is_tensor:
            is_listed = isinstance(value, cst.Call) and called(value) in {"unbind", "tolist", "list", "tuple"}
            return rows_source(code, value) if is_listed else None
    return over if code.value(over).is_tensor else None


def _of_range(code: Code, name: str, arguments: Sequence[cst.BaseExpression]) -> Rows | None:
    if len(arguments) != 1:
        return None
    length = as_size(code, arguments[0])
    return Rows(((name, f"torch.arange({length})"),), length, counted=name)


def _of_enumerate(code: Code, target: cst.BaseExpression, over: cst.BaseExpression) -> Rows | None:
    match target:
        case cst.Tuple(elements=[cst.Element(value=cst.Name(value=index)), cst.Element(value=rest)]):
            inner = rows_of(code, rest, over)
            if inner is None or inner.stars:
                return None
            return Rows(((index, f"torch.arange({inner.length})"), *inner.given), inner.length, counted=index)
    return None


def _of_zip(code: Code, target: cst.BaseExpression, over: cst.BaseExpression) -> Rows | None:
    names = [one.value.value for one in getattr(target, "elements", ()) if isinstance(one.value, cst.Name)]
    match over:
        case cst.Call(args=[cst.Arg(value=tensors, star="*")]) if names:
            whole = code.source_of(tensors)
            return Rows(
                tuple((name, "") for name in names), f"{as_owner(code, tensors)}[0].shape[0]", stars=f"*{whole}"
            )
        case cst.Call(args=args) if len(names) == len(args):
            tensors_ = [rows_source(code, arg.value) for arg in args]
            if all(tensors_) and not any(arg.star for arg in args):
                texts = [code.source_of(one) for one in tensors_ if one is not None]
                return Rows(tuple(zip(names, texts, strict=True)), f"{texts[0]}.shape[0]")
    return None


def as_size(code: Code, node: cst.BaseExpression) -> str:
    """A size as torch carries it along: `len(x)` as `x.shape[0]`."""
    changed = node.visit(_Lengths(code))
    assert isinstance(changed, cst.BaseExpression)  # noqa: S101 - a length is replaced by a size
    return cst.Module([]).code_for_node(changed)


class _Lengths(cst.CSTTransformer):
    def __init__(self, code: Code) -> None:
        super().__init__()
        self._code = code

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        match original_node:
            case cst.Call(func=func, args=[cst.Arg(value=given)]) if self._code.name(func) in {
                "builtins.len",
                "builtins.int",
            }:
                inner = updated_node.args[0].value
                if self._code.name(func) == "builtins.int":
                    return inner if not isinstance(inner, cst.BinaryOperation) else updated_node
                if self._code.value(given).is_tensor:
                    return cst.parse_expression(f"{cst.Module([]).code_for_node(inner)}.shape[0]")
        return updated_node


def entries_as_rows(
    code: Code, rows: Rows, body: Sequence[cst.CSTNode], fresh: FreshNames
) -> tuple[Rows, dict[str, str]]:
    """`x[i]` in a loop over indices is a row of `x`: the rows with those, and new names by what they replace."""
    if rows.counted is None:
        return rows, {}
    found: dict[str, str] = {}
    given = list(rows.given)
    for node in (one for part in body for one in every(part)):
        owner = _owner_of_entry(node, rows.counted)
        if owner is None or not code.value(owner).is_tensor or code.source_of(node) in found:
            continue
        base = (
            owner.value
            if isinstance(owner, cst.Name)
            else owner.attr.value
            if isinstance(owner, cst.Attribute)
            else "rows"
        )
        found[code.source_of(node)] = fresh.of(f"{base}_row")
        given.append((found[code.source_of(node)], code.source_of(owner)))
    return Rows(tuple(given), rows.length, rows.counted), found


def _owner_of_entry(node: cst.CSTNode, index: str) -> cst.BaseExpression | None:
    match node:
        case cst.Subscript(value=owner, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name(value=name)))]):
            return owner if name == index and isinstance(owner, cst.Name | cst.Attribute) else None
    return None


def names_read(nodes: Sequence[cst.CSTNode]) -> Iterator[str]:
    """All names in some nodes."""
    yield from (one.value for node in nodes for one in every(node) if isinstance(one, cst.Name))
