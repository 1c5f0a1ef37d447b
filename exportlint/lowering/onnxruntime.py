"""ONNX Runtime: an .onnx file, run on its CPU kernels."""

from __future__ import annotations

import contextlib
import math
import re
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import BFLOAT16, TensorBytes, numpy_bits
from exportlint.lowering.backend import Call, Lowering, OperatorUse, Raised, Ran, Reason
from exportlint.lowering.converters import (
    BOOL_PREDICATE,
    OTHER_DTYPE,
    REAL_NUMBERS,
    SMALLER_STEPS,
    TENSORS_ONLY,
    interface_of,
    last_outputs,
    no_converter,
    operator_uses,
    origins,
    predicates_of_numbers,
    quiet,
    users_of_complex_inputs,
    with_constants,
    write_inputs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import torch


# Imported once for all targets of a run, before the first of them: what compiling loads and takes long.
COMPILERS = ("exportlint.lowering.onnx_functions",)

# For a script that shows the failure without exportlint: from `program` to `exported`, which is called as the model is.
REPRO = """\
import onnxruntime
from torch.export._tree_utils import reorder_kwargs
from torch.utils import _pytree as pytree

spec = program.call_spec
onnx_program = torch.onnx.export(program, (), dynamo=True, verbose=False)
session = onnxruntime.InferenceSession(onnx_program.model_proto.SerializeToString())
kinds = [type(one.arg).__name__ for one in program.graph_signature.input_specs if one.kind.name == "USER_INPUT"]


def exported(*args, **kwargs):
    leaves = pytree.tree_leaves((args, reorder_kwargs(kwargs, spec.in_spec)))
    given = [torch.as_tensor(x).numpy() for x, kind in zip(leaves, kinds) if kind != "ConstantArgument"]
    outputs = session.run(None, {one.name: x for one, x in zip(session.get_inputs(), given)})
    return pytree.tree_unflatten([torch.from_numpy(x) for x in outputs], spec.out_spec)


"""

SCRIPT = """\
# Loads the model, runs it on the inputs of the sample, and prints what it gives.
import json

import numpy as np
import onnxruntime

here = __file__.removesuffix("run.py")
inputs, positions = np.load(here + "{inputs}"), json.load(open(here + "inputs.json"))
session = onnxruntime.InferenceSession(here + "{artefact}", providers=["CPUExecutionProvider"])
given = {one.name: inputs[f"arg{position}"] for one, position in zip(session.get_inputs(), positions)}
for value in session.run(None, given):
    print(value.dtype, value.tolist())
"""

_NO_FUNCTION = re.compile(r"No ONNX function found for (<.+?>+)\. Failure message: No \w+ registered for the (\w+)-")
_OVERLOAD = re.compile(r"op='([\w.]+)', overload='(\w+)'")
_TARGET = re.compile(r"\[target=torch\.ops\.([\w.]+)\]")
_NODE = re.compile(r"translating node %(\w+) :")
_NO_KERNEL = re.compile(r"Could not find an implementation for (\w+)\(\d+\) node with name '([^']*)'")
_ONNX_NODE = re.compile(r"(?:[Nn]ame:?|for node) ?'([^']+)'")
_PATH = re.compile(r"Load model from \S+ failed: ?")
_BFLOAT16 = 16  # onnx.TensorProto.BFLOAT16, for which NumPy has no dtype


class ONNXRuntime(Lowering):
    """Converted by torch.onnx, with weights in the file where they are smaller than 2 GB.

    The CPU kernels compute in the dtype of the model; they add up in another order (1e-6 for float32, where eager gives
    values near 1).
    """

    # opset: None is torch's own choice. optimize: onnxscript's passes over the graph, which torch.onnx runs by default.
    defaults = {"opset": None, "optimize": True}  # noqa: RUF012 - see Lowering
    packages = ("torch", "onnx", "onnxscript", "onnxruntime")
    modules = ("onnx", "onnxscript", "onnxruntime")
    runtime = ("onnxruntime", "numpy")
    install = "pip install 'exportlint[onnx]'"
    script = SCRIPT
    keeps_state = False

    _program: torch.export.ExportedProgram | None = None
    _given: torch.fx.GraphModule | None = None
    _known: Any = None
    _causes: Sequence[str] = ()

    def operators(self, program: torch.export.ExportedProgram) -> Iterable[OperatorUse]:
        """Of the graph after torch.onnx decomposed what it has no function for."""
        from torch.onnx._internal.exporter._dispatching import dispatch  # noqa: PLC0415

        with quiet():
            registry = self._known = self._registry()
            given = self._decomposed(program, registry)

        def why_missing(node: torch.fx.Node) -> str | None:
            function, message = dispatch(node, registry)
            return None if function is not None else message

        return list(operator_uses(program, given, why_missing))

    def _decomposed(self, program: torch.export.ExportedProgram, registry: Any) -> torch.fx.GraphModule:
        """What torch.onnx translates, node by node, but for the casts that it puts between: finding out where leaves
        new sizes behind, with which torch refuses to decompose the program once more."""
        from torch.fx.experimental import _config  # noqa: PLC0415 - see the module `backend`
        from torch.onnx._internal.exporter._fx_passes import (  # noqa: PLC0415
            decompose_with_registry,
            remove_assertion_nodes,
        )

        with _config.patch(backed_size_oblivious=True):
            graph = decompose_with_registry(program, registry).graph_module
        given: torch.fx.GraphModule = remove_assertion_nodes(graph)
        self._program, self._given = program, given
        return given

    def _registry(self) -> Any:
        from torch.onnx._constants import ONNX_DEFAULT_OPSET  # noqa: PLC0415
        from torch.onnx._internal.exporter._constants import TORCHLIB_OPSET  # noqa: PLC0415
        from torch.onnx._internal.exporter._registration import ONNXRegistry  # noqa: PLC0415

        asked = self.settings["opset"] or ONNX_DEFAULT_OPSET
        return ONNXRegistry.from_torchlib(opset_version=max(asked, TORCHLIB_OPSET))

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """As `model.onnx`."""
        import torch  # noqa: PLC0415 - see the module `backend`

        self._program = program
        asked = {"opset_version": self.settings["opset"]} if self.settings["opset"] else {}
        optimize = self.settings["optimize"]
        try:
            with quiet(), _built_once(self._known):
                made = torch.onnx.export(program, (), dynamo=True, verbose=False, optimize=optimize, **asked)
        except Exception as exc:
            self._causes = _causes(exc)
            raise
        assert made is not None, "dynamo=True gives a program"  # noqa: S101 - for mypy
        reached = made.model.opset_imports[""]
        if asked and reached != self.settings["opset"]:
            raise ValueError(f"asked for opset {self.settings['opset']}, torch.onnx came to opset {reached}")
        path = folder / "model.onnx"
        made.save(str(path), external_data=False)
        self.facts = interface_of(program)
        write_inputs(self.facts, folder)
        return path

    def load(self, artefact: Path) -> Call:
        """The graph's inputs are in the program's order; an input that is an output too has another name there."""
        import onnxruntime  # noqa: PLC0415 - see the module `backend`

        session = onnxruntime.InferenceSession(str(artefact), providers=["CPUExecutionProvider"])
        names = [one.name for one in session.get_inputs()]

        def call(leaves: Sequence[Any]) -> Ran:
            given = [_ort_value(leaves[position]) for position in self.facts["inputs"]]
            outputs = session.run_with_ort_values(None, dict(zip(names, given, strict=True)))
            return Ran(with_constants([_array(one) for one in outputs], self.facts))

        return call

    def explain(self, raised: Raised) -> Reason:
        """The exporter tells in many lines what it was doing, the runtime in one what it lacks."""
        text = raised.text
        if found := _NO_FUNCTION.search(text):
            return self._no_function(text, found)
        if found := _NO_KERNEL.search(text):
            words = f"ONNX Runtime's CPU has no kernel for the dtypes that {found[1]} is given here"
            return Reason(words, nodes=self._origins(found[2]), suggestion=OTHER_DTYPE)
        if "translating node return (" in text and "no attribute 'name'" in text:
            words = "an ONNX graph returns tensors, and the model returns a Python number"
            return Reason(words, (), TENSORS_ONLY, (self._program and last_outputs(self._program)) or ())
        if "INVALID_GRAPH" in text and (nodes := (self._program and predicates_of_numbers(self._program)) or ()):
            words = "the condition of an ONNX If is a bool, and the predicate of torch.cond is a tensor of numbers"
            return Reason(words, (), BOOL_PREDICATE, nodes)
        if "can't be converted to MLDataType" in text:
            words = "ONNX has no complex tensors: the graph takes pairs of float numbers in a last dimension instead"
            return Reason(words, (), REAL_NUMBERS, (self._program and users_of_complex_inputs(self._program)) or ())
        return self._other(raised)

    def _no_function(self, text: str, found: re.Match[str]) -> Reason:
        overload, target = _OVERLOAD.search(found[1]), _TARGET.search(text)
        name = f"{overload[1]}.{overload[2]}" if overload else target[1] if target else found[1]
        complex_ = found[2] == "complex"
        reason = no_converter(
            "torch.onnx",
            [name],
            "give torch.onnx.export a custom_translation_table",
            " of complex numbers" if complex_ else "",
        )
        suggestion = REAL_NUMBERS if complex_ else reason.suggestion
        return Reason(reason.text, reason.operators, suggestion, self._failing(text))

    def _other(self, raised: Raised) -> Reason:
        """The innermost exception, which the exporter lists first; or the runtime's one line."""
        last = raised.error_class.rpartition(".")[2]
        if last == "PassError" and self._causes:
            found = next(filter(None, map(_ONNX_NODE.search, self._causes)), None)
            words = f"the optimizer of onnxscript fails: {self._causes[-1]}"
            nodes = self._origins(found[1]) if found else ()
            return Reason(words, (), "the setting optimize = false leaves it out", nodes)
        inner = re.search(r"## Exception summary\s+(<class '[\w.]*?(\w+)'>: .+)", raised.text)
        words = inner[1].partition(">: ")[2] if inner else _PATH.sub("", raised.text.partition("\n")[0])
        named = _ONNX_NODE.search(raised.text)
        nodes = self._failing(raised.text) or (self._origins(named[1]) if named else ())
        suggestion = SMALLER_STEPS if inner else ""
        return Reason(f"{inner[2] if inner else last}: {words}", (), suggestion, nodes)

    def _failing(self, text: str) -> tuple[str, ...]:
        found = _NODE.search(text)
        return self._origins(found[1]) if found else ()

    def _origins(self, onnx_node: str) -> tuple[str, ...]:
        """torch.onnx names the node of a value `node_NAME`, with `__0` for the first of several."""
        if self._program is None:
            return ()
        if self._given is None:
            with quiet():
                self._decomposed(self._program, self._registry())
        return origins(self._program, self._given, re.sub(r"__\d+$", "", onnx_node.removeprefix("node_")))


def _causes(exc: BaseException | None) -> list[str]:
    """From the outermost exception to the innermost one."""
    found = []
    while exc is not None:
        found.append(f"{type(exc).__name__}: {exc}")
        exc = exc.__cause__
    return found


def _ort_value(leaf: Any) -> Any:
    from onnxruntime import OrtValue  # noqa: PLC0415 - see the module `backend`

    array, are_bits = numpy_bits(leaf)
    return (
        OrtValue.ortvalue_from_numpy_with_onnx_type(array, _BFLOAT16)
        if are_bits
        else OrtValue.ortvalue_from_numpy(array)
    )


def _array(value: Any) -> Any:
    import ctypes  # noqa: PLC0415 - for one dtype

    if value.element_type() != _BFLOAT16:
        return TensorBytes.of(value.numpy())
    size = 2 * math.prod(value.shape())
    return TensorBytes(BFLOAT16, tuple(value.shape()), ctypes.string_at(value.data_ptr(), size) if size else b"")


@contextlib.contextmanager
def _built_once(registry: Any) -> Iterator[None]:
    """torch.onnx.export builds its registry of functions anew, which takes as long as converting a small model."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry  # noqa: PLC0415

    if registry is None:
        yield
        return
    usual = ONNXRegistry.__dict__["from_torchlib"]
    ONNXRegistry.from_torchlib = classmethod(lambda _cls, **_opset: registry)
    try:
        yield
    finally:
        ONNXRegistry.from_torchlib = usual
