"""Does a value leave the model as it is?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.assigned_names import name_set_to, reads

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_HELD_IN = (cst.Element, cst.Tuple, cst.List, cst.DictElement, cst.Dict)


def is_result(code: Code, node: cst.BaseExpression) -> bool:
    """Is it, or the name that it is kept in, what forward returns, or a part of a tuple, list or dict of that?"""
    return code.function is not None and code.function.name == "forward" and _is_returned(code, node)


def _is_returned(code: Code, node: cst.BaseExpression) -> bool:
    above = code.parent(node)
    while isinstance(above, _HELD_IN):
        above = code.parent(above)
    if isinstance(above, cst.Return):
        return True
    name = name_set_to(code, node)
    return name is not None and any(_is_returned(code, one) for one in reads(code, name))
