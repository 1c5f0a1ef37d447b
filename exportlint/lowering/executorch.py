"""ExecuTorch: a .pte file for devices, run by its own runtime."""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING, Any

from torch.utils import _pytree as pytree

from exportlint.lowering.backend import COMPILED, CallLowered, Lowered, Reason, lower_with, skipped
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch


# executorch/runtime/core/error.h; the runtime's exceptions carry the number alone.
ERRORS = {
    0x01: "Internal",
    0x02: "InvalidState",
    0x10: "NotSupported",
    0x11: "NotImplemented",
    0x12: "InvalidArgument",
    0x13: "InvalidType",
    0x14: "OperatorMissing",
    0x20: "NotFound",
    0x21: "MemoryAllocationFailed",
    0x23: "InvalidProgram",
    0x30: "DelegateInvalidCompatibility",
    0x31: "DelegateMemoryAllocationFailed",
    0x32: "DelegateInvalidHandle",
}
_CODE = re.compile(r"error: (0x[0-9a-fA-F]+)")

# For a script that shows the failure without exportlint: from `program` to `exported`, which is called as the model is.
REPRO = """\
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
from torch.export._tree_utils import reorder_kwargs
from torch.utils import _pytree as pytree

spec = program.call_spec
lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
method = Runtime.get().load_program(lowered.buffer).load_method("forward")


def exported(*args, **kwargs):
    given = method.execute(pytree.tree_leaves((args, reorder_kwargs(kwargs, spec.in_spec))))
    return pytree.tree_unflatten(given[len(given) - spec.out_spec.num_leaves :], spec.out_spec)


"""


class ExecuTorch:
    """XNNPACK takes the parts of the graph that it knows, the portable kernels the rest, as on a phone's CPU."""

    tolerance = COMPILED

    def __init__(self, program: torch.export.ExportedProgram) -> None:
        self.spec = program.call_spec
        self.operators: frozenset[str] = frozenset()

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner  # noqa: PLC0415
        from executorch.exir import to_edge_transform_and_lower  # noqa: PLC0415 (the package may be missing)

        edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
        lowered = edge.to_executorch()
        self.operators = frozenset(_operators(lowered.exported_program()))
        path = folder / "model.pte"
        path.write_bytes(lowered.buffer)
        return path

    def load(self, artefact: Path) -> CallLowered:
        from executorch.runtime import Runtime  # noqa: PLC0415 (the package may be missing)

        method = Runtime.get().load_program(artefact).load_method("forward")

        def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            given = method.execute(self._flat(args, kwargs))
            # Values of mutated inputs come first; the model's own outputs are the last ones.
            own = given[len(given) - self.spec.out_spec.num_leaves :]
            return pytree.tree_unflatten(own, self.spec.out_spec)

        return call

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        from torch.export._tree_utils import reorder_kwargs  # noqa: PLC0415

        ordered = reorder_kwargs(kwargs, self.spec.in_spec)
        return list(pytree.tree_leaves((args, ordered)))

    def explain(self, exc: BaseException) -> Reason:
        text = f"{type(exc).__name__}: {short(str(exc))}"
        found = _CODE.search(str(exc))
        if found is None:
            return Reason(text)
        text += f" ({ERRORS.get(int(found[1], 16), 'unknown')})"
        absent = tuple(self._absent())
        return Reason(f"{text}; this runtime has no kernel for {', '.join(absent)}" if absent else text, absent)

    def _absent(self) -> list[str]:
        from executorch.runtime import Runtime  # noqa: PLC0415 (the package may be missing)

        return sorted(self.operators - set(Runtime.get().operator_registry.operator_names))


def _operators(program: torch.export.ExportedProgram) -> set[str]:
    schemas = (getattr(node.target, "_schema", None) for node in program.graph.nodes if node.op == "call_function")
    return {f"{s.name}.{s.overload_name}" if s.overload_name else s.name for s in schemas if s is not None}


def lower(
    program: torch.export.ExportedProgram,
    build_model: Callable[[], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    workdir: Path,
) -> Lowered:
    """Compile to a .pte file, load it, run it twice beside a fresh eager model."""
    if importlib.util.find_spec("executorch") is None:
        return skipped("the package executorch is missing: pip install executorch (1.4.1 fits torch 2.13)")
    return lower_with(ExecuTorch(program), program, build_model, args, kwargs, workdir)
