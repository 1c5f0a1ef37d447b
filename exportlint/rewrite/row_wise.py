"""Row by row: whether a call makes each row of that row alone, as `x * 2` and `x.sum(1)` do, and `x.softmax(0)` and
`x.mean()` do not. What is computed of more rows, or of fewer, than the author's code computes it of is the same for
each row then.
"""

from __future__ import annotations

import ast

from exportlint.engine.flow.def_use import path_of

_REDUCING = frozenset({
    "sum", "mean", "prod", "max", "min", "amax", "amin", "std", "var", "norm", "all", "any", "argmax", "argmin",
    "logsumexp", "nansum", "nanmean", "count_nonzero", "median", "mode", "kthvalue", "quantile",
})  # fmt: skip
_ALONG = frozenset({
    "softmax", "log_softmax", "softmin", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "argsort",
    "flip", "roll", "topk", "diff", "normalize",
})  # fmt: skip
_ALWAYS = frozenset({
    "msort", "unique", "matmul", "mm", "einsum", "cov", "corrcoef", "cdist", "bincount", "histc", "batch_norm",
})  # fmt: skip


def puts_rows_together(call: ast.Call, *, of_one_dim: bool) -> bool:
    """May it make a row of other rows, too, where rows are along the first dim? Of a function of torch's, or a method
    of a tensor. `of_one_dim`: may the rows be all that there is, so that the last dim is the first?

    >>> calls = ("x.sum(1)", "x.sum(0)", "torch.max(x, y)", "x.softmax(-1)", "x.sort()")
    >>> [puts_rows_together(ast.parse(one, mode="eval").body, of_one_dim=True) for one in calls]
    [False, True, False, True, True]
    """
    name = call.func.attr if isinstance(call.func, ast.Attribute) else path_of(call.func) or ""
    if name not in _REDUCING | _ALONG:
        return name in _ALWAYS
    of_torch = (path_of(call.func) or "").startswith(("torch.", "F."))
    given = [*call.args[of_torch:], *(word.value for word in call.keywords if word.arg in {"dim", "axis", "dims"})]
    if name in {"max", "min"} and given and _number(given[0]) is None:
        return False  # of two tensors
    dims = [number for one in given if (number := _number(one)) is not None]
    if not dims:
        return name in _REDUCING or of_one_dim  # over all, or along the last dim
    return dims[-1] == 0 or (of_one_dim and dims[-1] < 0)


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None
