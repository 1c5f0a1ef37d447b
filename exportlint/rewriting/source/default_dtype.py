"""Give a dtype to each tensor that is made while the default dtype is another one."""

from __future__ import annotations

import ast
import textwrap
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.assigned_names import every
from exportlint.rewriting.source.left_statements import comments_of
from exportlint.rule.editing.repair import Change, Elsewhere, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import FunctionInfo
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


def dtype_given_in_blocks(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`node` sets the default to an argument of a function that each `with` of the file enters: the blocks remain."""
    function = code.function
    match node.args:
        case [cst.Arg(value=cst.Name(value=given))] if function and given in function.parameters:
            pass
        case _:
            return
    place = function.parameters.index(given)
    blocks = [one for one in ast.walk(code.module.tree) if isinstance(one, ast.With)]
    entered = [(block, call) for block in blocks if (call := _entry(block, function)) is not None]
    texts = [(block, _block_with_dtype(code, block, _argument(call, place, given))) for block, call in entered]
    changes = tuple(Elsewhere(block, text) for block, text in texts if text)
    if changes and len(changes) == len(entered):
        yield Rewrite("give the dtype at the calls in the block", changes)


def _entry(block: ast.With, function: FunctionInfo) -> ast.Call | None:
    """The call of the function, where the block enters nothing else."""
    match block.items:
        case [ast.withitem(context_expr=ast.Call(func=ast.Name(id=name)) as call, optional_vars=None)]:
            return call if name == function.name else None
    return None


def _argument(call: ast.Call, place: int, keyword: str) -> ast.expr | None:
    words = {word.arg: word.value for word in call.keywords}
    given = call.args[place] if place < len(call.args) else words.get(keyword)
    return None if isinstance(given, ast.Starred) else given


def _block_with_dtype(code: Code, block: ast.With, dtype: ast.expr | None) -> str | None:
    """The statements of the block, from column 0; None where none of its calls makes a tensor."""
    first = block.body[0].lineno
    made = [one for one in ast.walk(block) if isinstance(one, ast.Call) and _makes_by_default(code, one)]
    if dtype is None or first == block.lineno or not made:
        return None
    lines = [line.encode() for line in code.module.parsed.lines[first - 1 : block.end_lineno]]
    for call in sorted(made, key=lambda one: (one.end_lineno or 0, one.end_col_offset or 0), reverse=True):
        row, column = (call.end_lineno or 0) - first, (call.end_col_offset or 0) - len(")")
        before = lines[row][:column]
        comma = b"" if before.rstrip().endswith((b",", b"(")) else b", "
        lines[row] = before + comma + f"dtype={ast.unparse(dtype)}".encode() + lines[row][column:]
    comments = comments_of(code.module.parsed.lines[block.lineno - 1 : first - 1])
    return "\n".join([*comments, textwrap.dedent(b"\n".join(lines).decode())])


def _makes_by_default(code: Code, call: ast.Call) -> bool:
    """A tensor of the default dtype."""
    if any(word.arg in {None, "dtype"} for word in call.keywords):
        return False
    name = code.module.dotted(call.func)
    by_value = (one.value for one in ast.walk(call) if isinstance(one, ast.Constant))
    return name in _FACTORIES or (name in _BY_VALUE and any(isinstance(one, float) for one in by_value))
