"""Write a test as a tensor of one bool, without asking any tensor for its truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.decisions.size_tests import size_test
from exportlint.rewriting.numbers.rows import rows_source
from exportlint.rewriting.numbers.unread import without_reads
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_BOOL_METHODS = frozenset({
    "any", "all", "isnan", "isinf", "isfinite", "eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and",
    "logical_or", "bool",
})  # fmt: skip
_COMPARED = {"equal": "({} == {}).all()", "allclose": "torch.isclose({}, {}).all()", "is_nonzero": "{} != 0"}
_IDENTITY = (cst.Is, cst.IsNot, cst.In, cst.NotIn)


def tensor_test(code: Code, node: cst.BaseExpression) -> str | None:
    """The source of a tensor of one bool that is true where the test is; None where a part of it is no tensor.

    Uses `torch` by that name.
    """
    if (of_sizes := size_test(code, node)) is not None:
        return of_sizes
    match node:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            text = tensor_test(code, inner)
            return text and f"torch.logical_not({text})"
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            both = tensor_test(code, left), tensor_test(code, right)
            name = "and" if isinstance(operator, cst.And) else "or"
            return f"torch.logical_{name}({both[0]}, {both[1]})" if all(both) else None
        case cst.Comparison():
            return _comparison(code, node)
        case cst.Call(args=[cst.Arg(value=inner)]) if code.name(node.func) == "builtins.bool":
            return tensor_test(code, inner)
        case cst.Call():
            return _call(code, node)
    return _truth(code, node)


def _truth(code: Code, node: cst.BaseExpression) -> str | None:
    value = code.value(node)
    if not value.is_data:
        plain = all(option.kind in {Kind.TENSOR, Kind.SCALAR} for option in value.options)
        is_name = isinstance(node, cst.Name | cst.Attribute)
        return f"torch.as_tensor({code.source_of(node)}).bool()" if is_name and value.may_be_data and plain else None
    text = without_reads(code, node)
    return (
        f"{text}.bool()"
        if isinstance(node, cst.Name | cst.Attribute | cst.Subscript | cst.Call)
        else f"({text}).bool()"
    )


def _comparison(code: Code, node: cst.Comparison) -> str | None:
    match node.comparisons:
        case [cst.ComparisonTarget(operator=cst.In() | cst.NotIn() as operator, comparator=container)]:
            return _contained(code, node.left, container, negated=isinstance(operator, cst.NotIn))
    if any(isinstance(part.operator, _IDENTITY) for part in node.comparisons):
        return None
    parts = [node.left, *(part.comparator for part in node.comparisons)]
    texts = []
    for left, comparison, right in zip(parts, node.comparisons, parts[1:], strict=False):
        if not (code.value(left).is_data or code.value(right).is_data):
            return None
        sign = cst.Module([]).code_for_node(comparison.operator)
        texts.append(f"{_operand(code, left)}{sign}{_operand(code, right)}")
    return texts[0] if len(texts) == 1 else " & ".join(f"({text})" for text in texts)


def _contained(code: Code, item: cst.BaseExpression, container: cst.BaseExpression, *, negated: bool) -> str | None:
    """`value in tensor`, or a tensor of one element in a list of numbers."""
    rows = rows_source(code, container)
    if rows is not None or code.value(container).is_data:
        text = f"({_operand(code, rows if rows is not None else container)} == {_operand(code, item)}).any()"
    elif code.value(item).is_data and isinstance(container, cst.List | cst.Tuple | cst.Set):
        listed = ", ".join(code.source_of(one.value) for one in container.elements)
        tested = without_reads(code, item)
        text = f"torch.isin({tested}, torch.tensor([{listed}], device={tested}.device))"
    elif code.value(item).is_data and code.value(container).container in {"tuple", "list", "set"}:
        text = f"torch.isin({without_reads(code, item)}, torch.tensor(tuple({code.source_of(container)})))"
    else:
        return None
    return f"torch.logical_not({text})" if negated else text


def _operand(code: Code, node: cst.BaseExpression) -> str:
    text = without_reads(code, node)
    return f"({text})" if node.lpar else text


def _call(code: Code, node: cst.Call) -> str | None:
    arguments = [arg.value for arg in node.args]
    name = called(node)
    if name in _COMPARED and not any(arg.keyword or arg.star for arg in node.args):
        owner = (
            [node.func.value] if isinstance(node.func, cst.Attribute) and code.value(node.func.value).is_data else []
        )
        both = [_operand(code, part) for part in (*owner, *arguments)]
        return _COMPARED[name].format(*both) if len(both) == _COMPARED[name].count("{}") else None
    if code.name(node.func) in _QUANTIFIERS and len(arguments) == 1:
        return _quantified(code, name or "", arguments[0])
    if code.value(node).is_data and name in _BOOL_METHODS:
        return without_reads(code, node)
    return _truth(code, node)


_QUANTIFIERS = frozenset({"builtins.any", "builtins.all"})


def _quantified(code: Code, name: str, over: cst.BaseExpression) -> str | None:
    """`any(…)` and `all(…)` of a tensor, or of tensors of one bool each."""
    text = code.source_of(over)
    match over:
        case cst.GeneratorExp() | cst.ListComp() if code.value(over.elt).is_data:
            inner = text if isinstance(over, cst.ListComp) else f"[{text}]"
            return f"torch.stack({inner}).{name}()"
        case cst.List() | cst.Tuple():
            return f"torch.stack({text}).{name}()"
    return f"{text}.{name}()" if code.value(over).is_data else None


def joined_tests(test: cst.BaseExpression, operator: type[cst.And | cst.Or]) -> list[cst.BaseExpression]:
    """The tests that the operator joins, in their order; the test alone where it joins none."""
    match test:
        case cst.BooleanOperation(left=left, operator=joined, right=right) if isinstance(joined, operator):
            return [*joined_tests(left, operator), *joined_tests(right, operator)]
    return [test]
