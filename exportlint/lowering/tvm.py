"""TVM: a shared library of kernels that TVM generates, run by its virtual machine."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import TensorBytes, array_leaves
from exportlint.lowering.backend import Call, Lowering, OperatorUse, Raised, Ran, Reason
from exportlint.lowering.converters import (
    KNOWN_SIZES,
    OTHER_DTYPE,
    REAL_NUMBERS,
    SAME_DTYPES,
    SMALLER_STEPS,
    TENSOR_ARGUMENTS,
    TENSORS_ONLY,
    constant_arguments,
    interface_of,
    last_outputs,
    no_converter,
    operator_uses,
    origins,
    users_of_complex_inputs,
    with_constants,
    write_inputs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import torch


# Imported once for all targets of a run, before the first of them: what compiling loads and takes long.
COMPILERS = ("tvm.relax.frontend.torch",)

# For a script that shows the failure without exportlint: from `program` to `exported`, which is called as the model is.
REPRO = """\
import tvm
from torch.export._tree_utils import reorder_kwargs
from torch.utils import _pytree as pytree
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

spec = program.call_spec
machine = relax.VirtualMachine(tvm.compile(from_exported_program(program), target="llvm"), tvm.cpu())


def exported(*args, **kwargs):
    leaves = pytree.tree_leaves((args, reorder_kwargs(kwargs, spec.in_spec)))
    outputs = machine["main"](*(tvm.runtime.tensor(x.numpy()) for x in leaves))
    return pytree.tree_unflatten([torch.from_numpy(x.numpy()) for x in outputs], spec.out_spec)


"""

SCRIPT = """\
# Loads the library, runs it on the inputs of the sample, and prints what it gives.
import json

import numpy as np
import tvm.runtime.vm

here = __file__.removesuffix("run.py")
inputs, positions = np.load(here + "{inputs}"), json.load(open(here + "inputs.json"))
machine = tvm.runtime.vm.VirtualMachine(tvm.runtime.load_module(here + "{artefact}"), tvm.runtime.cpu())
given = [tvm.runtime.tensor(inputs[f"arg{position}"]) for position in positions]
for value in (one for one in machine["main"](*given) if one is not None):
    print(value.dtype, value.numpy().tolist())
"""

_UNSUPPORTED = re.compile(r"Unsupported function types \[(.*?)\]")
_QUOTED = re.compile(r"'([^']+)'")
_NO_TENSOR = re.compile(r'Cannot determine shape and dtype for input "(\w+)"')
_MIXED = re.compile(r"same datatype .*?datatype T\.(\w+) on the LHS.*?datatype T\.(\w+) on the RHS", re.DOTALL)
_NO_DTYPE = re.compile(r"input_type (?:torch\.)?(\w+) is not handled")


class TVM(Lowering):
    """Compiled for this machine's CPU by LLVM, without tuning; float32 results lie 1e-6 from eager's near 1."""

    defaults = {"target": "llvm"}  # noqa: RUF012 - see Lowering
    packages = ("torch", "apache-tvm")
    modules = ("tvm",)
    compiler = True
    runtime = ("tvm.runtime", "tvm.runtime.vm", "numpy")
    # The library without the compiler, as on a device.
    environment = {"TVM_USE_RUNTIME_LIB": "1"}  # noqa: RUF012 - see Lowering
    install = "pip install 'exportlint[tvm]'"
    script = SCRIPT
    keeps_state = False

    _program: torch.export.ExportedProgram | None = None
    _given: torch.export.ExportedProgram | None = None
    _failed: str = ""

    def missing(self) -> str | None:
        """TVM links what it generates with the compiler of this machine."""
        if why := super().missing():
            return why
        from tvm.support.cc import get_cc  # noqa: PLC0415 - see the module `backend`

        return None if get_cc() else "no C++ compiler, which links the library: apt install g++, or set CXX"

    def operators(self, program: torch.export.ExportedProgram) -> Iterable[OperatorUse]:
        """Of the decomposed graph; TVM knows operators by their names without namespace."""
        from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter  # noqa: PLC0415

        known = set(ExportedProgramImporter().convert_map)

        def why_missing(node: torch.fx.Node) -> str | None:
            return None if _name(node) in known else "no converter in TVM's PyTorch frontend"

        return list(operator_uses(program, self._decomposed(program).graph_module, why_missing))

    def _decomposed(self, program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
        """As the frontend does it first, once."""
        if self._program is not program:
            self._program, self._given = program, None
        self._given = self._given or program.run_decompositions()
        return self._given

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """As `model.so`, with the weights in it."""
        import tvm  # noqa: PLC0415 - see the module `backend`
        from tvm.relax.frontend.torch import from_exported_program  # noqa: PLC0415

        try:
            module = from_exported_program(self._decomposed(program), run_ep_decomposition=False)
            built = tvm.compile(module, target=self.settings["target"])
        except Exception as exc:
            self._failed = next(_nodes_in(exc), "")
            raise
        path = folder / "model.so"
        built.export_library(str(path))
        self.facts = interface_of(program)
        write_inputs(self.facts, folder)
        return path

    def load(self, artefact: Path) -> Call:
        """All outputs come in one array, even a single one."""
        import tvm  # noqa: PLC0415 - see the module `backend`
        from tvm.runtime.vm import VirtualMachine  # noqa: PLC0415

        _load_sorting()
        main = VirtualMachine(tvm.runtime.load_module(str(artefact)), tvm.runtime.cpu())["main"]

        def call(leaves: Sequence[Any]) -> Ran:
            given = [leaves[position] for position in self.facts["inputs"]]
            arrays = [leaf.numpy() if isinstance(leaf, TensorBytes) else leaf for leaf in given]
            outputs = main(*map(tvm.runtime.tensor, arrays))
            found = [one.numpy() for one in outputs if one is not None]
            return Ran(with_constants(array_leaves(found), self.facts))

        return call

    def explain(self, raised: Raised) -> Reason:
        """The frontend says little: which operators it lacks, or what went wrong inside of a converter."""
        text = raised.text
        if found := _UNSUPPORTED.search(text):
            return self._unsupported(set(_QUOTED.findall(found[1])))
        if found := _NO_TENSOR.search(text):
            return Reason(_only_tensors([found[1]]), (), TENSOR_ARGUMENTS)
        if self._program and "object has no attribute 'shape'" in text and (names := constant_arguments(self._program)):
            return Reason(_only_tensors(names), (), TENSOR_ARGUMENTS)
        if (found := _NO_DTYPE.search(text)) and "complex" in found[1]:
            nodes = (self._program and users_of_complex_inputs(self._program)) or ()
            return Reason("TVM has no complex numbers", (), REAL_NUMBERS, self._failing() or nodes)
        if "Unsupported output type in exported graph output" in text:
            nodes = (self._program and last_outputs(self._program)) or ()
            return Reason("TVM returns tensors, and the model returns another value", (), TENSORS_ONLY, nodes)
        return self._other(raised)

    def _unsupported(self, names: set[str]) -> Reason:
        nodes = [node for node in self._given.graph.nodes if _name(node) in names] if self._given else []
        operators = list(dict.fromkeys(str(node.target) for node in nodes)) or sorted(names)
        reason = no_converter("TVM's PyTorch frontend", operators, "give from_exported_program a custom_convert_map")
        places = tuple(origin for node in nodes for origin in self._origins(node.name))
        return Reason(reason.text, reason.operators, reason.suggestion, places)

    def _other(self, raised: Raised) -> Reason:
        """With the operator that was being converted; of the C++ stack that TVM adds, only the message."""
        last = raised.error_class.rpartition(".")[2]
        words = raised.text.strip().partition("\n")[0]
        node = self._node()
        if node is None:
            return Reason(f"{last}: {words}")
        operator = (str(node.target),)
        if found := _MIXED.search(raised.text):
            words = f"TVM's converter of {node.target} mixes {found[1]} and {found[2]}"
            return Reason(words, operator, _for_dtypes({found[1], found[2]}), self._failing())
        suggestion = KNOWN_SIZES if "T.bool" in raised.text else SMALLER_STEPS
        return Reason(f"{node.target}: {last}: {words}", operator, suggestion, self._failing())

    def _node(self) -> torch.fx.Node | None:
        nodes = self._given.graph.nodes if self._given else ()
        return next((node for node in nodes if node.name == self._failed and node.op == "call_function"), None)

    def _failing(self) -> tuple[str, ...]:
        return self._origins(self._failed)

    def _origins(self, name: str) -> tuple[str, ...]:
        return origins(self._program, self._given.graph_module, name) if self._program and self._given else ()


def _load_sorting() -> None:
    """Kernels that TVM does not generate, such as for topk, are in a library that the runtime alone leaves out."""
    import tvm  # noqa: PLC0415 - see the module `backend`

    library = Path(tvm.__file__).parent / "lib" / "libtvm_runtime_extra.so"
    if library.is_file():
        ctypes.CDLL(str(library))


def _name(node: torch.fx.Node) -> str:
    return getattr(node.target, "__name__", "") if node.op == "call_function" else ""


def _only_tensors(arguments: Sequence[str]) -> str:
    return f"TVM's PyTorch frontend takes tensors only, and of the arguments {', '.join(arguments)} are none"


def _for_dtypes(names: set[str]) -> str:
    return OTHER_DTYPE if names & {"float64", "float16", "bfloat16"} else SAME_DTYPES


def _nodes_in(exc: BaseException) -> Iterator[str]:
    """The node that the importer was at, which its messages do not name; in the innermost graph first."""
    trace, frames = exc.__traceback__, []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in reversed(frames):
        node = frame.f_locals.get("node") if frame.f_code.co_name == "_translate_fx_graph" else None
        if node is not None:
            yield str(node.name)
