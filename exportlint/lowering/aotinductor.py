"""AOTInductor: a shared library in a .pt2 package, for servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves, torch_leaves
from exportlint.lowering.backend import Call, Lowering, Ran

if TYPE_CHECKING:
    from collections.abc import Sequence
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


class AOTInductor(Lowering):
    """The package is loaded by torch; a server does the same from C++."""

    # The wrapper is glue between kernels: compiling it without optimisation halves the time and changes no kernel.
    defaults = {"inductor_configs": {"aot_inductor.compile_wrapper_opt_level": "O0"}}  # noqa: RUF012 - see Lowering
    runtime = ("torch",)
    install = "install g++ or clang++ (apt install g++), or set CXX"

    def missing(self) -> str | None:
        """A compiler is all that it needs."""
        from torch._inductor.cpp_builder import get_cpp_compiler  # noqa: PLC0415 - only this lowering needs inductor

        try:
            get_cpp_compiler()
        except Exception as exc:  # noqa: BLE001 - its class moved between versions
            return f"no C++ compiler ({str(exc).partition(chr(10))[0] or type(exc).__name__}): {self.install}"
        return None

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """Kernels, wrapper and weights as `model.pt2`."""
        import torch  # noqa: PLC0415 - see the module `backend`

        path = folder / "model.pt2"
        torch._inductor.aoti_compile_and_package(  # noqa: SLF001 - its documented name
            program, package_path=str(path), inductor_configs=self.settings["inductor_configs"]
        )
        return path

    def load(self, artefact: Path) -> Call:
        """Called with tensors alone: other arguments are constants of the package."""
        import torch  # noqa: PLC0415 - see the module `backend`

        package = torch._inductor.aoti_load_package(str(artefact))  # noqa: SLF001 - its documented name

        def call(leaves: Sequence[Any]) -> Ran:
            given = torch_leaves(leaves)
            outputs = package.loader.run([leaf for leaf in given if isinstance(leaf, torch.Tensor)])
            return Ran(array_leaves(outputs), array_leaves(given))

        return call
