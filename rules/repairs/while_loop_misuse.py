"""What a body hands on is cloned, what it carries is a tensor of its own, and a counter stays an integer."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Branch, Change, Elsewhere, Kind, Repair, Results, Rewrite
from exportlint.rewriting.interface.made_outside import made_outside
from exportlint.rewriting.interface.operator_call import CallWithFunctions
from exportlint.rewriting.interface.run_functions import RunFunction
from exportlint.rewriting.source.assigned_names import only_value, statement_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint import AnyChange

_MAY_BE_TENSOR = frozenset({Kind.TENSOR, Kind.UNKNOWN})
_PARAMETERS = ("cond_fn", "body_fn", "carried_inputs")


class FittingBody(Repair):
    """All that is wrong with one call is mended together."""

    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        del case
        call = CallWithFunctions.around(self.code, node, _PARAMETERS)
        if call is None:
            return
        yield from call.mended(self._mended(call))

    def _mended(self, call: CallWithFunctions) -> Iterator[tuple[str, Iterable[AnyChange]]]:
        statement = statement_of(self.code, call.node)
        functions = [RunFunction.given(self.code, one) for one in call.functions("cond_fn", "body_fn")]
        known = [one for one in functions if one is not None]
        yield "carry tensors of their own", self._carried(call)
        yield "make tensors outside", (one for f in known for one in made_outside(self.code, f, statement))
        if (body := functions[-1] if "body_fn" in call.given else None) is not None:
            yield "write into clones", body.cloned_arguments()
            yield "hand clones on", body.cloned_results()
            yield "count in integers", self._in_integers(call, body)

    def _carried(self, call: CallWithFunctions) -> Iterator[AnyChange]:
        """A number as a tensor, and what is carried twice as a clone."""
        carried = call.given.get("carried_inputs")
        seen: set[str] = set()
        for element in carried.elements if isinstance(carried, cst.Tuple | cst.List) else ():
            part, text = element.value, self.source(element.value)
            if isinstance(part, cst.Integer | cst.Float):
                yield Change(part, f"torch.full((), {text})")
            elif isinstance(part, cst.Name) and text in seen and self.code.value(part).kind in _MAY_BE_TENSOR:
                yield Change(part, f"{text}.clone()")
            seen.add(text)

    def _in_integers(self, call: CallWithFunctions, body: RunFunction) -> Iterator[AnyChange]:
        """`i + 1` for `i + 1.0`, `i // 2` for `i / 2`, where an integer is carried."""
        carried = call.given.get("carried_inputs")
        elements = carried.elements if isinstance(carried, cst.Tuple | cst.List) else ()
        for parts in body.results():
            for element, part in zip(elements, parts, strict=False):
                if self._is_integer(element.value):
                    yield from _integral(body, part)

    def _is_integer(self, node: cst.BaseExpression) -> bool:
        """Is it a tensor that is made of integers?"""
        made = (only_value(self.code, node) if isinstance(node, cst.Name) else None) or node
        dtype = Results(Branch([], spare=False, body=[])).dtype(ast.parse(self.source(made), mode="eval").body)
        return bool(dtype and dtype.name and "int" in dtype.name)


def _integral(function: RunFunction, part: ast.expr) -> Iterator[Elsewhere]:
    match part:
        case ast.BinOp(left=ast.Name(), op=ast.Div(), right=ast.Constant(value=int())):
            yield Elsewhere(part, f"{function.source(part.left)} // {function.source(part.right)}")
        case ast.BinOp(left=ast.Name(), right=ast.Constant(value=float() as number)) if number.is_integer():
            yield Elsewhere(part.right, str(int(number)))
