"""Loops that end by the value of a tensor, as an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.decisions.tensor_test import tensor_test
from exportlint.rewriting.source.assigned_names import is_read_later
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.straight_line import StraightLine
from exportlint.rule.editing.repair import Change, ModuleImport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def operator_loop(code: Code, node: cst.While) -> tuple[AnyChange, ...] | None:
    """`while test:` as `while_loop`, which carries what the body sets; None where the body does anything else."""
    block, test = StraightLine.of(node.body.body), tensor_test(code, node.test)
    if block is None or block.returned or test is None or node.orelse is not None or not block.names:
        return None
    carried = [name for name in block.names if name in _read_before_set(node, block) or is_read_later(code, node, name)]
    names, fresh = ", ".join(carried), FreshNames(code)
    condition, body = fresh.of("goes_on"), fresh.of("step")
    lines, _ = block.renamed({name: name for name in block.names})
    ended = "," if len(carried) == 1 else ""
    text = [
        f"def {condition}({names}):",
        f"    return {test}",
        "",
        f"def {body}({names}):",
        *(f"    {line}" for line in lines),
        f"    return ({names}{ended})",
        "",
        f"{names}{ended} = torch._higher_order_ops.while_loop({condition}, {body}, ({names}{ended}))",
    ]
    return (Change(node, "\n".join(text)), ModuleImport("torch")) if carried else None


def _read_before_set(node: cst.While, block: StraightLine) -> set[str]:
    """Names of the block that a step needs from the one before it."""
    found = {one.value for one in _names(node.test)}
    done: set[str] = set()
    for statement in block.statements:
        value = statement if isinstance(statement, cst.AugAssign) else getattr(statement, "value", statement)
        found |= {one.value for one in _names(value)} - done
        done |= set(StraightLine((statement,)).names)
    return found


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    if isinstance(node, cst.Name):
        yield node
    for child in node.children:
        yield from _names(child)
