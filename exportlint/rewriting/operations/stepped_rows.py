"""Run a recurrent layer step by step over padded rows: of any number of layers and directions, with its last state."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.operations.packed_rows import of_outputs, packed_call, without_packing
from exportlint.rewriting.source.source_of_calls import argument
from exportlint.rule.editing.repair import Beside, Change, ModuleImport, Rewrite, Where

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from exportlint.rule.code import Code


_NAME = "run_padded"
_FUNCTION = '''\
def run_padded(layer, rows, lengths, state=None, batch_first=False, enforce_sorted=True):
    """What a recurrent layer gives for packed rows of these lengths, computed on padded ones, step by step."""
    steps = rows.transpose(0, 1) if batch_first else rows
    lengths = torch.as_tensor(lengths, device=steps.device)
    torch._assert_async((lengths > 0).all(), "a row is empty")
    if enforce_sorted:
        torch._assert_async((lengths[1:] <= lengths[:-1]).all(), "the rows are not sorted by their lengths")
    runs = torch.arange(steps.shape[0], device=steps.device)[:, None, None] < lengths[:, None]
    has_cell, directions = layer.mode == "LSTM", 2 if layer.bidirectional else 1
    cells = {"LSTM": torch.lstm_cell, "GRU": torch.gru_cell, "RNN_RELU": torch.rnn_relu_cell}
    cell = cells.get(layer.mode, torch.rnn_tanh_cell)
    if state is None:
        zeros = steps.new_zeros(layer.num_layers * directions, steps.shape[1], layer.hidden_size)
        state = (zeros, zeros) if has_cell else zeros
    begun, ended = state if has_cell else (state,), []
    for number in range(layer.num_layers):
        outputs = []
        for index in range(number * directions, (number + 1) * directions):
            now, seen = tuple(part[index] for part in begun), {}
            order = range(steps.shape[0])
            for step in order if index % directions == 0 else reversed(order):
                new = cell(steps[step], now if has_cell else now[0], *layer.all_weights[index])
                new = new if has_cell else (new,)
                now = tuple(torch.where(runs[step], one, before) for one, before in zip(new, now))
                seen[step] = now[0]
            outputs.append(torch.stack([seen[step] for step in order]))
            ended.append(now)
        steps = torch.cat(outputs, -1)
        if number + 1 < layer.num_layers:
            steps = torch.nn.functional.dropout(steps, layer.dropout, layer.training)
    last = tuple(torch.stack(parts) for parts in zip(*ended))
    return steps.transpose(0, 1) if batch_first else steps, last if has_cell else last[0]
'''


def stepped_rows(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`pack_padded_sequence`, one layer, and `pad_packed_sequence`, or the last state."""
    packed = packed_call(code, node)
    outer = code.parent(packed.run) if packed else None
    top = _top(code)
    match outer:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=[out, _]))]) if packed and top is not None:
            masked = of_outputs(code, packed, out.value)
            if masked is not None:
                rest = [code.source_of(arg.value) for arg in packed.run.args[1:]]
                given = [code.source_of(packed.run.func), packed.rows, packed.lengths, *rest]
                given += ["batch_first=True"] if packed.batch_first else []
                ordered = argument(node, "enforce_sorted", 3)
                given += [f"enforce_sorted={code.source_of(ordered)}"] if ordered is not None else []
                run = Change(packed.run, f"{_NAME}({', '.join(given)}){_otherwise(code, node, packed.run)}")
                gone = without_packing(code, packed, node)
                made = () if _NAME in code.module.functions else (Beside(top, f"{_FUNCTION}\n", Where.BEFORE),)
                yield Rewrite("step over padded rows", (*gone, run, *masked, *made, ModuleImport("torch")))


def _otherwise(code: Code, node: cst.Call, run: cst.Call) -> str:
    """What runs where the rows are not packed: the call as it stands, of a layer that is run outside of the `if`."""
    test = _condition(code, node, set(_above(code, run)))
    return f" if {test} else {code.source_of(run)}" if test else ""


def _condition(code: Code, node: cst.CSTNode, around: set[cst.CSTNode]) -> str:
    """The tests under which the node stands, and what is in `around` does not."""
    tests = [
        code.source_of(above.test) if inner is above.body else f"not ({code.source_of(above.test)})"
        for inner, above in pairwise([node, *_above(code, node)])
        if isinstance(above, cst.If) and above not in around
    ]
    return " and ".join(f"({one})" if len(tests) > 1 else one for one in reversed(tests))


def _above(code: Code, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    while (above := code.parent(node)) is not None:
        yield above
        node = above


def _top(code: Code) -> ast.stmt | None:
    """The statement of the file that the code stands in."""
    if code.function is None or code.function.module is not code.module:
        return None
    first = code.function.node.lineno
    return next((one for one in code.module.tree.body if one.lineno <= first <= (one.end_lineno or 0)), None)
