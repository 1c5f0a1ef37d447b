"""Decisions by a size: as a selection, as a check that stays in the program, or left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.decisions.kept_in_names import read_names
from exportlint.rewriting.decisions.masked_block import does_nothing_where_nothing_is_chosen
from exportlint.rewriting.decisions.selection import selected_expression, selected_statement
from exportlint.rewriting.decisions.size_tests import sized_tensor
from exportlint.rewriting.decisions.special_case import without_special_case
from exportlint.rewriting.decisions.tensor_test import tensor_test
from exportlint.rewriting.numbers.rows import as_size
from exportlint.rewriting.source.assigned_names import every
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_TORCH = ModuleImport("torch")
_MAKING = frozenset({"zeros", "new_zeros", "ones", "new_ones", "full", "new_full", "empty", "new_empty"})
_SELECT = "compute both sides and select"
_PARTS = cst.BooleanOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget


def selected_by_size(code: Code, node: cst.CSTNode) -> Iterator[Rewrite]:
    """The rewrites of the decision that the node is a part of."""
    decision = _decision(code, node)
    match decision:
        case cst.IfExp():
            yield from _made(code, decision.test, _SELECT, selected_expression(code, decision))
        case cst.If() if (message := _raised(decision)) is not None:
            yield from _checked(code, decision, decision.test, message, negated=True)
        case cst.If():
            yield from _statement(code, decision)
        case cst.Assert():
            yield from checked_size(code, node)


def checked_size(code: Code, node: cst.CSTNode) -> Iterator[Rewrite]:
    """`assert len(x) < 8, "too many"` as `torch._check(x.shape[0] < 8, lambda: "too many")`."""
    decision = _decision(code, node)
    if isinstance(decision, cst.Assert):
        message = code.source_of(decision.msg) if decision.msg is not None else None
        yield from _checked(code, decision, decision.test, message or "", negated=False)


def _decision(code: Code, node: cst.CSTNode) -> cst.If | cst.IfExp | cst.Assert | None:
    above: cst.CSTNode | None = node
    while isinstance(above, _PARTS) or above is node:
        now, above = above, code.parent(above) if above is not None else None
        if isinstance(above, cst.If | cst.IfExp | cst.Assert):
            return above if above.test is now else None
    return None


def _checked(
    code: Code, node: cst.CSTNode, test: cst.BaseExpression, message: str, *, negated: bool
) -> Iterator[Rewrite]:
    text = as_size(code, test)
    shown = _opposite(code, test) or f"not ({text})" if negated else text
    told = f", lambda: {message}" if message else ""
    changes = _names(code, test)
    if changes is not None:
        yield Rewrite("check it with `torch._check`", (Change(node, f"torch._check({shown}{told})"), *changes, _TORCH))
        said = message or repr(code.source_of(test))
        check = f"torch._assert_async(torch.tensor({shown}), {said})"
        yield Rewrite("check it while the program runs", (Change(node, check), *changes, _TORCH))


_OPPOSITES = {
    cst.Equal: "!=", cst.NotEqual: "==", cst.LessThan: ">=", cst.LessThanEqual: ">", cst.GreaterThan: "<=",
    cst.GreaterThanEqual: "<",
}  # fmt: skip


def _opposite(code: Code, test: cst.BaseExpression) -> str | None:
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
            sign = _OPPOSITES.get(type(operator))
            return f"{as_size(code, left)} {sign} {as_size(code, right)}" if sign else None
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return f"{as_size(code, inner)} != 0" if not isinstance(inner, cst.Comparison) else as_size(code, inner)
    return None


def _statement(code: Code, node: cst.If) -> Iterator[Rewrite]:
    changes, sizes = selected_statement(code, node), _sizes_given(code, node)
    if "data" not in sizes or sizes == {"data"}:
        yield from _made(code, node.test, _SELECT, changes)
    fits = "data" not in sizes or "other" not in sizes
    if fits and changes is not None and (padded := _with_a_row(code, node, changes)) is not None:
        yield from _made(code, node.test, "compute both sides on at least one row and select", padded)
    if node.orelse is None and isinstance(node.body, cst.IndentedBlock):
        returned = [one for line in node.body.body for one in every(line) if isinstance(one, cst.Return)]
        if not returned and does_nothing_where_nothing_is_chosen(node):
            yield Rewrite("do it without the test", (Change(node, _dedented(node.body)),))
        elif returned and len(node.body.body) == 1 and _is_empty(code, returned[0].value):
            yield Rewrite("leave the special case out", (Change(node, ""),))
    yield from without_special_case(code, node)


def _sizes_given(code: Code, node: cst.If) -> set[str]:
    """What the sides give: "data" has a size that data decides, "one" is one row, which fits any size, or "other"."""
    block = code.parent(node) or node
    returns = any(isinstance(one, cst.Return) for one in every(node))
    given = [
        one.value for one in every(block if returns else node) if isinstance(one, cst.Return if returns else cst.Assign)
    ]
    own = [one.value for one in every(node) if isinstance(one, cst.Assign)]
    found = {_size_of(code, one) for one in (*given, *own) if one is not None}
    # Where a name is set on one side only, the other keeps what it was, of which nothing is known.
    return found | ({"other"} if not returns and "data" in found else set())


def _size_of(code: Code, node: cst.BaseExpression) -> str:
    value = code.value(node)
    return "data" if value.data_dim is not None else "one" if _makes_one_row(node) else "other"


def _makes_one_row(node: cst.BaseExpression) -> bool:
    """`x.new_zeros(1, 4)`"""
    match node:
        case cst.Call(args=[cst.Arg(value=cst.Integer(value="1")), _, *_]):
            return called(node) in _MAKING
        case cst.Call(args=[cst.Arg(value=cst.Tuple(elements=[first, _, *_]) | cst.List(elements=[first, _, *_])), *_]):
            return called(node) in _MAKING and isinstance(first.value, cst.Integer) and first.value.value == "1"
    return False


def _with_a_row(code: Code, node: cst.If, changes: Sequence[AnyChange]) -> tuple[AnyChange, ...] | None:
    """The selection, with a row of zeros where there is none: what takes the largest of no rows raises."""
    tensor, test = sized_tensor(code, node.test), tensor_test(code, node.test)
    if not isinstance(tensor, cst.Name) or test is None:
        return None
    name, condition = tensor.value, FreshNames(code).of("condition")
    lines = [
        f"{condition} = {test}",
        f"{name} = torch.cat([{name}, {name}.new_zeros(max(0, 1 - {name}.shape[0]), *{name}.shape[1:])])",
    ]
    made: list[AnyChange] = []
    for change in changes:
        if isinstance(change, Change):
            text = _without(change.text.replace(test, condition), f"{condition} = {condition}")
            text = "\n".join([*lines, text]).rstrip() if change.node is node else text
            made.append(Change(change.node, text, change.where))
        else:
            made.append(change)
    return tuple(made)


def _without(text: str, gone: str) -> str:
    return "\n".join(line for line in text.split("\n") if line != gone)


def _is_empty(code: Code, node: cst.BaseExpression | None) -> bool:
    """Does it look as if it held nothing: a selection itself, or something with a dim of no elements?"""
    if node is None:
        return False
    sizes = any(isinstance(one, cst.Integer) and one.value == "0" for one in every(node))
    return sizes or any(code.value(one).data_dim is not None for one in every(node) if isinstance(one, cst.Name))


def _made(
    code: Code, test: cst.BaseExpression, description: str, changes: tuple[AnyChange, ...] | None
) -> Iterator[Rewrite]:
    names = _names(code, test)
    if changes is not None and names is not None:
        yield Rewrite(description, (*changes, *names, _TORCH))


def _names(code: Code, test: cst.BaseExpression) -> tuple[Change, ...] | None:
    return read_names(code, test)


def _raised(node: cst.If) -> str | None:
    """The message of an `if` that does nothing but to raise, "" where it says none."""
    match node:
        case cst.If(body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Raise(exc=raised)])]), orelse=None):
            match raised:
                case cst.Call(args=[cst.Arg(value=cst.SimpleString(value=message)), *_]):
                    return message
            return ""
    return None


def _dedented(body: cst.IndentedBlock) -> str:
    return "\n".join(cst.Module([]).code_for_node(line).strip("\n") for line in body.body)
