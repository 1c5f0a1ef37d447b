"""Calls of exported programs that stand beside the export, with sizes that are written down as numbers.

`program = torch.export.export(model, (torch.randn(2, 8),))` and then `program.module()(torch.randn(4, 8))`: what is not
declared dynamic is as in the sample, for good. Names are followed where they are set once, and a file that is saved and
loaded by the same name gives the same program; nothing is said of sizes that are computed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind, Module
from exportlint.engine.values.shape_specification import call_at, set_once, written_sizes
from exportlint.engine.values.shapes import dims_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.engine.source.symbols import ModuleInfo
    from exportlint.engine.values.abstract_value import ExportCall, Value


@dataclass(frozen=True, slots=True)
class OtherSize:
    """A call of a program that gives another size than its sample had, in a dim that is not declared dynamic.

    export   the call of torch.export; `names` are the parameters of forward that it gives something
    """

    call: ast.Call
    export: ast.Call
    names: tuple[str, ...]
    name: str
    dim: int
    sample: int
    given: int


def calls_with_other_sizes(module: ModuleInfo, exports: Sequence[ExportCall]) -> Iterator[OtherSize]:
    """Each such call once.

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import torch
    ... class Scale(torch.nn.Module):
    ...     def forward(self, x): ...
    ... program = torch.export.export(Scale(), (torch.ones(2, 8),)).module()
    ... program(torch.ones(4, 8))
    ... ''')
    >>> [(one.name, one.dim, one.sample, one.given) for one in calls_with_other_sizes(code.module, code.exports)]
    [('x', 0, 2, 4)]
    """
    calls = [node for node in walked(module.tree) if isinstance(node, ast.Call)]
    for one in exports:
        export = call_at(module, one.place) if one.place is not None else None
        if export is None or one.keywords or any(isinstance(arg, ast.Starred) for arg in export.args):
            continue
        for call in calls:
            if _program_of(module, call.func) is export and not call.keywords and not _is_meant_to_fail(module, call):
                found = next(_others(module, one, export, call), None)
                if found is not None:
                    yield found


def _program_of(module: ModuleInfo, func: ast.expr) -> ast.Call | None:
    """The call of torch.export whose program an expression calls, as far as names lead there."""
    node = _followed(module, func)
    match node:
        case ast.Call(func=ast.Attribute(value=program, attr="module"), args=[], keywords=[]):
            made = _followed(module, program)
        case _:
            return None
    if not isinstance(made, ast.Call):
        return None
    name = module.dotted(made.func)
    if name == "torch.export.load" and made.args:
        return _saved_as(module, made.args[0])
    return made if name == "torch.export.export" else None


def _saved_as(module: ModuleInfo, path: ast.expr) -> ast.Call | None:
    """The export of the one program that is saved under the name."""
    saved = [
        node for node in walked(module.tree)
        if isinstance(node, ast.Call) and module.dotted(node.func) == "torch.export.save" and len(node.args) > 1
        and ast.unparse(node.args[1]) == ast.unparse(path)
    ]  # fmt: skip
    made = _followed(module, saved[0].args[0]) if len(saved) == 1 else None
    return made if isinstance(made, ast.Call) and module.dotted(made.func) == "torch.export.export" else None


def _followed(module: ModuleInfo, node: ast.expr) -> ast.expr | None:
    return set_once(module, node.id, node) if isinstance(node, ast.Name) else node


def _others(module: ModuleInfo, one: ExportCall, export: ast.Call, call: ast.Call) -> Iterator[OtherSize]:
    names = _parameters(one)
    for place, (arg, value) in enumerate(zip(call.args, one.args, strict=False)):
        sizes, dims = written_sizes(module, arg), dims_of(value)
        if isinstance(arg, ast.Starred) or place >= len(names):
            return
        if sizes is None or dims is None or len(sizes) != len(dims) or not value.is_tensor:
            continue
        for dim, (size, extent) in enumerate(zip(sizes, dims, strict=True)):
            sample = extent.number if extent is not None else None
            if sample is not None and size not in (None, sample) and _is_static(one.dynamic_shapes, place, names, dim):
                yield OtherSize(call, export, names[: len(one.args)], names[place], dim, sample, int(str(size)))


def _parameters(one: ExportCall) -> tuple[str, ...]:
    match one.model.options:
        case (Module(cls=cls),) if cls is not None and (forward := cls.method("forward")) is not None:
            return forward.parameters[1:]
    return ()


def _is_static(shapes: Value | None, place: int, names: Sequence[str], dim: int) -> bool:
    """Does nothing say that the dim may vary? What is not understood may."""
    if shapes is None or shapes.kind is Kind.NONE:
        return True
    if shapes.container == "dict" and shapes.fields:
        part = shapes.field(names[place])
    elif shapes.items is not None and place < len(shapes.items):
        part = shapes.items[place]
    else:
        return False
    if part is None:
        return False
    return part.kind is Kind.NONE or (part.container == "dict" and bool(part.fields) and part.field(str(dim)) is None)


def _is_meant_to_fail(module: ModuleInfo, call: ast.Call) -> bool:
    """Does it stand in a `try`, or in a `with` that waits for an error?"""
    around = [
        node for node in walked(module.tree)
        if isinstance(node, ast.Try | ast.With | ast.If) and any(inner is call for inner in walked(node))
    ]  # fmt: skip
    return any(
        isinstance(node, ast.Try)
        or (isinstance(node, ast.With) and "raises" in ast.unparse(node.items[0].context_expr).lower())
        or (isinstance(node, ast.With) and "suppress" in ast.unparse(node.items[0].context_expr))
        for node in around
    )
