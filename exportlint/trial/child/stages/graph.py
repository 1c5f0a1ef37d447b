"""graph: the exported program as plain data, line by line of the source. Asked for by `--show graph` only.

`data["graph"]`:

mode        the mode of the export
inputs      what a caller gives, as [name, type]
lifted      what became an input of the graph, as [parameter | buffer | constant | object, name, type, place]
mutated     what a call leaves changed, as [buffer | parameter | input, name, place]
functional  operators in place, and the one of the same name that stands there without them (or None), as
            [operator, operator, place]
written_out  the blocks of the functional graph, in which nothing is in place; empty where the program is it
graphs      [name, blocks]: the program itself is called "", the others are branches and bodies of its operators.
            A block is [place, source text, operations], an operation [name, type, call, is it in place]
outputs     [name, type, where it is in what forward returns: `['logits'][0]`; "" where that has no keys]
ranges      of the sizes that are free, as sentences

A place is [path, line], or None where the graph has none.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.graph_places import constant_place
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import from_program
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.child.torch_private.operators import is_operator, schema_of
from exportlint.trial.protocol.frames import Frame, is_user_path, message_frames
from exportlint.trial.protocol.outcomes import PASSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


SourcePlace = list[Any] | None
_LIFTED = {"PARAMETER": "parameter", "BUFFER": "buffer", "CONSTANT_TENSOR": "constant", "CUSTOM_OBJ": "object"}
_MUTATED = {"BUFFER_MUTATION": "buffer", "PARAMETER_MUTATION": "parameter", "USER_INPUT_MUTATION": "input"}


@from_program
def run(request: StageRequest, program: Any) -> StageAnswer:
    types = {node.name: _type(node.meta.get("val")) for node in program.graph.nodes}
    # Without operators in place every write is an output. In a fork: it ends some programs' process.
    functional = in_fork(lambda: _functional(program.run_decompositions({})), request.folder).value or {}
    signature = program.graph_signature
    outputs = [spec.arg for spec in signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    replaced = _replaced(program, functional.get("operators", []))
    graph = {
        "mode": request.mode,
        "inputs": [[spec.arg.name, types.get(spec.arg.name, "")] for spec in signature.input_specs if _given(spec)],
        "lifted": list(_lifted(program, types)),
        "mutated": functional.get("mutated", []),
        "functional": replaced,
        "written_out": functional.get("blocks", []) if replaced else [],
        "graphs": [[name, list(_blocks(module))] for name, module in _graphs(program.graph_module)],
        "ranges": [f"{name}: {limits.lower} to {limits.upper}" for name, limits in program.range_constraints.items()],
        "outputs": [
            [_name(arg), types.get(_name(arg), ""), key]
            for arg, key in zip(outputs, _keys(program, len(outputs)), strict=True)
        ],
    }
    return StageAnswer(PASSED, "", {"graph": graph})


def _given(spec: Any) -> bool:
    return bool(spec.kind.name == "USER_INPUT")


def _name(arg: Any) -> str:
    return str(getattr(arg, "name", None) or getattr(arg, "value", arg))


def _keys(program: Any, count: int) -> list[str]:
    """Where each output is in what forward returns; "" for all where it is one tensor or a row of them."""
    try:
        returned = pytree.tree_unflatten(list(range(count)), program.call_spec.out_spec)
        paths = [path for path, _ in pytree.tree_flatten_with_path(returned)[0]]
    except Exception:  # noqa: BLE001 - a class of the model's own is made anew, of numbers, or has no keys
        return [""] * count
    named = any(not isinstance(key, pytree.SequenceKey) for path in paths for key in path)
    return [pytree.keystr(path) for path in paths] if named and len(paths) == count else [""] * count


def _lifted(program: Any, types: dict[str, str]) -> Iterator[list[Any]]:
    for spec in program.graph_signature.input_specs:
        if kind := _LIFTED.get(spec.kind.name):
            frames = constant_place(program, spec.target) if kind == "constant" else ()
            yield [kind, spec.target, types.get(spec.arg.name, ""), _innermost(frames)]


def _functional(program: Any) -> dict[str, Any]:
    nodes = {node.name: node for node in program.graph.nodes}
    specs = program.graph_signature.output_specs
    mutated = [
        [_MUTATED[spec.kind.name], spec.target, _place(nodes[spec.arg.name])]
        for spec in specs
        if spec.kind.name in _MUTATED
    ]
    calls = [[str(node.target), _place(node)] for node in program.graph.nodes if node.op == "call_function"]
    return {"mutated": mutated, "operators": calls, "blocks": list(_blocks(program.graph_module))}


def _replaced(program: Any, operators: list[list[Any]]) -> list[list[Any]]:
    found = []
    for node in program.graph.nodes:
        if _in_place(node):
            place, old = _place(node), str(node.target)
            same = (name for name, where in operators if where == place and _plain_name(name) == _plain_name(old))
            found.append([old, next(same, None), place])
    return found


def _plain_name(operator: str) -> str:
    """The same for `aten.add_.Tensor` and `aten.add.Tensor`."""
    return operator.rpartition(".")[0].rstrip("_")


def _in_place(node: Any) -> bool:
    return bool(getattr(schema_of(node.target), "is_mutable", False))


def _graphs(module: Any) -> Iterator[tuple[str, Any]]:
    return ((name, one) for name, one in module.named_modules() if isinstance(one, torch.fx.GraphModule))


def _blocks(module: Any) -> Iterator[list[Any]]:
    nodes = (node for node in module.graph.nodes if node.op not in ("placeholder", "output", "get_attr"))
    for frame, group in groupby(nodes, key=_frame):
        place = [frame.path, frame.line] if frame else None
        yield [place, frame.text if frame else "", [_operation(node) for node in group]]


def _operation(node: Any) -> list[Any]:
    args = [*map(_argument, node.args), *(f"{key}={_argument(value)}" for key, value in node.kwargs.items())]
    call = f"{getattr(node.target, '__name__', node.target)}" if callable(node.target) else str(node.target)
    call = str(node.target) if is_operator(node.target) else call
    return [node.name, _type(node.meta.get("val")), f"{call}({', '.join(args)})", _in_place(node)]


def _argument(value: Any) -> str:
    return str(pytree.tree_map(_Bare, value)) if isinstance(value, (list, tuple, dict)) else str(_Bare(value))


class _Bare:
    """Prints a node by its name, and text as text."""

    def __init__(self, value: Any) -> None:
        self._text = value.name if isinstance(value, torch.fx.Node) else repr(value)

    def __repr__(self) -> str:
        return self._text


def _type(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_type, value))})"
    return "" if value is None else type(value).__name__


def _frame(node: Any) -> Frame | None:
    frames = message_frames(node.meta.get("stack_trace") or "")
    return next((frame for frame in reversed(frames) if is_user_path(frame.path)), None)


def _place(node: Any) -> SourcePlace:
    frame = _frame(node)
    return [frame.path, frame.line] if frame else None


def _innermost(frames: Iterable[Frame]) -> SourcePlace:
    own = [frame for frame in frames if is_user_path(frame.path)]
    return [own[-1].path, own[-1].line] if own else None
