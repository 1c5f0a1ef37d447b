"""A `dynamic_shapes` that does not fit its arguments, in their structure: `{"x": …}` as `{"x": …, "start": None}`.

And a sample whose size torch takes for a constant, or that is outside of what is declared, with another size; and an
export that declares the dim in which its program is called with another size.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import span_of
from exportlint.engine.values.program_calls import calls_with_other_sizes
from exportlint.engine.values.shape_specification import Misfit, size_written, specifications
from exportlint.rewrite.draft import Draft, changed_copy, expression
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ModuleInfo
    from exportlint.engine.values.abstract_value import Belief
    from exportlint.engine.values.shape_specification import Specification
    from exportlint.rewrite.transformation import Site

_LEAST = 2  # the smallest size that torch takes for a dim


class FittingShapes:
    """At a part of a specification, or at a size of its sample."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        yield from _declared(site)
        for one in specifications(site.module, site.belief.exports):
            sizes = dict[int, ast.expr]()
            for misfit in one.misfits():
                written = size_written(site.module, one.call, misfit)
                if misfit.kind in {Misfit.CONSTANT_SIZE, Misfit.OUTSIDE} and written is not None:
                    sizes[id(written)] = written
            if any(_covers(site.node, size) for size in sizes.values()):
                draft = site.draft()
                for size in sizes.values():
                    draft.swap(size, ast.Constant(_LEAST))
                yield Proposal("export with a sample of two", draft)
            elif not sizes and _concerns(site.node, one):
                fitting = one.fitting()
                if fitting is not None and one.misfits():
                    draft = site.draft()
                    draft.swap(one.node, fitting)
                    yield Proposal("declare the sizes in the structure of the arguments", draft)


def with_a_sample_of_two(module: ModuleInfo, belief: Belief, line: int) -> Draft | None:
    """The file with a sample of two for the export call at the line, where a declared dim has a size that torch takes
    for a constant; None where it has none, or that is not written in the file."""
    draft, found = Draft(module), False
    here = (one for one in specifications(module, belief.exports) if one.call.place and one.call.place[0] == line)
    for one in here:
        for misfit in one.misfits():
            written = size_written(module, one.call, misfit) if misfit.kind is Misfit.CONSTANT_SIZE else None
            if written is not None:
                draft.swap(written, ast.Constant(_LEAST))
                found = True
    return draft if found else None


def _declared(site: Site) -> Iterator[Proposal]:
    """At a call of a program with another size: the export that declares the dim."""
    others = [*calls_with_other_sizes(site.module, site.belief.exports)]
    here = next((one for one in others if one.call is site.node), None)
    if here is None or any(word.arg == "dynamic_shapes" for word in here.export.keywords):
        return
    draft = site.draft()
    dims = {one.name: one.dim for one in others if one.export is here.export}
    parts = [_dim(dims[name]) if name in dims else ast.Constant(None) for name in here.names]
    shapes = ast.Dict([ast.Constant(name) for name in here.names], parts)
    draft.add_import("torch")
    draft.swap(
        here.export,
        changed_copy(here.export, keywords=[*here.export.keywords, ast.keyword("dynamic_shapes", shapes)]),
    )
    yield Proposal("declare the dim with `dynamic_shapes=`", draft)


def _dim(dim: int) -> ast.expr:
    name = "batch" if dim == 0 else f"dim_{dim}"
    return ast.Dict([ast.Constant(dim)], [expression("torch.export.Dim(NAME)", NAME=ast.Constant(name))])


def _covers(node: ast.AST, part: ast.AST) -> bool:
    """Is the part at the node, or in it?"""
    own, other = span_of(node), span_of(part)
    return own is not None and other is not None and own[:2] <= other[:2] and other[2:] <= own[2:]


def _concerns(node: ast.AST, one: Specification) -> bool:
    """Is the node a part of the specification, or the call that it is given to?"""
    place, own = one.call.place, span_of(node)
    return _covers(one.node, node) or (place is not None and own == place) or _covers(node, one.node)
