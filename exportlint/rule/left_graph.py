"""Where torch.compile runs in Python already, so that what it does with such code is not to be told there.

By default Dynamo does not carry numbers that are read from tensors: it ends the graph where one is read, and from then
on the number is one of Python, of which everything may be asked. And it never enters a function that somebody keeps out
of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from exportlint.engine.values.abstract_value import Value
    from exportlint.rule.code import Code


_READS = frozenset(
    {"item", "tolist", "int", "float", "bool", "nonzero", "argwhere", "unique", "unique_consecutive", "masked_select"}
    | {"where", "bincount", "repeat_interleave"}
)
KEPT_OUT = frozenset(
    {"torch.compiler.disable", "torch._dynamo.disable", "torch._dynamo.eval_frame.disable", "torch._disable_dynamo"}
)


def is_in_python(code: Code, node: cst.CSTNode, because: Value | None) -> bool:
    """Has torch.compile left the graph before it comes to the node, which is reported because of a value?

    >>> from exportlint.testing import code_of
    >>> from exportlint.engine.values.abstract_value import UNBACKED
    >>> test = cst.parse_expression("peak > 0")
    >>> is_in_python(code_of("peak = 1"), test, UNBACKED), is_in_python(code_of("peak = 1"), test, None)
    (True, False)
    """
    if code.function is not None and not KEPT_OUT.isdisjoint(code.function.decorators):
        return True
    return because is not None and _is_number(because) and not _reads(code, node)


def _is_number(value: Value) -> bool:
    read = value.element if value.kind is Kind.CONTAINER and value.element is not None else value
    return read.kind is Kind.UNBACKED


def _reads(code: Code, node: cst.CSTNode) -> bool:
    """Is the number read by the node itself?"""
    match node:
        case cst.Call() if called(node) in _READS:
            return True
        case cst.Subscript(slice=parts):
            indices = (part.slice.value for part in parts if isinstance(part.slice, cst.Index))
            if any(code.value(index).boolean for index in indices):
                return True
    return any(_reads(code, child) for child in node.children)
