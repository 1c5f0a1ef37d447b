"""`constraints=[dynamic_dim(x, 0)]` of older exports as `dynamic_shapes=`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.call_arguments import with_replaced_word, without_words
from exportlint.rule.patterns import called
from exportlint.rule.script_rule import argument

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_WORD = "constraints"


def without_constraints(code: Code, call: cst.Call) -> str:
    """The text of the call: with dynamic dims where the constraints name dims of its arguments, else without them."""
    given = next((arg.value for arg in call.args if arg.keyword and arg.keyword.value == _WORD), None)
    shapes = _shapes(code, argument(call, 1, "args"), given) if given is not None else None
    return with_replaced_word(call, _WORD, "dynamic_shapes", shapes) if shapes else without_words(call, {_WORD})


def constrained_call(code: Code, node: cst.CSTNode) -> cst.Call | None:
    """The call whose `constraints=` the node is a part of."""
    above = code.parent(node)
    while above is not None and not isinstance(above, cst.BaseStatement):
        if isinstance(above, cst.Arg) and above.keyword and above.keyword.value == _WORD:
            call = code.parent(above)
            return call if isinstance(call, cst.Call) else None
        above = code.parent(above)
    return None


def _shapes(code: Code, args: cst.BaseExpression | None, constraints: cst.BaseExpression) -> str | None:
    """`({0: torch.export.Dim.DYNAMIC}, None)`; None where other things are constrained than dims of plain arguments."""
    if not isinstance(args, cst.Tuple) or not isinstance(constraints, cst.List | cst.Tuple) or not constraints.elements:
        return None
    dims: dict[str, list[str]] = {code.source_of(one.value): [] for one in args.elements}
    for element in constraints.elements:
        match element.value:
            case cst.Call(args=[cst.Arg(value=cst.Name(value=name)), cst.Arg(value=cst.Integer(value=dim))]) as one if (
                called(one) == "dynamic_dim" and name in dims
            ):
                dims[name].append(f"{dim}: torch.export.Dim.DYNAMIC")
            case _:
                return None
    shapes = [f"{{{', '.join(several)}}}" if several else "None" for several in dims.values()]
    return f"({', '.join(shapes)},)" if len(shapes) == 1 else f"({', '.join(shapes)})"
