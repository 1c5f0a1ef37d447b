"""Whatever goes through rows, a loop or a comprehension, as one call over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.iteration.row_wise import RowStep, collected, looped_over
from exportlint.rewriting.iteration.row_wise_loop import loop_at_once
from exportlint.rewriting.numbers.rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import Rewrite

_LISTS = (cst.ListComp, cst.GeneratorExp)


def all_rows_at_once(code: Code, over: cst.BaseExpression) -> Iterator[Rewrite]:
    """The rewrites of what goes through `over`."""
    over = looped_over(code, over)
    above = code.parent(over)
    match above:
        case cst.For(iter=iterated) if iterated is over:
            yield from loop_at_once(code, above)
        case cst.CompFor(iter=iterated) if iterated is over:
            whole = code.parent(above)
            if isinstance(whole, _LISTS):
                yield from _comprehension(code, whole, above)


def _comprehension(code: Code, node: cst.ListComp | cst.GeneratorExp, loop: cst.CompFor) -> Iterator[Rewrite]:
    rows = rows_of(code, loop.target, loop.iter)
    if rows is None or loop.ifs or loop.inner_for_in is not None:
        return
    step = RowStep.of(code, rows, [node.elt])
    mapped = step.mapped(f"lambda {step.parameters}: {step.text(node.elt)}")
    yield from collected(code, node, mapped, rows)
