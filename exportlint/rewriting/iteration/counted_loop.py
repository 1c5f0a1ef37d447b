"""A `for` whose steps build on each other, as many as data says, as the operator `while_loop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.iteration.row_wise import looped_over
from exportlint.rewriting.numbers.numbers_of_tensors import read_from
from exportlint.rewriting.numbers.rows import as_size, names_read, rows_of
from exportlint.rewriting.source.assigned_names import every, reads
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.straight_line import StraightLine
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code


def counted_loop(code: Code, over: cst.BaseExpression) -> Iterator[Rewrite]:
    """`for i in range(n):`, `for row in rows:`; nothing where the body does more than to set names."""
    node = code.parent(looped_over(code, over))
    if not isinstance(node, cst.For) or node.orelse is not None or not isinstance(node.body, cst.IndentedBlock):
        return
    block = StraightLine.of(node.body.body)
    steps, head = _steps(code, node)
    if block is None or block.returned is not None or not block.names or not steps:
        return
    carried = [name for name in block.names if _is_carried(code, node, block, name)]
    if carried:
        text = "\n".join(_lines(code, block, carried, steps, head))
        yield Rewrite("loop with `while_loop`", (Change(node, text), ModuleImport("torch")))


def _lines(
    code: Code, block: StraightLine, carried: Sequence[str], steps: str, head: tuple[str, list[str]]
) -> list[str]:
    fresh = FreshNames(code)
    named = steps.isidentifier() and steps not in block.names
    number, goes_on, step = steps if named else fresh.of("steps"), fresh.of("goes_on"), fresh.of("step")
    index = head[0] or fresh.of("index")
    state = ", ".join(carried)
    names = f"{index}, {state}"
    body, _ = block.renamed({name: name for name in block.names})
    taken = [line.replace("\0", index) for line in head[1]]
    return [
        *([] if named else [f"{number} = {steps}", ""]),
        f"def {goes_on}({names}):",
        f"    return {index} < {number}",
        "",
        f"def {step}({names}):",
        *(f"    {line}" for line in (*taken, *body)),
        f"    return ({index} + 1, {state})",
        "",
        f"_, {state} = torch._higher_order_ops.while_loop({goes_on}, {step}, (torch.zeros_like({number}), {state}))",
    ]


def _steps(code: Code, node: cst.For) -> tuple[str, tuple[str, list[str]]]:
    """How many steps there are, as a tensor; the name that counts them, and the lines that take the step's rows."""
    match node:
        case cst.For(target=cst.Name(value=name), iter=cst.Call(func=func, args=[cst.Arg(value=count)])) if (
            code.name(func) == "builtins.range"
        ):
            tensor = read_from(code, count)
            text = code.source_of(tensor) if tensor is not None else f"torch.tensor({as_size(code, count)})"
            return text, ("" if name == "_" else name, [])
    rows = rows_of(code, node.target, node.iter)
    if rows is None or rows.stars:
        return "", ("", [])
    taken = [
        f"{name} = {source}.index_select(0, \0.reshape(1)).squeeze(0)"
        for name, source in rows.given
        if name != rows.counted
    ]
    return f"torch.tensor({rows.length})", (rows.counted or "", taken)


def _is_carried(code: Code, node: cst.For, block: StraightLine, name: str) -> bool:
    """Does a step, or what follows the loop, need what a step left there?"""
    done: set[str] = set()
    for one in block.statements:
        value = one if isinstance(one, cst.AugAssign) else getattr(one, "value", one)
        if name in names_read([value]) and name not in done:
            return True
        done |= set(StraightLine((one,)).names)
    inside = {id(one) for one in every(node)}
    found = next(one for one in every(node) if isinstance(one, cst.Name) and one.value == name)
    return any(id(one) not in inside for one in reads(code, found))
