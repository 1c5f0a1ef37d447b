"""AOTInductor: a shared library in a .pt2 package, for servers; why it refuses programs, and its dry run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves, torch_leaves
from exportlint.lowering.backend import FALLBACK, MISSING, SUPPORTED, Call, Lowering, OperatorUse, Raised, Ran, Reason
from exportlint.lowering.converters import operator_of, uses_by_support

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import torch


# Imported once for all targets of a run, before the first of them: what compiling loads and takes long.
COMPILERS = ("torch._inductor.compile_fx", "torch._inductor.package")

# For a script that shows the failure without exportlint: from `program` to `exported`, which is called as the model is.
REPRO = """\
import tempfile

path = torch._inductor.aoti_compile_and_package(
    program,
    package_path=os.path.join(tempfile.mkdtemp(), "model.pt2"),
    inductor_configs={"aot_inductor.compile_wrapper_opt_level": "O0"},
)
exported = torch.no_grad()(torch._inductor.aoti_load_package(path))
"""


SCRIPT = """\
# Loads the package, runs it on the inputs of the sample, and prints what it gives.
from pathlib import Path

import torch

here = Path(__file__).parent
inputs = torch.load(here / "{inputs}")
package = torch._inductor.aoti_load_package(str(here / "{artefact}"))
outputs = package.loader.run([value for value in inputs if isinstance(value, torch.Tensor)])
print(outputs)
"""


_ASSUMED = "cpp.vec_isa_ok"


class AOTInductor(Lowering):
    """The package is loaded by torch; a server does the same from C++."""

    script = SCRIPT

    # The wrapper is glue between kernels: compiling it without optimisation halves the time and changes no kernel. A
    # compiler that knows the processor's vector instructions need not be asked a dozen times whether it does.
    defaults = {  # noqa: RUF012 - see Lowering
        "inductor_configs": {"aot_inductor.compile_wrapper_opt_level": "O0", _ASSUMED: True}
    }
    compiler = True
    runtime = ("torch",)
    slow_dry_run = True
    advice = {  # noqa: RUF012 - see Lowering
        "forgets": "keep it in a buffer of several elements: one of a single element is taken for a constant; or give "
        "the state to the model as an input and return it",
    }
    install = "install g++ or clang++ (apt install g++), or set CXX"

    def missing(self) -> str | None:
        """A compiler is all that it needs."""
        from torch._inductor.cpp_builder import get_cpp_compiler  # noqa: PLC0415 - only this lowering needs inductor

        try:
            get_cpp_compiler()
        except Exception as exc:  # noqa: BLE001 - its class moved between versions
            return f"no C++ compiler ({str(exc).partition(chr(10))[0] or type(exc).__name__}): {self.install}"
        return None

    def operators(self, program: torch.export.ExportedProgram) -> Iterable[OperatorUse]:
        """Kernels of inductor's own, and operators that the package calls."""
        return inductor_operators(program)

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """Kernels, wrapper and weights as `model.pt2`."""
        import torch  # noqa: PLC0415 - see the module `backend`

        path, configs = folder / "model.pt2", dict(self.settings["inductor_configs"])
        compile_and_package = torch._inductor.aoti_compile_and_package  # noqa: SLF001 - its documented name
        try:
            compile_and_package(program, package_path=str(path), inductor_configs=configs)
        except Exception as exc:
            if not (configs.pop(_ASSUMED, False) and _CPP.search(f"{type(exc).__name__} {exc}")):
                raise
            compile_and_package(program, package_path=str(path), inductor_configs=configs)
        return path

    def explain(self, raised: Raised) -> Reason:
        """By the operator, the dtype, or the line of generated C++ that the exception is about."""
        return _explained(raised) or super().explain(raised)

    def load(self, artefact: Path) -> Call:
        """Called with tensors alone: other arguments are constants of the package."""
        import torch  # noqa: PLC0415 - see the module `backend`

        if self.settings["inductor_configs"].get(_ASSUMED):
            # The loader names the processor that it runs on, and would ask the compiler for it.
            torch._inductor.config.cpp.vec_isa_ok = True  # noqa: SLF001 - as the compile did
        package = torch._inductor.aoti_load_package(str(artefact))  # noqa: SLF001 - its documented name

        def call(leaves: Sequence[Any]) -> Ran:
            given = torch_leaves(leaves)
            outputs = package.loader.run([leaf for leaf in given if isinstance(leaf, torch.Tensor)])
            return Ran(array_leaves(outputs), array_leaves(given))

        return call


_PYTHON_OPERATOR = re.compile(r"Could not find schema for (\w+::\w+)")
_DTYPE = re.compile(r"KeyError: torch\.(\w+)")
_NO_META = re.compile(r"(\w+::\w+): attempted to run this operator with Meta tensors")
_LOWERED = re.compile(r"LoweringException: (?P<why>[^\n]+)\n\s*target: (?P<operator>[\w.]+)", re.DOTALL)
_CPP = re.compile(r"CppCompileError|C\+\+ compile error")
_CPP_LINE = re.compile(r"^\S+?:\d+:\d+: (?:fatal )?error: ([^\n]+)", re.MULTILINE)


def _explained(raised: Raised) -> Reason | None:
    text = raised.text
    if found := _PYTHON_OPERATOR.search(text):
        what = f"the process that runs the package does not know `{found[1]}`: {_UNKNOWN}"
        return Reason(what, (found[1],), _DEFINED)
    if found := _DTYPE.search(text):
        what = f"inductor has no C++ type for tensors of torch.{found[1]}"
        return Reason(what, suggestion=_OTHER_DTYPE, dtype=found[1])
    if found := _NO_META.search(text):
        what = f"`{found[1]}` has no fake kernel for what it is given, so that inductor cannot plan for its result"
        return Reason(what, (found[1],), "compute with dense tensors there")
    if found := _LOWERED.search(text):
        return Reason(f"inductor cannot lower `{found['operator']}`: {found['why']}", (found["operator"],))
    if _CPP.search(f"{raised.error_class} {text}"):
        first = _CPP_LINE.search(text)
        what = first[1] if first else text.strip().rpartition("\n")[2]
        return Reason(f"the C++ compiler refuses the generated code: {what}")
    return None


_UNKNOWN = "it is defined in Python, or the library that defines it is not loaded there"
_DEFINED = (
    "write it with operators of torch, or define it in C++ (`TORCH_LIBRARY`) and load that library before the package "
    "(`torch.ops.load_library`)"
)
_OTHER_DTYPE = (
    "compute in a plain dtype: a quantized value is `(x / scale).round().clamp(0, 255).to(torch.uint8)`, and float "
    "again with `.float() * scale`"
)


# The dry run: which kernel an operator gets.


IN_PYTHON = "it is defined in Python, and a package runs without Python"
_ITS_DTYPE = "calls ATen's kernel: inductor makes none for the dtypes that it is given here"
_ATEN = "calls ATen's kernel: inductor has none of its own"
_LIBRARY = "calls the kernel of the library that registers it, which must be loaded where the package runs"


def inductor_operators(program: torch.export.ExportedProgram) -> list[OperatorUse]:
    """A kernel of inductor's own, or a call of the operator by the package, which needs it in C++.

    What inductor lowers counts as its own, though on a CPU some lowerings (of sort, topk, median, cumulative sums) call
    ATen in the end: they decide that when they are given the tensors."""
    from torch._inductor.decomposition import select_decomp_table  # noqa: PLC0415 - see the module `backend`

    graph = program.run_decompositions({**_composites(), **select_decomp_table()}).graph_module
    return list(uses_by_support(program, graph, _support))


def _composites() -> dict[Any, Any]:
    """Operators that torch itself writes with others; inductor sees none of these."""
    from torch._export.utils import _collect_all_valid_cia_ops, _get_decomp_for_cia  # noqa: PLC0415 - as above

    return {operator: _get_decomp_for_cia(operator) for operator in _collect_all_valid_cia_ops()}


def _support(node: torch.fx.Node) -> tuple[str, str] | None:
    """In the order in which inductor decides it; nothing is known of operators of a higher order without a lowering."""
    from torch._inductor.lowering import fallback_node_due_to_unsupported_type, lowerings  # noqa: PLC0415
    from torch._library.utils import is_builtin  # noqa: PLC0415 - see the module `backend`
    from torch._ops import OpOverload  # noqa: PLC0415

    operator = operator_of(node)
    ours = lowerings.get(operator)
    own = ours is not None and not getattr(ours, "_is_fallback_handler", False)
    if not isinstance(operator, OpOverload):
        return (SUPPORTED, "") if own else None
    if is_builtin(operator):
        if fallback_node_due_to_unsupported_type(node):
            return FALLBACK, _ITS_DTYPE
        return (SUPPORTED, "") if own else (FALLBACK, _ATEN)
    return (SUPPORTED, "") if own else _of_a_library(operator)


def _of_a_library(operator: torch._ops.OpOverload) -> tuple[str, str]:
    from torch.library import _defs  # noqa: PLC0415 - what Python defined, and no library in C++

    name = operator._schema.name  # noqa: SLF001 - torch has no other name for it
    in_python = any(known.partition(".")[0] == name for known in _defs)
    return (MISSING, IN_PYTHON) if in_python else (FALLBACK, _LIBRARY)
