"""Loops that end by the value of a tensor: as an operator, or as all their steps, of which the late change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.decisions.tensor_test import tensor_test
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.straight_line import StraightLine
from exportlint.rule.editing.repair import Change, ModuleImport, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def operator_loop(code: Code, node: cst.While) -> tuple[AnyChange, ...] | None:
    """`while test:` as `while_loop`, which carries what the body sets; None where the body does anything else."""
    block, test = StraightLine.of(node.body.body), tensor_test(code, node.test)
    if block is None or block.returned or test is None or node.orelse is not None or not block.names:
        return None
    carried = [
        name for name in block.names if name in _read_before_set(node, block) or _is_read_after(code, node, name)
    ]
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


def full_loop(code: Code, node: cst.If) -> tuple[AnyChange, ...] | None:
    """`for …:` that an `if test: break` leaves: all steps are taken, and those after the test held change nothing."""
    loop = _loop_of(code, node)
    if loop is None or not _only_breaks(node):
        return None
    body = list(loop.body.body)
    at = body.index(node)
    before, after = StraightLine.of(body[:at] or [_PASS]), StraightLine.of(body[at + 1 :] or [_PASS])
    test = tensor_test(code, node.test)
    if before is None or after is None or test is None or before.returned or after.returned:
        return None
    fresh = FreshNames(code)
    done = fresh.of("done")
    changes: list[AnyChange] = [Change(loop, f"{done} = torch.tensor(False)", Where.BEFORE), ModuleImport("torch")]
    changes += _masked(body[:at], done, fresh)
    changes.append(Change(node, f"{done} = torch.logical_or({done}, {test})"))
    changes += _masked(body[at + 1 :], done, fresh)
    return tuple(changes)


def _masked(statements: Sequence[cst.CSTNode], done: str, fresh: FreshNames) -> Iterator[Change]:
    """Each assignment keeps the value that the name has once the loop would have been left."""
    for statement in statements:
        block = StraightLine.of([statement])
        if block is None or not block.names:
            continue
        if len(block.names) == 1:
            (name,), (line,) = block.names, block.renamed({})[0]
            yield Change(statement, f"{name} = torch.where({done}, {name}, {line.partition(' = ')[2]})")
            continue
        lines, now = block.renamed({name: fresh.of(f"{name}_next") for name in block.names})
        kept = [f"{name} = torch.where({done}, {name}, {now[name]})" for name in block.names]
        yield Change(statement, "\n".join([*lines, *kept]))


_PASS = cst.SimpleStatementLine([cst.Pass()])


def _loop_of(code: Code, node: cst.If) -> cst.For | None:
    """The loop that a `break` in the statement leaves, where the statement stands in the loop's own block."""
    block = code.parent(node)
    loop = code.parent(block) if block is not None else None
    return (
        loop if isinstance(loop, cst.For) and loop.orelse is None and isinstance(loop.body, cst.IndentedBlock) else None
    )


def _only_breaks(node: cst.If) -> bool:
    match node:
        case cst.If(body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Break()])]), orelse=None):
            return True
        case cst.If(body=cst.SimpleStatementSuite(body=[cst.Break()]), orelse=None):
            return True
    return False


def _read_before_set(node: cst.While, block: StraightLine) -> set[str]:
    """Names of the block that a step needs from the one before it."""
    found = {one.value for one in _names(node.test)}
    done: set[str] = set()
    for statement in block.statements:
        value = statement if isinstance(statement, cst.AugAssign) else getattr(statement, "value", statement)
        found |= {one.value for one in _names(value)} - done
        done |= set(StraightLine((statement,)).names)
    return found


def _is_read_after(code: Code, node: cst.While, name: str) -> bool:
    end = code.place(node).end_line
    function: cst.CSTNode = node
    while (above := code.parent(function)) is not None:
        function = above
    return any(one.value == name and code.place(one).line > end for one in _names(function))


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    if isinstance(node, cst.Name):
        yield node
    for child in node.children:
        yield from _names(child)
