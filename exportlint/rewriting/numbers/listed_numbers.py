"""What Python and NumPy make of a list of numbers that were read from a tensor, made by torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import as_owner, is_whole, meets_tensor
from exportlint.rewriting.numbers.rows import rows_source
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


_TORCH = ModuleImport("torch")
_REDUCTIONS = {
    "mean": "mean()", "sum": "sum()", "max": "amax()", "min": "amin()", "amax": "amax()", "amin": "amin()",
    "prod": "prod()", "median": "quantile(0.5)", "std": "std(correction=0)", "var": "var(correction=0)",
    "argmax": "argmax()", "argmin": "argmin()",
}  # fmt: skip


def ordered(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`sorted([1, n])`"""
    words = {arg.keyword.value: arg.value for arg in node.args if arg.keyword}
    if words.keys() - {"reverse"}:
        return
    given = node.args[0].value
    values = _as_values(code, given, wide=not _all_whole(code, given))
    how = f"descending={code.source_of(words['reverse'])}" if words else ""
    yield Rewrite("use `torch.sort`", (Change(node, f"{values}.sort({how})[0].tolist()"), _TORCH))


def counted(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`x.tolist().count(0)` as `(x == 0).sum()`."""
    match node:
        case cst.Call(func=cst.Attribute(value=listed), args=[cst.Arg(value=sought)]):
            values = _as_values(code, listed, wide=False)
            text = f"({values} == {code.source_of(sought)}).sum()"
            kept = "" if meets_tensor(code, node) else ".item()"
            yield Rewrite("count with tensors", (Change(node, text + kept), _TORCH))


def tests_counted(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`sum(v > 0 for v in x.tolist())` as `(x > 0).sum()`."""
    match node.args[0].value:
        case (
            cst.GeneratorExp(elt=elt, for_in=cst.CompFor(target=cst.Name(value=name), iter=over, ifs=[]))
            | cst.ListComp(elt=elt, for_in=cst.CompFor(target=cst.Name(value=name), iter=over, ifs=[]))
        ) if (tensor := rows_source(code, over)) is not None:
            test = elt.visit(_InPlaceOf(name, cst.parse_expression(as_owner(code, tensor))))
            kept = "" if meets_tensor(code, node) else ".item()"
            text = cst.Module([]).code_for_node(test) if isinstance(test, cst.CSTNode) else ""
            yield Rewrite("count with tensors", (Change(node, f"({text}).sum(){kept}"),))


def reduced_by_numpy(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`np.mean(x.tolist())`, `statistics.median(x.tolist())`"""
    function = (code.name(node.func) or "").rpartition(".")[2]
    if len(node.args) != 1:
        return
    given = node.args[0].value
    if function in {"array", "asarray"}:
        yield Rewrite("make a tensor of them", (Change(node, _as_values(code, given, wide=False)), _TORCH))
    elif function in _REDUCTIONS:
        text = f"{_as_values(code, given, wide=True)}.{_REDUCTIONS[function]}"
        yield Rewrite(f"compute it with `{_REDUCTIONS[function]}`", (Change(node, f"{text}.item()"), _TORCH))


def _as_values(code: Code, listed: cst.BaseExpression, *, wide: bool) -> str:
    """The numbers as a tensor; `wide`: as Python's floats."""
    tensor = rows_source(code, listed)
    if tensor is not None:
        return f"{as_owner(code, tensor)}.double()" if wide else as_owner(code, tensor)
    element = code.value(listed).element
    if element is not None and element.is_tensor:
        return f"torch.stack({code.source_of(listed)})"
    return f"torch.tensor({code.source_of(listed)}{', dtype=torch.float64' if wide else ''})"


def _all_whole(code: Code, listed: cst.BaseExpression) -> bool:
    if isinstance(listed, cst.List | cst.Tuple):
        return all(is_whole(code, one.value) for one in listed.elements)
    tensor = rows_source(code, listed)
    return tensor is not None


class _InPlaceOf(cst.CSTTransformer):
    def __init__(self, name: str, new: cst.BaseExpression) -> None:
        super().__init__()
        self._name, self._new = name, new

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return self._new if original_node.value == self._name else updated_node
