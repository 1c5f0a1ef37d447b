"""What a branch hands on is cloned, what is no tensor is closed over or made one, and one side is chosen by element."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Branch, Change, Elsewhere, Kind, ModuleImport, Repair, Rewrite, Source, Touch
from exportlint.rewriting.interface.closed_over import ClosedOver
from exportlint.rewriting.interface.made_outside import made_outside
from exportlint.rewriting.interface.operator_call import CallWithFunctions
from exportlint.rewriting.interface.run_functions import RunFunction, node_at
from exportlint.rewriting.numbers.unread import without_reads
from exportlint.rewriting.source.assigned_names import every, only_value, statement_of, whole_function
from exportlint.rewriting.source.substituted import substituted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint import AnyChange

_ATOMS = (cst.Name, cst.Attribute, cst.Subscript, cst.Call)
_PARAMETERS = ("pred", "true_fn", "false_fn", "operands")
_NO_TENSORS = frozenset({Kind.SCALAR, Kind.SIZE, Kind.NONE, Kind.MODULE})


class FittingBranches(Repair):
    """All that is wrong with one call is mended together."""

    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        call = CallWithFunctions.around(self.code, node, _PARAMETERS)
        if call is None:
            return
        if case == "BadPredVector":
            yield from self._chosen(call)
            return
        yield from call.mended(self._mended(call))

    def _mended(self, call: CallWithFunctions) -> Iterator[tuple[str, Iterable[AnyChange]]]:
        functions = list(self._functions(call))
        statement = statement_of(self.code, call.node)
        yield "give the operands as a tuple", self._as_tuple(call)
        yield "clone views among the operands", self._views(call)
        yield "close over what is no tensor", self._closed_over(call)
        if not any(self.code.value(one).source is Source.INPUT for one in _parts(call)):
            yield "write into clones", (one for function in functions for one in function.cloned_arguments())
        yield "return clones", (one for function in functions for one in function.cloned_results())
        yield "return tensors", (one for function in functions for one in function.with_tensors())
        yield "return tuples", self._tuples(functions)
        yield "make tensors outside", (one for f in functions for one in made_outside(self.code, f, statement))
        yield "read the tensor itself", (one for f in functions for one in self._unread(f, call.node))

    def _as_tuple(self, call: CallWithFunctions) -> Iterator[AnyChange]:
        node = call.given.get("operands")
        if node is not None and not isinstance(node, cst.Tuple | cst.List) and self.code.value(node).is_tensor:
            yield Change(node, f"({self.source(node)},)")

    def _views(self, call: CallWithFunctions) -> Iterator[AnyChange]:
        """Of a name that is an operand as well."""
        parts = _parts(call)
        names = {part.value for part in parts if isinstance(part, cst.Name)}
        for part in parts:
            found = node_at(self.code, part, self.code.function.node) if self.code.function else None
            branch = Branch([*names], spare=False, body=[])
            if isinstance(found, ast.expr) and branch.touched(found) is Touch.VIEW:
                yield Change(part, f"{self.source(part)}.clone()")

    def _tuples(self, functions: list[RunFunction]) -> Iterator[AnyChange]:
        """Where one function returns a tuple and the other a list."""
        kinds = {type(function.branch.resolved(one)) for function in functions for one in function.branch.returns}
        if {ast.Tuple, ast.List} <= kinds:
            yield from (one for function in functions for one in function.without_lists())

    def _closed_over(self, call: CallWithFunctions) -> Iterator[AnyChange]:
        operands = call.given.get("operands")
        gone = [i for i, part in enumerate(_parts(call)) if self._is_no_tensor(part)]
        if isinstance(operands, cst.Tuple | cst.List) and gone:
            functions = call.functions("true_fn", "false_fn")
            yield from ClosedOver(self.code, operands, functions, gone).changes() or ()

    def _is_no_tensor(self, node: cst.BaseExpression) -> bool:
        value = self.code.value(node)
        return isinstance(node, cst.SimpleString) or (value.kind in _NO_TENSORS and value.certain)

    def _chosen(self, call: CallWithFunctions) -> Iterator[Rewrite]:
        """Both branches are computed, and one is chosen for each element."""
        sides = [self._called(function, _parts(call)) for function in call.functions("true_fn", "false_fn")]
        if all(sides):
            text = f"torch.where({self.source(call.given['pred'])}, {', '.join(map(str, sides))})"
            yield Rewrite("choose element by element", (Change(call.node, text), ModuleImport("torch")))

    def _called(self, function: cst.BaseExpression, operands: list[cst.BaseExpression]) -> str | None:
        given = [self.source(part) for part in operands]
        if not isinstance(function, cst.Lambda):
            return f"{self.source(function)}({', '.join(given)})"
        names = [one.name.value for one in function.params.params]
        plain = all(isinstance(part, cst.Name | cst.Attribute | cst.Subscript | cst.Call) for part in operands)
        return (
            substituted(function.body, dict(zip(names, given, strict=True)))
            if plain and len(names) == len(given)
            else None
        )

    def _functions(self, call: CallWithFunctions) -> Iterator[RunFunction]:
        found = (RunFunction.given(self.code, place) for place in call.functions("true_fn", "false_fn"))
        yield from (one for one in found if one is not None)

    def _unread(self, function: RunFunction, call: cst.Call) -> Iterator[AnyChange]:
        """A name that holds what was read of a tensor gives way to the tensor."""
        around = every(whole_function(self.code, call)) if function.is_local else ()
        values = {one.value: only_value(self.code, one) for one in around if isinstance(one, cst.Name)}
        for one in ast.walk(function.node):
            value = values.get(one.id) if isinstance(one, ast.Name) and one.id in function.branch.outside else None
            if isinstance(one, ast.Name) and value is not None and self.code.value(value).is_unbacked:
                text = without_reads(self.code, value)
                yield Elsewhere(one, text if isinstance(cst.parse_expression(text), _ATOMS) else f"({text})")


def _parts(call: CallWithFunctions) -> list[cst.BaseExpression]:
    operands = call.given.get("operands")
    return [element.value for element in operands.elements] if isinstance(operands, cst.Tuple | cst.List) else []
