"""Which expressions of a file give the parts of a sample: what an export call is given, taken apart as torch does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Container, exactly
from exportlint.engine.values.shape_specification import call_at, literal_of, samples_written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ModuleInfo
    from exportlint.engine.values.abstract_value import ExportCall, Value


def given_parts(module: ModuleInfo, call: ExportCall) -> Iterator[tuple[ast.expr, Value]]:
    """The expressions as they are written, with what each is: tuples, lists and dicts taken apart, names of such
    followed. A part that is written in another way is one expression.

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import torch
    ... class Scale(torch.nn.Module):
    ...     def forward(self, x, pair): ...
    ... both = (torch.ones(2), 3)
    ... torch.export.export(Scale(), (torch.ones(8),), {"pair": both})
    ... ''')
    >>> [(ast.unparse(node), value.kind.value) for node, value in given_parts(code.module, code.exports[0])]
    [('torch.ones(8)', 'tensor'), ('torch.ones(2)', 'tensor'), ('3', 'scalar')]
    """
    by_place, by_name = _written(module, call)
    if by_place is not None:
        yield from _taken_apart(module, by_place, exactly(Container("tuple", items=call.args)))
    if by_name is not None:
        yield from _taken_apart(module, by_name, exactly(Container("dict", fields=tuple(call.keywords.items()))))


def _written(module: ModuleInfo, call: ExportCall) -> tuple[ast.expr | None, ast.expr | None]:
    """What is given by place, and by name."""
    if call.place is None:
        model = call.model.cls
        method = model.method("kwargs") if model is not None else None
        returns = [one for one in walked(method.node) if isinstance(one, ast.Return)] if method is not None else []
        named = returns[0].value if len(returns) == 1 else module.assignments.get("example_kwargs")
        return samples_written(module, call), named
    node = call_at(module, call.place)
    if node is None:
        return None, None
    by_place, by_name = (
        node.args[place]
        if len(node.args) > place
        else next((word.value for word in node.keywords if word.arg == name), None)
        for place, name in ((1, "args"), (2, "kwargs"))
    )
    return by_place, by_name


def _taken_apart(module: ModuleInfo, node: ast.expr, value: Value) -> Iterator[tuple[ast.expr, Value]]:
    match literal_of(module, node):
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if len(parts) == len(items := _items(value, len(parts))):
            for part, item in zip(parts, items, strict=True):
                yield from _taken_apart(module, part, item)
        case ast.Dict(keys=keys, values=parts) if value.container == "dict":
            for key, part in zip(keys, parts, strict=True):
                known = value.field(str(key.value)) if isinstance(key, ast.Constant) else None
                if known is not None:
                    yield from _taken_apart(module, part, known)
        case _:
            yield node, value


def _items(value: Value, count: int) -> tuple[Value, ...]:
    """Of a list it is known what any of its elements is."""
    if value.items is None and value.element is not None:
        return (value.element,) * count
    return value.items or ()
