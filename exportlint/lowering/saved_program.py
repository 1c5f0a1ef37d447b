"""The exported program itself, in the file of `torch.export.save`: read and run where only torch is."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves, torch_leaves
from exportlint.lowering.backend import Call, Lowering, Ran

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import torch


class SavedProgram(Lowering):
    """No target of deployment: the stage save-load is proved by the same means as one."""

    tolerance = {  # noqa: RUF012 - see Lowering; of the same operators as eager's
        "float64": (1e-7, 1e-8),
        "complex128": (1e-7, 1e-8),
        "float32": (1e-4, 1e-5),
        "complex64": (1e-4, 1e-5),
        "float16": (1e-2, 1e-3),
        "bfloat16": (2e-2, 1e-2),
    }
    # Modules that the reader imports before it loads: whoever registers a class of the inputs or outputs.
    defaults = {"imports": ()}  # noqa: RUF012 - see Lowering
    runtime = ("torch",)

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """As `program.pt2`."""
        import torch  # noqa: PLC0415 - see the module `backend`

        path = folder / "program.pt2"
        torch.export.save(program, path)
        return path

    def load(self, artefact: Path) -> Call:
        """Called as a reader of the file would call it."""
        import torch  # noqa: PLC0415 - see the module `backend`
        from torch.utils import _pytree as pytree  # noqa: PLC0415 - as above

        for name in self.settings["imports"]:
            importlib.import_module(name)
        program = torch.export.load(artefact)
        module, spec = program.module(), program.call_spec.in_spec

        def call(leaves: Sequence[Any]) -> Ran:
            given = torch_leaves(leaves)
            args, kwargs = pytree.tree_unflatten(given, spec)
            with torch.no_grad():
                outputs = pytree.tree_leaves(module(*args, **kwargs))
            return Ran(array_leaves(outputs), array_leaves(given))

        return call


def registering_modules(program: torch.export.ExportedProgram) -> list[str]:
    """Those whose classes stand in the program's inputs or outputs; a reader without them cannot build these."""
    specs = (program.call_spec.in_spec, program.call_spec.out_spec)
    names = {cls.__module__.partition(".")[0]: cls.__module__ for spec in specs for cls in _classes(spec)}
    return sorted(module for package, module in names.items() if package not in ("builtins", "collections", "torch"))


def _classes(spec: Any) -> Iterator[type]:
    if isinstance(spec.type, type):
        yield spec.type
    for child in spec.children():
        yield from _classes(child)
