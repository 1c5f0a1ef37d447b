"""What a dim means, by what the model does with it: a batch is what may be cut from inputs and is cut from outputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from exportlint.trial.child.dynamic_shapes.input_tensors import input_tensors
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.dynamic_shapes.symbolic_trace import InputSize, SymbolicTrace
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded


_SPACE = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}
_VIDEO = re.compile("video|frame|clip", re.IGNORECASE)
_BATCH_FIRST = 8  # of aten.lstm.input and aten.gru.input
_MOST = 3  # further symbols are no batch


def meaning(loaded: Loaded, inputs: Inputs, program: Any, trace: SymbolicTrace) -> dict[Any, str]:
    """A name for each symbol that the use of its dims shows; none for the others."""
    found: dict[Any, str] = {}
    model = loaded.model()
    for size, name in _by_use(program, trace):
        video = _VIDEO.search(f"{size.tensor.label} {type(model).__name__}")
        found.setdefault(size.form, "frames" if name == "depth" and video else name)
    likely = [size for size in trace.sizes if size.tensor.value.dim() > 1 and size.form in trace.ranges]
    roots = dict.fromkeys(size.form for size in sorted(likely, key=lambda size: size.dim) if size.dim <= 1)
    for root in [root for root in roots if found.get(root, "batch") == "batch"][:_MOST]:
        if "batch" not in found.values() and _is_batch(loaded, inputs, trace, root):
            found[root] = "batch"
    return found


def _by_use(program: Any, trace: SymbolicTrace) -> Iterator[tuple[InputSize, str]]:
    """Dims that a convolution slides over, an embedding looks up one by one, a recurrent layer steps through."""
    sizes = {size.form: size for size in trace.sizes if size.form in trace.ranges}
    for user in program.graph.nodes:
        for node in user.all_input_nodes if user.op == "call_function" else ():
            names = _names(node, user)
            for name, dim in zip(reversed(names), reversed(_shape(node)), strict=False):
                symbols = dim.node.expr.free_symbols if isinstance(dim, torch.SymInt) else ()
                if name and len(symbols) == 1 and (size := sizes.get(next(iter(symbols)))):
                    yield size, name


def _shape(node: Any) -> list[Any]:
    value = node.meta.get("val") if hasattr(node, "meta") else None
    return list(value.shape) if isinstance(value, torch.Tensor) else []


def _names(node: Any, user: Any) -> tuple[str, ...]:
    """Of the last dims of the node, for the operator that takes it."""
    operator = str(user.target)
    arguments = user.args
    if "conv" in operator and len(arguments) > 1 and arguments[0] is node:
        return _SPACE.get(len(_shape(arguments[1])) - 2, ())
    if "embedding" in operator and len(arguments) > 1 and arguments[1] is node:
        return ("length",) if len(_shape(node)) > 1 else ()
    if operator in {"aten.lstm.input", "aten.gru.input"} and arguments[0] is node and len(_shape(node)) > 2:  # noqa: PLR2004
        first = len(arguments) > _BATCH_FIRST and arguments[_BATCH_FIRST]
        return ("batch", "length", "") if first else ("length", "batch", "")
    return ()


def _is_batch(loaded: Loaded, inputs: Inputs, trace: SymbolicTrace, root: Any) -> bool:
    """Do the outputs lose what the inputs lose there, in whatever order it comes, and stay the same otherwise?"""
    sizes = trace.of(root)
    if any(size.form != root for size in sizes):
        return False
    number = trace.samples()[root]
    order = torch.tensor(range(number - 1, 0, -1) if number > 2 else [number - 1, 0, number - 1])  # noqa: PLR2004
    dims = {(size.tensor.label, size.dim) for size in sizes}
    with torch.no_grad():
        try:
            cut = _reordered(loaded.model(), inputs, dims, order)
            ours, theirs = _outputs(loaded.model(), inputs), _outputs(loaded.model(), cut)  # a call may leave a state
        except BaseException:  # noqa: BLE001 - a model may raise anything; then it is no batch
            return False
    pairs = list(zip(ours, theirs, strict=False))
    return (
        len(ours) == len(theirs)
        and any(a.shape != b.shape for a, b in pairs)
        and all(_cut(a, b, order) for a, b in pairs)
    )


def _reordered(model: Any, inputs: Inputs, dims: set[tuple[str, int]], order: torch.Tensor) -> Inputs:
    of = {id(tensor.value): tensor for tensor in input_tensors(model, inputs)}
    leaves, spec = pytree.tree_flatten(inputs)
    found = []
    for original in leaves:
        value = original
        for dim in range(original.dim()) if id(original) in of else ():
            if (of[id(original)].label, dim) in dims:
                value = value.detach().index_select(dim, order)
        found.append(value)
    made: Inputs = pytree.tree_unflatten(found, spec)
    return made


def _outputs(model: Any, inputs: Inputs) -> list[torch.Tensor]:
    args, kwargs = copied(inputs)
    seed(5)
    return [
        leaf.detach().clone() for leaf in pytree.tree_leaves(model(*args, **kwargs)) if isinstance(leaf, torch.Tensor)
    ]


def _cut(ours: torch.Tensor, theirs: torch.Tensor, order: torch.Tensor) -> bool:
    if ours.dim() != theirs.dim() or ours.dtype != theirs.dtype:
        return False
    changed = [dim for dim in range(ours.dim()) if ours.shape[dim] != theirs.shape[dim]]
    if not changed:
        return True  # a table, say, that belongs to no input
    if len(changed) > 1 or int(order.max()) >= ours.shape[changed[0]]:
        return False
    wanted = ours.index_select(changed[0], order)
    return wanted.shape == theirs.shape and bool(torch.allclose(wanted.double(), theirs.double(), rtol=1e-3, atol=1e-4))
