"""ExecuTorch: a .pte file for devices, run by its own runtime with its portable kernels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves, torch_leaves
from exportlint.lowering.backend import Call, Lowering, Raised, Ran, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence
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
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
from torch.export._tree_utils import reorder_kwargs
from torch.utils import _pytree as pytree

spec = program.call_spec
lowered = to_edge_transform_and_lower(program).to_executorch()
method = Runtime.get().load_program(lowered.buffer).load_method("forward")


def exported(*args, **kwargs):
    given = method.execute(pytree.tree_leaves((args, reorder_kwargs(kwargs, spec.in_spec))))
    return pytree.tree_unflatten(given[len(given) - spec.out_spec.num_leaves :], spec.out_spec)


"""


class ExecuTorch(Lowering):
    """Portable kernels only, which every device has."""

    packages = ("torch", "executorch")
    modules = ("executorch",)
    runtime = ("executorch.runtime",)
    install = "pip install 'exportlint[executorch]' (executorch 1.4.1 fits torch 2.13)"

    def partitioners(self) -> list[Any]:
        """Other engines inside of the runtime, which take the parts of the graph that they know."""
        return []

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """The program with its weights as `model.pte`."""
        from executorch.exir import to_edge_transform_and_lower  # noqa: PLC0415 (the package may be missing)

        lowered = to_edge_transform_and_lower(program, partitioner=self.partitioners()).to_executorch()
        self.facts = {
            "outputs": program.call_spec.out_spec.num_leaves,
            "operators": sorted(_operators(lowered.exported_program())),
        }
        path = folder / "model.pte"
        path.write_bytes(lowered.buffer)
        return path

    def load(self, artefact: Path) -> Call:
        """Values of mutated inputs come first in what the runtime gives; the model's own outputs are the last ones."""
        from executorch.runtime import Runtime  # noqa: PLC0415 (the package may be missing)

        method = Runtime.get().load_program(artefact).load_method("forward")

        def call(leaves: Sequence[Any]) -> Ran:
            given = torch_leaves(leaves)
            every = method.execute(given)
            return Ran(array_leaves(every[len(every) - self.facts["outputs"] :]), array_leaves(given))

        return call

    def explain(self, raised: Raised) -> Reason:
        """With the name of the error's number, and the operators that this runtime has no kernel for."""
        text = super().explain(raised).text
        found = _CODE.search(raised.text)
        if found is None:
            return Reason(text)
        text += f" ({ERRORS.get(int(found[1], 16), 'unknown')})"
        absent = tuple(self._absent())
        return Reason(f"{text}; this runtime has no kernel for {', '.join(absent)}" if absent else text, absent)

    def _absent(self) -> list[str]:
        from executorch.runtime import Runtime  # noqa: PLC0415 (the package may be missing)

        return sorted(set(self.facts.get("operators", ())) - set(Runtime.get().operator_registry.operator_names))


def _operators(program: torch.export.ExportedProgram) -> set[str]:
    schemas = (getattr(node.target, "_schema", None) for node in program.graph.nodes if node.op == "call_function")
    return {f"{s.name}.{s.overload_name}" if s.overload_name else s.name for s in schemas if s is not None}
