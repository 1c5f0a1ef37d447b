"""ExecuTorch with XNNPACK: a .pte file whose parts that XNNPACK knows run on its kernels, as on a phone's CPU."""

from __future__ import annotations

from typing import Any

from exportlint.lowering.executorch import ExecuTorch

# Imported once for all targets of a run, before the first of them: what compiling loads and takes long.
COMPILERS = ("executorch.exir", "executorch.backends.xnnpack.partition.xnnpack_partitioner")

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


class ExecuTorchXnnpack(ExecuTorch):
    """XNNPACK takes the parts of the graph that it knows, the portable kernels the rest."""

    def partitioners(self) -> list[Any]:
        """One, with its usual configurations."""
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner  # noqa: PLC0415

        return [XnnpackPartitioner()]
