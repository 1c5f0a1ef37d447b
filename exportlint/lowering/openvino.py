"""OpenVINO: an .xml file with its weights in a .bin file, run by its CPU plugin."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import BFLOAT16, TensorBytes, numpy_bits
from exportlint.lowering.backend import Call, Lowering, OperatorUse, Raised, Ran, Reason
from exportlint.lowering.converters import (
    REAL_NUMBERS,
    SMALLER_STEPS,
    TENSOR_ARGUMENTS,
    TENSORS_ONLY,
    constant_arguments,
    duplicate_outputs,
    interface_of,
    last_outputs,
    no_converter,
    operator_uses,
    origins,
    quiet,
    users_of_complex_inputs,
    with_constants,
    write_inputs,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from pathlib import Path

    import torch


# For a script that shows the failure without exportlint: from `program` to `exported`, which is called as the model is.
REPRO = """\
import openvino
from torch.export._tree_utils import reorder_kwargs
from torch.utils import _pytree as pytree

spec = program.call_spec
config = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = openvino.Core().compile_model(openvino.convert_model(program), "CPU", config)


def exported(*args, **kwargs):
    leaves = pytree.tree_leaves((args, reorder_kwargs(kwargs, spec.in_spec)))
    outputs = compiled([x.numpy() for x in leaves])
    given = [torch.from_numpy(outputs[position]) for position in range(len(compiled.outputs))]
    return pytree.tree_unflatten(given, spec.out_spec)


"""

SCRIPT = """\
# Loads the model, runs it on the inputs of the sample, and prints what it gives.
import json

import numpy as np
import openvino

here = __file__.removesuffix("run.py")
inputs, positions = np.load(here + "{inputs}"), json.load(open(here + "inputs.json"))
compiled = openvino.Core().compile_model(here + "{artefact}", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
outputs = compiled([inputs[f"arg{position}"] for position in positions])
for position in range(len(compiled.outputs)):
    print(outputs[position].dtype, outputs[position].tolist())
"""

_NO_RANK = re.compile(r"doesn't support Parameter operation with dynamic rank. Operation name: (\w+)")
_NO_RULE = re.compile(r"No conversion rule found for operations: (.+)")
_FAILED = re.compile(r"during conversion of operation ([^\s/]+)/(\S+) with schema")
_FAILURE = re.compile(r"Conversion is failed for: (.+)")


# On import and in each conversion it tells its makers over the network that it is used, from a process that outlives
# this one where there is no network. Not where this is set.
_IN_CI = {"CI": "true"}


@contextmanager
def _telling_nobody() -> Generator[None]:
    """For what uses OpenVINO where the environment is the model's, which is left as it was."""
    before = os.environ.get("CI")
    os.environ.update(_IN_CI)
    try:
        yield
    finally:
        if before is None:
            del os.environ["CI"]
        else:
            os.environ["CI"] = before


class OpenVINO(Lowering):
    """Weights and kernels in float32, as the model has them: as exact as any compiled kernel (1e-6 on values near 1).

    Left alone, the CPU plugin computes in bfloat16 where the processor can (AMX, AVX-512), which is 1e-2 off, and
    `save_model` halves the weights to float16, 1e-3 off. float64 is computed in float32 in any case.
    """

    defaults = {  # noqa: RUF012 - see Lowering
        "config": {"INFERENCE_PRECISION_HINT": "f32"},
        "compress_to_fp16": False,
    }
    packages = ("torch", "openvino")
    modules = ("openvino",)
    runtime = ("openvino", "numpy")
    environment = _IN_CI
    install = "pip install 'exportlint[openvino]'"
    script = SCRIPT
    keeps_state = False

    _program: torch.export.ExportedProgram | None = None
    _decoder: Any = None

    def operators(self, program: torch.export.ExportedProgram) -> Iterable[OperatorUse]:
        """Its frontend has no list to ask: the graph is converted as far as it goes, which takes milliseconds."""
        with quiet(), _telling_nobody():
            from openvino.frontend import FrontEndManager  # noqa: PLC0415 - see the module `backend`

            decoder = self._decoded(program)
            frontend = FrontEndManager().load_by_framework("pytorch")
            partial = frontend.convert_partially(frontend.load(decoder))
        left = {one.get_friendly_name().partition("/")[0] for one in partial.get_ops() if _is_left(one)}

        def why_missing(node: torch.fx.Node) -> str | None:
            return "no conversion in OpenVINO's PyTorch frontend" if node.name in left else None

        return list(operator_uses(program, decoder.pt_module, why_missing))

    def _decoded(self, program: torch.export.ExportedProgram) -> Any:
        from openvino.frontend.pytorch.fx_decoder import TorchFXPythonDecoder  # noqa: PLC0415

        if self._program is not program:
            self._program, self._decoder = program, None
        if self._decoder is None:
            self._decoder = TorchFXPythonDecoder.from_exported_program(program)
        return self._decoder

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """As `model.xml` and `model.bin`. What `convert_model` makes first of a program is there from the dry run."""
        with quiet(), _telling_nobody():
            import openvino  # noqa: PLC0415 - see the module `backend`

            model = openvino.convert_model(self._decoded(program))
        path = folder / "model.xml"
        openvino.save_model(model, str(path), compress_to_fp16=self.settings["compress_to_fp16"])
        self.facts = interface_of(program)
        write_inputs(self.facts, folder)
        return path

    def load(self, artefact: Path) -> Call:
        """Inputs and outputs by their positions: their names are not the program's."""
        import openvino  # noqa: PLC0415 - see the module `backend`

        compiled = openvino.Core().compile_model(str(artefact), "CPU", dict(self.settings["config"]))
        request = compiled.create_infer_request()

        def call(leaves: Sequence[Any]) -> Ran:
            given = [_tensor(leaves[position]) for position in self.facts["inputs"]]
            request.infer(dict(enumerate(given)))
            outputs = [_array(request.get_output_tensor(number)) for number in range(len(compiled.outputs))]
            return Ran(with_constants(outputs, self.facts))

        return call

    def explain(self, raised: Raised) -> Reason:
        """The frontend reports every operation that it could not convert."""
        text = raised.text
        if found := _NO_RULE.search(text):
            names = [name.strip() for name in found[1].split(",")]
            reason = no_converter("OpenVINO's PyTorch frontend", names, "add a ConversionExtension")
            return Reason(reason.text, reason.operators, reason.suggestion, self._nodes_of(names))
        if found := _FAILURE.search(text):
            return self._failed(text, found[1])
        if "is not in list" in text and raised.error_class == "ValueError":
            nodes = (self._program and last_outputs(self._program)) or ()
            words = "OpenVINO's PyTorch frontend takes tensors as outputs, and the model returns a Python number"
            return Reason(words, (), TENSORS_ONLY, nodes)
        return self._other(raised)

    def _other(self, raised: Raised) -> Reason:
        if (found := _NO_RANK.search(raised.text)) and self._program:
            names = ", ".join(constant_arguments(self._program)) or found[1]
            words = f"OpenVINO takes tensors only, and keeps inputs without type for the arguments {names}"
            return Reason(words, (), TENSOR_ARGUMENTS)
        if "Tensor name is not a number" in raised.text and self._program and duplicate_outputs(self._program):
            words = "OpenVINO's PyTorch frontend cannot return a tensor twice"
            return Reason(
                words, (), "return it once, and let the caller use it twice", duplicate_outputs(self._program)
            )
        return Reason(f"{raised.error_class.rpartition('.')[2]}: {_innermost(raised.text)}")

    def _failed(self, text: str, names: str) -> Reason:
        found = _FAILED.search(text)
        if "complex" in text or "inlined.constant" in names:
            nodes = (self._program and users_of_complex_inputs(self._program)) or ()
            if nodes:
                return Reason("OpenVINO has no complex tensors", (), REAL_NUMBERS, nodes)
        nodes = self._origins(found[1]) if found else ()
        return Reason(f"OpenVINO cannot convert {names}: {_innermost(text)}", (names,), SMALLER_STEPS, nodes)

    def _nodes_of(self, operators: Sequence[str]) -> tuple[str, ...]:
        nodes = self._decoder.pt_module.graph.nodes if self._decoder else ()
        calls = [node for node in nodes if node.op == "call_function"]
        found = [node.name for node in calls if str(node.target) in operators or node.target.__name__ in operators]
        return tuple(origin for name in found for origin in self._origins(name))

    def _origins(self, name: str) -> tuple[str, ...]:
        return origins(self._program, self._decoder.pt_module, name) if self._program and self._decoder else ()


def _is_left(node: Any) -> bool:
    return bool(node.get_type_name() == "PtFrameworkNode")


def _innermost(text: str) -> str:
    """Of the checks that failed inside of each other, the words of the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Summary", "--", "Check '", "FrontEnd API", "Exception"))]
    return (told or lines)[-1].removeprefix("[PyTorch Frontend] ")


def _tensor(leaf: Any) -> Any:
    import openvino  # noqa: PLC0415 - see the module `backend`

    array, are_bits = numpy_bits(leaf)
    return (
        openvino.Tensor(array, openvino.Shape(array.shape), openvino.Type.bf16) if are_bits else openvino.Tensor(array)
    )


def _array(tensor: Any) -> TensorBytes:
    array = TensorBytes.of(tensor.data)
    if tensor.element_type.get_type_name() == "bf16":
        return replace(array, dtype=BFLOAT16)
    return array
