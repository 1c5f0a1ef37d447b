"""`dynamic_axes` whose keys name no input or output: the keys go by the names that there are, or the names by the keys.

`torch.onnx.export` raises for such a key, and its exporter that traces (`dynamo=False`) warns and keeps the sample's
size. Which of the names was meant is a guess, so each proposal is tried.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.shape_specification import literal_of
from exportlint.rewrite.draft import changed_copy
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rewrite.transformation import Site

_CALL = "torch.onnx.export"
_INPUTS, _OUTPUTS = "input_names", "output_names"


class NamedAxes:
    """At a statement with a call of torch.onnx.export whose axes and names are written in the file."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        for call in (one for one in walked(site.node) if isinstance(one, ast.Call)):
            if site.module.dotted(call.func) == _CALL:
                yield from _fitting(site, call)


def _fitting(site: Site, call: ast.Call) -> Iterator[Proposal]:
    given = {name: literal_of(site.module, value) for name, value in _keywords(site, call)}
    spread = {*given} - {one.arg for one in call.keywords}
    axes, inputs, outputs = given.get("dynamic_axes"), _texts(given.get(_INPUTS)), _texts(given.get(_OUTPUTS))
    if not isinstance(axes, ast.Dict) or inputs is None or outputs is None:
        return
    keys = [key for key in axes.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    unknown = [key for key in keys if key.value not in (*inputs, *outputs)]
    if not unknown:
        return
    named = {str(key.value) for key in keys}
    free = [name for name in (*inputs, *outputs) if name not in named]
    if len(free) >= len(unknown):
        draft = site.draft()
        for key, name in zip(unknown, free, strict=False):
            draft.swap(key, ast.Constant(name))
        yield Proposal("name the axes by the names of inputs and outputs", draft)
    texts = [str(key.value) for key in unknown]
    if not inputs and not outputs and len(texts) > 1 and not spread & {_INPUTS, _OUTPUTS}:
        yield _with_names(site, call, {_INPUTS: texts[:-1], _OUTPUTS: texts[-1:]})
    for keyword, there in ((_INPUTS, inputs), (_OUTPUTS, outputs)):
        if not there and keyword not in spread:
            yield _with_names(site, call, {keyword: texts})


def _keywords(site: Site, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Also those of a dict that the file writes, `**EXPORT_CONFIG`."""
    for word in call.keywords:
        match literal_of(site.module, word.value) if word.arg is None else None:
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, value
        if word.arg is not None:
            yield word.arg, word.value


def _with_names(site: Site, call: ast.Call, names: dict[str, list[str]]) -> Proposal:
    kept = [one for one in call.keywords if one.arg not in names]
    new = [
        ast.keyword(word, ast.List([ast.Constant(name) for name in some], ast.Load())) for word, some in names.items()
    ]
    draft = site.draft()
    draft.swap(call, changed_copy(call, keywords=[*kept, *new]))
    return Proposal("name the inputs and outputs as the axes do", draft)


def _texts(node: ast.expr | None) -> Sequence[str] | None:
    """Nothing where none are given; None where they are not written in the file."""
    match node:
        case None | ast.Constant(value=None):
            return ()
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            texts = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            return texts if len(texts) == len(parts) else None
    return None
