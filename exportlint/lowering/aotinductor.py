"""AOTInductor: a shared library in a .pt2 package, loaded without Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.lowering.backend import COMPILED, CallLowered, Lowered, Reason, lower_with, skipped
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# The wrapper is glue between kernels: compiling it without optimisation halves the time and changes no kernel.
CONFIGS = {"aot_inductor.compile_wrapper_opt_level": "O0"}

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


class AOTInductor:
    tolerance = COMPILED

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        path = folder / "model.pt2"
        torch._inductor.aoti_compile_and_package(  # noqa: SLF001 - its documented name
            program, package_path=str(path), inductor_configs=CONFIGS
        )
        return path

    def load(self, artefact: Path) -> CallLowered:
        package = torch._inductor.aoti_load_package(str(artefact))  # noqa: SLF001 - its documented name
        return lambda args, kwargs: package(*args, **kwargs)

    def explain(self, exc: BaseException) -> Reason:
        return Reason(f"{type(exc).__name__}: {short(str(exc))}")


def missing_compiler() -> str | None:
    """Why no package can be compiled here, or None."""
    from torch._inductor.cpp_builder import get_cpp_compiler  # noqa: PLC0415 - only this lowering needs inductor

    try:
        get_cpp_compiler()
    except Exception as exc:  # noqa: BLE001 - its class moved between versions
        return f"no C++ compiler ({short(str(exc)) or type(exc).__name__}); install g++ or clang++, or set CXX"
    return None


def lower(
    program: torch.export.ExportedProgram,
    build_model: Callable[[], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    workdir: Path,
) -> Lowered:
    """Compile to a .pt2 package, load it, run it twice beside a fresh eager model."""
    if why := missing_compiler():
        return skipped(why)
    return lower_with(AOTInductor(), program, build_model, args, kwargs, workdir)
