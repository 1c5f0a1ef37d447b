"""Functions of Python's `math` and of NumPy of a number that data gives, as functions of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import as_owner, is_float, meets_tensor, read_from
from exportlint.rewriting.source.assigned_names import statement_of
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite, Where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


_SAME = frozenset(
    {
        "sqrt",
        "exp",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sinh",
        "cosh",
        "asin",
        "acos",
    }
    | {"atan", "asinh", "acosh", "atanh", "erf", "erfc"}
)
_WHOLE = frozenset({"floor", "ceil", "trunc"})
_OTHER_NAMES = {"fabs": "abs", "radians": "deg2rad", "degrees": "rad2deg"}
# Where Python raises, torch gives nan or infinity.
_DOMAINS = {
    "sqrt": "{} >= 0", "log": "{} > 0", "log2": "{} > 0", "log10": "{} > 0", "log1p": "{} > -1",
    "asin": "{}.abs() <= 1", "acos": "{}.abs() <= 1",
}  # fmt: skip


def as_torch_math(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`math.sqrt(x.sum())` as `torch.sqrt(x.sum())`; where that is no answer, with the check that Python makes."""
    name = (code.name(node.func) or "").rpartition(".")[2]
    function = name if name in _SAME | _WHOLE else _OTHER_NAMES.get(name, "")
    if not function or len(node.args) != 1 or node.args[0].keyword or node.args[0].star:
        return
    given = node.args[0].value
    tensor = read_from(code, given)
    held = (
        as_owner(code, tensor) if tensor is not None else f"torch.tensor({code.source_of(given)}, dtype=torch.float64)"
    )
    change = Change(_with_conversion(code, node), _result(code, node, function, held, tensor))
    torch = ModuleImport("torch")
    yield Rewrite(f"use `torch.{function}`", (change, torch))
    statement = statement_of(code, node)
    if function in _DOMAINS and statement is not None and not (code.name(node.func) or "").startswith("numpy."):
        check = f"torch._assert_async({_DOMAINS[function].format(held)}, 'math domain error')"
        yield Rewrite(f"use `torch.{function}`, and check", (Change(statement, check, Where.BEFORE), change, torch))


def _with_conversion(code: Code, node: cst.Call) -> cst.Call:
    """`float(…)` around it, which the result needs not."""
    above = code.parent(code.parent(node) or node)
    is_float = isinstance(above, cst.Call) and code.name(above.func) == "builtins.float" and len(above.args) == 1
    return above if is_float and isinstance(above, cst.Call) and above.args[0].value is node else node


def _result(code: Code, node: cst.Call, function: str, held: str, tensor: cst.BaseExpression | None) -> str:
    bare = code.source_of(tensor) if tensor is not None else held
    if function in _WHOLE:
        kept = f"torch.{function}({bare})"
        return f"{kept}.long()" if meets_tensor(code, node) else f"{kept}.long().item()"
    if meets_tensor(code, node) and (tensor is None or is_float(code, tensor)):
        return f"torch.{function}({bare})"
    wide = held if tensor is None else f"{held}.double()"
    return f"torch.{function}({wide}).item()"
