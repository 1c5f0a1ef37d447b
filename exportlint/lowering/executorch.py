"""ExecuTorch: a .pte file for devices, run by its own runtime with its portable kernels."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves, torch_leaves
from exportlint.lowering.backend import Call, Lowering, OperatorUse, Raised, Ran, Reason
from exportlint.lowering.converters import predicates_of_numbers
from exportlint.lowering.executorch_reasons import Emitted, edge_operators, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import torch


# Imported once for all targets of a run, before the first of them: what compiling loads and takes long.
COMPILERS = ("executorch.exir",)

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


SCRIPT = """\
# Loads the program, runs it on the inputs of the sample, and prints what it gives: mutated inputs come first.
from pathlib import Path

import torch
from executorch.runtime import Runtime

here = Path(__file__).parent
inputs = torch.load(here / "{inputs}")
method = Runtime.get().load_program(here / "{artefact}").load_method("forward")
outputs = method.execute(inputs)
print(outputs)
"""


_OF_TORCH = ("aten", "prim", "prims")


class ExecuTorch(Lowering):
    """Portable kernels only, which every device has."""

    script = SCRIPT

    packages = ("torch", "executorch")
    modules = ("executorch",)
    probes = ("executorch.exir", "executorch.runtime")
    runtime = ("torch", "executorch")
    slow_dry_run = True
    # Patterns of names: mutable buffers whose values at the start are stored in the file; ExecuTorch begins with zeros.
    defaults = {"initialized_buffers": ()}  # noqa: RUF012 - see Lowering
    advice = {  # noqa: RUF012 - see Lowering
        "starts-at-zero": "store its value at the start: `to_executorch(ExecutorchBackendConfig(passes="
        "[InitializedMutableBufferPass([NAME])]))` (the setting `initialized_buffers` here), or start from zero",
    }
    install = "pip install 'exportlint[executorch]' (executorch 1.4.1 fits torch 2.13)"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._emitted = Emitted()

    def partitioners(self) -> list[Any]:
        """Other engines inside of the runtime, which take the parts of the graph that they know."""
        return []

    def operators(self, program: torch.export.ExportedProgram) -> Iterable[OperatorUse]:
        """Of the edge program, by the kernels that the runtime registers and what the partitioners take."""
        return edge_operators(program, self.partitioners())

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """The program with its weights as `model.pte`."""
        from executorch.exir import to_edge_transform_and_lower  # noqa: PLC0415 (the package may be missing)

        self._emitted = _exported(program)
        lowered = to_edge_transform_and_lower(program, partitioner=self.partitioners())
        lowered = lowered.to_executorch(self._config())
        self.facts = {"outputs": program.call_spec.out_spec.num_leaves}
        self._emitted = _emitted(lowered, self._emitted)
        path = folder / "model.pte"
        path.write_bytes(lowered.buffer)
        return path

    def _config(self) -> Any:
        from executorch.exir import ExecutorchBackendConfig  # noqa: PLC0415 (the package may be missing)
        from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass  # noqa: PLC0415 (as above)

        patterns = list(self.settings["initialized_buffers"])
        return ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(patterns)] if patterns else [])

    def load(self, artefact: Path) -> Call:
        """Values of mutated inputs come first in what the runtime gives; the model's own outputs are the last ones."""
        runtime = _runtime()
        checked = runtime.Verification.InternalConsistency
        program = runtime._load_program(str(artefact), program_verification=checked)  # noqa: SLF001 - see `runtime`
        method = program.load_method("forward")

        def call(leaves: Sequence[Any]) -> Ran:
            given = torch_leaves(leaves)
            every = method(given)
            return Ran(array_leaves(every[len(every) - self.facts["outputs"] :]), array_leaves(given))

        return call

    def explain(self, raised: Raised) -> Reason:
        """By the exception, the number in it, and what the runtime printed."""
        return reason_of(raised, self._emitted)


# What `executorch.runtime` is a wrapper of: in executorch 1.5, in 1.4, and a module that every version has.
_BINDINGS = ("_C", "_portable_lib", "portable_lib")


def _runtime() -> Any:
    """Without the compiler, which `executorch.runtime` imports too: that takes seconds, and no device has it."""
    *usual, _ = names = [f"executorch.extension.pybindings.{name}" for name in _BINDINGS]
    found = next((name for name in usual if importlib.util.find_spec(name)), names[-1])
    return importlib.import_module(found)


def _exported(program: torch.export.ExportedProgram) -> Emitted:
    """What is known before it is compiled."""
    writing: dict[str, None] = {}
    writers: dict[str, list[str]] = {}
    of_numbers: dict[str, str] = {}
    for node in program.graph.nodes:
        if isinstance(node.target, FunctionType):
            of_numbers.setdefault(node.target.__name__, node.name)
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            if node.target.namespace not in _OF_TORCH:
                writing[schema.name] = None
            for given in node.all_input_nodes:
                writers.setdefault(given.name, []).append(node.name)
    inputs = program.graph_signature.user_inputs
    predicates = predicates_of_numbers(program)
    return Emitted((), {}, inputs, tuple(writing), writers, of_numbers, predicates)


def _emitted(lowered: Any, exported: Emitted) -> Emitted:
    """The instructions and nodes of the one method."""
    plan = lowered.executorch_program.execution_plan[0]
    names = [f"{one.name}.{one.overload}" if one.overload else one.name for one in plan.operators]
    numbers = [getattr(one.instr_args, "op_index", None) for one in plan.chains[0].instructions]
    traces: dict[str, list[str]] = {}
    for node in lowered.exported_program().graph.nodes:
        if (schema := getattr(node.target, "_schema", None)) is not None:
            name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
            traces.setdefault(name, []).append(node.meta.get("stack_trace") or "")
    instructions = ["" if number is None else names[number] for number in numbers]
    return replace(exported, instructions=instructions, traces=traces)
