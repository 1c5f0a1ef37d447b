"""Give a dtype to each tensor that is made while the default dtype is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.assigned_names import every
from exportlint.rule.editing.repair import Change, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


_FACTORIES = frozenset(
    f"torch.{name}" for name in ("zeros", "ones", "empty", "rand", "randn", "eye", "linspace", "logspace")
)
_BY_VALUE = frozenset({"torch.tensor", "torch.full", "torch.arange", "torch.scalar_tensor"})
_SET = "torch.set_default_dtype"


def dtype_given(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """Two statements that set the default and set it back, in the same block."""
    line = _line_of(code, node)
    block = code.parent(line) if line is not None else None
    body = list(block.body) if isinstance(block, cst.IndentedBlock) else []
    setting = [one for one in body if _is_setting(code, one)]
    if line not in setting or len(setting) != len(("set", "set back")):
        return
    first, last = setting
    dtype = next(code.source_of(one.args[0].value) for one in every(first) if isinstance(one, cst.Call))
    between = body[body.index(first) + 1 : body.index(last)]
    changes = [
        Change(one, _with_dtype(code, one, dtype)) for part in between for one in every(part) if _makes(code, one)
    ]
    yield Rewrite("give the dtype at the call", (Change(first, ""), Change(last, ""), *changes))


def _line_of(code: Code, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
    above = code.parent(node)
    line = code.parent(above) if isinstance(above, cst.Expr) else None
    return line if isinstance(line, cst.SimpleStatementLine) else None


def _is_setting(code: Code, line: cst.CSTNode) -> bool:
    match line:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call(func=func, args=[_]))]):
            return code.name(func) == _SET
    return False


def _makes(code: Code, node: cst.CSTNode) -> bool:
    """A tensor of the default dtype."""
    if not isinstance(node, cst.Call) or any(arg.keyword and arg.keyword.value == "dtype" for arg in node.args):
        return False
    name = code.name(node.func)
    return name in _FACTORIES or (name in _BY_VALUE and any(isinstance(one, cst.Float) for one in every(node)))


def _with_dtype(code: Code, node: cst.CSTNode, dtype: str) -> str:
    text = code.source_of(node).rstrip()
    inner = text[:-1].rstrip()
    comma = "" if inner.endswith((",", "(")) else ","
    return f"{inner}{comma} dtype={dtype})"
