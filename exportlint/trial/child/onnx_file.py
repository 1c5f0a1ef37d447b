"""The file that `torch.onnx.export(dynamo=False)` writes, and what ONNX Runtime makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import pytree

if TYPE_CHECKING:
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.execution.request import StageRequest

Places = Sequence[tuple[int, int]]  # the number of a tensor among the inputs, and of one of its dims


def tensors_of(inputs: Any) -> list[torch.Tensor]:
    """The tensors among the inputs, in the order in which torch takes them apart."""
    return [one for one in pytree.tree_leaves(inputs) if isinstance(one, torch.Tensor)]


class OnnxFile:
    """The file that torch.onnx.export(dynamo=False) writes with the script's other arguments; called like the model, it
    runs in ONNX Runtime.

    declared  what `dynamic_axes` name -> the dims
    unknown   what they name that is none of the `names` of inputs and outputs, so that nothing is declared with it
    """

    def __init__(self, request: StageRequest, sample: Inputs, *, dynamo: bool = False) -> None:
        """Raises ImportError without ONNX Runtime, and what torch raises."""
        import onnxruntime  # noqa: F401, PLC0415 - where a script needs it

        loaded, options = request.loaded, dict(request.loaded.call_options)
        if dynamo:  # it writes its own opset, and not every one can be made of it
            options.pop("opset_version", None)
        args, kwargs = copied(sample)
        self.file = str(request.folder / f"{'exported' if dynamo else 'traced'}.onnx")
        seed(0)
        torch.onnx.export(loaded.eager(), args, self.file, kwargs=kwargs or None, **{**options, "dynamo": dynamo})
        args, kwargs = copied(sample)
        self.outputs = pytree.tree_flatten(loaded.eager()(*args, **kwargs))[1]
        self.declared = _declared_axes(options, len(tensors_of(sample)))
        self.names = [*(options.get("input_names") or ()), *(options.get("output_names") or ())]
        self.unknown = [name for name in options.get("dynamic_axes") or () if self.names and name not in self.names]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from onnxruntime import InferenceSession  # noqa: PLC0415 - as above

        # Its threads do not survive a fork, so each process makes its own.
        session = InferenceSession(self.file, providers=["CPUExecutionProvider"])
        given = [one.detach().numpy() for one in tensors_of((args, kwargs))]
        named = dict(zip((one.name for one in session.get_inputs()), given, strict=True))
        made = [torch.from_numpy(one) for one in session.run(None, named)]
        return pytree.tree_unflatten(made, self.outputs) if len(made) == self.outputs.num_leaves else tuple(made)


def _declared_axes(options: Mapping[str, Any], tensors: int) -> Mapping[str, Places]:
    axes, names = options.get("dynamic_axes") or {}, list(options.get("input_names") or ())
    found: dict[str, list[tuple[int, int]]] = {}
    for number, name in enumerate(names[:tensors]):
        dims = axes.get(name, {})
        called = dims.items() if isinstance(dims, Mapping) else ((dim, f"dim {dim} of `{name}`") for dim in dims)
        for dim, title in called:
            found.setdefault(str(title), []).append((number, dim))
    return found
