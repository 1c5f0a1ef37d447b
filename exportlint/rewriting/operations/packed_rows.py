"""Run a recurrent layer over padded rows and a mask, instead of over a packed sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.assigned_names import every, name_set_to, only_value, reads, whole_function
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.source_of_calls import argument, operand
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite, Where
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


_MOVES = frozenset({"cpu", "tolist", "numpy"})
_PAD = "torch.nn.utils.rnn.pad_packed_sequence"


@dataclass(frozen=True)
class Packed:
    """`rows` and `lengths` are what is packed; `run`: the layer's call, `placed`: its argument."""

    rows: str
    lengths: str
    batch_first: bool
    run: cst.Call
    placed: cst.BaseExpression


def padded_and_masked(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`pack_padded_sequence`, one layer, and `pad_packed_sequence`, or the last state; rows padded after their ends."""
    packed = packed_call(code, node)
    outer = code.parent(packed.run) if packed else None
    match outer:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=[out, state]))]) if packed:
            changes = of_outputs(code, packed, out.value), _of_state(code, packed, outer, out.value, state.value)
            if None not in changes and any(changes):
                placed = Change(packed.placed, packed.rows)
                gone = without_packing(code, packed, node)
                found = (one for part in changes for one in part or ())
                yield Rewrite("keep the rows padded, and mask", (*gone, placed, *found, ModuleImport("torch")))


def packed_call(code: Code, node: cst.Call) -> Packed | None:
    rows, lengths = argument(node, "input", 0), argument(node, "lengths", 1)
    first = argument(node, "batch_first", 2)
    used = _uses(code, node)
    place = code.parent(used[0]) if used else None
    run = code.parent(place) if isinstance(place, cst.Arg) else None
    if rows is None or lengths is None or not isinstance(run, cst.Call) or run.args[0] is not place:
        return None
    if not isinstance(first, cst.Name | None) or code.name(run.func) == _PAD:
        return None
    batch_first = first is not None and first.value == "True"
    return Packed(code.source_of(rows), _lengths(code, lengths), batch_first, run, used[0])


def _uses(code: Code, node: cst.Call) -> list[cst.BaseExpression]:
    """The one place that takes the packed rows; of a name that held the plain rows before, the first one after it."""
    match code.parent(node):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
            line = code.place(node).end_line
            after = [one for one in reads(code, name) if code.place(one).line > line]
            return list(after) if len(after) == 1 or name_set_to(code, node) is None else []
        case cst.Arg():
            return [node]
    return []


def _lengths(code: Code, node: cst.BaseExpression) -> str:
    """Without the move to the CPU that packing asks for."""
    match node:
        case cst.Call(
            func=cst.Attribute(value=inner, attr=cst.Name(value="cpu" | "tolist" | "numpy" | "detach")), args=[]
        ):
            return _lengths(code, inner)
        case cst.Call(
            func=cst.Attribute(value=inner, attr=cst.Name(value="to")), args=[cst.Arg(value=cst.SimpleString())]
        ):
            return _lengths(code, inner)
        case cst.Name() if isinstance(value := only_value(code, node), cst.Call) and called(value) in _MOVES:
            return _lengths(code, value)
    return operand(code, node)


def without_packing(code: Code, packed: Packed, node: cst.Call) -> tuple[Change, ...]:
    """The statement goes that packs the rows, where they are not packed in the call itself."""
    above = code.parent(node)
    return (Change(above, ""),) if above is not None and packed.placed is not node else ()


def of_outputs(code: Code, packed: Packed, out: cst.BaseExpression) -> tuple[Change, ...] | None:
    """`out, lengths = pad_packed_sequence(out)`, or its `[0]`; None where the packed output goes elsewhere."""
    if not isinstance(out, cst.Name):
        return None
    pads = [
        one
        for one in every(whole_function(code, packed.run))
        if isinstance(one, cst.Call) and code.name(one.func) == _PAD
        if isinstance(one.args[0].value, cst.Name) and one.args[0].value.value == out.value
    ]
    if not pads:
        return () if not reads(code, out) or out.value == "_" else None
    pad = pads[0]
    value = argument(pad, "padding_value", 2)
    mask, filling = _padding(packed, out.value), code.source_of(value) if value else "0.0"
    text = f"{out.value}.masked_fill({mask}, {filling})"
    match code.parent(pad):
        case (
            cst.Subscript(
                value=inner, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer(value="0")))]
            ) as whole
        ):
            return (Change(whole, text),) if inner is pad else None
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=[first, second]))]) as whole:
            held = FreshNames(code).of("padding")
            lines = [f"{held} = {mask}", f"{code.source_of(first.value)} = {out.value}.masked_fill({held}, {filling})"]
            if isinstance(second.value, cst.Name) and second.value.value != "_" and reads(code, second.value):
                lines.append(f"{second.value.value} = {packed.lengths}")
            return (Change(whole, "\n".join(lines)),) if len(pads) == 1 else None
    return None


def _padding(packed: Packed, out: str) -> str:
    """A mask that is true where no row has anything."""
    lengths = f"{packed.lengths}.to({out}.device)"
    if packed.batch_first:
        return f"(torch.arange({out}.shape[1], device={out}.device) >= {lengths}[:, None])[..., None]"
    return f"(torch.arange({out}.shape[0], device={out}.device)[:, None] >= {lengths})[..., None]"


def _of_state(
    code: Code, packed: Packed, whole: cst.Assign, out: cst.BaseExpression, state: cst.BaseExpression
) -> tuple[Change, ...] | None:
    """The last state is the output where each row ends; None where a state is read that no output shows."""
    match state:
        case cst.Name(value="_"):
            return ()
        case cst.Name() if not reads(code, state):
            return ()
        case cst.Name() if _is(code, packed, "LSTM"):
            return None
        case cst.Tuple(elements=[first, second]) if called(packed.run) and isinstance(first.value, cst.Name):
            cell = second.value
            if isinstance(cell, cst.Name) and cell.value != "_" and reads(code, cell):
                return None
            state = first.value
    if not isinstance(state, cst.Name) or not isinstance(out, cst.Name):
        return None
    named = FreshNames(code).of("output") if out.value == "_" else out.value
    renamed = (Change(out, named),) if named != out.value else ()
    return (*renamed, Change(whole, f"{state.value} = {_last(packed, named)}", Where.AFTER))


def _is(code: Code, packed: Packed, layer: str) -> bool:
    return code.value(packed.run.func).name == f"torch.nn.{layer}"


def _last(packed: Packed, out: str) -> str:
    steps = f"({packed.lengths}.to({out}.device) - 1)"
    if packed.batch_first:
        return f"{out}.gather(1, {steps}[:, None, None].expand(-1, 1, {out}.shape[2])).transpose(0, 1)"
    return f"{out}.gather(0, {steps}[None, :, None].expand(1, -1, {out}.shape[2]))"
