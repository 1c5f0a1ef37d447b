"""Settings of Dynamo under which what breaks the graph stays in it.

Of torch.compile: a number that is read from a tensor, a result whose size depends on data, and a recurrent layer end
the graph, and each is taken into it where a setting says so. That is what torch itself advises. The setting holds for
the whole process, and what Python then decides by such a number still breaks: a run has to show it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import UNKNOWN, Kind
from exportlint.rewrite.draft import statements
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ModuleInfo
    from exportlint.rewrite.transformation import Site

_NUMBERS, _SIZES, _RECURRENT = "capture_scalar_outputs", "capture_dynamic_output_shape_ops", "allow_rnn"
_DOES = {
    _NUMBERS: "take numbers that are read from tensors into the graph",
    _SIZES: "take results whose size depends on data into the graph",
    _RECURRENT: "take recurrent layers into the graph",
}
_READ = frozenset({"item", "tolist", "int", "float", "bool"})
_SIZED_BY_DATA = frozenset({
    "nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "repeat_interleave", "where", "bincount",
})  # fmt: skip
_RECURRENT_LAYERS = frozenset({"torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"})


class DynamoSettings:
    """One proposal: all settings that the statement may need, above the first definition behind torch's import."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        draft = site.draft()
        statement = draft.statement_of(site.node)
        wanted = [] if statement is None else list(_wanted(site, statement))
        settings = {name: f"torch._dynamo.config.{name} = True" for name in wanted}
        known = {name for name, text in settings.items() if text in site.module.parsed.text}
        body = site.module.tree.body
        imported = next((place for place, one in enumerate(body) if _imports_torch(one)), -1)
        first = next((one for one in body[imported + 1 :] if isinstance(one, _DEFINITIONS)), None)
        if (first is None and imported < 0) or known == set(wanted):
            return
        missing = [name for name in wanted if name not in known]
        for name in missing:
            if first is not None:
                draft.above(first, statements(settings[name]))
            else:
                draft.below(body[imported], statements(settings[name]))
        does = " and ".join(_DOES[name] for name in missing)
        yield Proposal(f"{does}, by a setting of the process", draft)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _imports_torch(statement: ast.stmt) -> bool:
    """Does it give the file the name `torch`?"""
    return isinstance(statement, ast.Import) and any(
        (one.asname or one.name.partition(".")[0]) == "torch" for one in statement.names
    )


def _wanted(site: Site, statement: ast.stmt) -> Iterator[str]:
    """The settings under which what the statement itself computes may stay in the graph: by what torch said of it, and
    by what stands there, since behind one reason there may be another."""
    own = list(_own_expressions(statement))
    called = {_name(one.func) for one in own if isinstance(one, ast.Call)}
    if called & _READ or site.cause == "number":
        yield _NUMBERS
    if site.cause == "size" or called & _SIZED_BY_DATA or any(_is_by_data(site, one) for one in own):
        yield _SIZES
    if site.cause == "recurrent" or {one.attr for one in own if isinstance(one, ast.Attribute)} & set(
        _recurrent_layers(site.module)
    ):
        yield _RECURRENT


def _own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Those of the statement, not of the statements inside of it."""
    waiting: list[ast.AST] = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr):
            yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _is_by_data(site: Site, node: ast.expr) -> bool:
    """Is it `x[mask]`, or `x[a > b]`? The number of a `for` loop is none."""
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    may_be = (one for one in parts if isinstance(one, ast.Name | ast.Attribute | ast.Compare | ast.BinOp | ast.UnaryOp))
    values = (UNKNOWN if site.view is None else site.view.value(one) for one in may_be)
    return any(one.may_be_data or one.kind in (Kind.UNKNOWN, Kind.TENSOR) for one in values)


def _recurrent_layers(module: ModuleInfo) -> Iterator[str]:
    """The attributes that some class of the file gives a recurrent layer."""
    for node in walked(module.tree):
        match node:
            case ast.Assign(value=ast.Call(func=function), targets=targets):
                if module.dotted(function) in _RECURRENT_LAYERS:
                    yield from (target.attr for target in targets if isinstance(target, ast.Attribute))
