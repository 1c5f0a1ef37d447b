"""AOTInductor: a shared library in a .pt2 package, for servers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves, torch_leaves
from exportlint.lowering.backend import Call, Lowering, OperatorUse, Raised, Ran, Reason
from exportlint.lowering.explaining.inductor_operators import inductor_operators

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import torch


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
