"""The exported program itself, in the file of `torch.export.save`: read and run where only torch is."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves, torch_leaves
from exportlint.lowering.backend import Call, Lowering, Ran

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    # Modules [name, file] that the reader imports before it loads, and where it looks for what these import; files that
    # say which source is to be laid over which files.
    defaults = {"imports": (), "path": (), "edited": ()}  # noqa: RUF012 - see Lowering
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

        from exportlint.trial.child.loading.edited_files import lay_edited_files  # noqa: PLC0415 - only where it is read

        sys.path += [folder for folder in self.settings["path"] if folder not in sys.path]
        for laid in self.settings["edited"]:
            lay_edited_files(Path(laid))
        for name, file in self.settings["imports"]:
            _imported(name, file)
        program = torch.export.load(artefact)
        module, spec = program.module(), program.call_spec.in_spec

        def call(leaves: Sequence[Any]) -> Ran:
            given = torch_leaves(leaves)
            args, kwargs = pytree.tree_unflatten(given, spec)
            with torch.no_grad():
                outputs = pytree.tree_leaves(module(*args, **kwargs))
            return Ran(array_leaves(outputs), array_leaves(given))

        return call


def _imported(name: str, file: str) -> None:
    """By its name, where that can be found; a target's file by its path."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


def modules_needed(program: torch.export.ExportedProgram) -> list[tuple[str, str]]:
    """Name and file of those that define or register a class of the program's inputs, outputs or state, or that define
    an operator: torch alone cannot build the one or run the other."""
    specs = (program.call_spec.in_spec, program.call_spec.out_spec)
    classes = {cls for spec in specs for cls in _classes(spec)}
    classes |= {type(held) for held in (*program.state_dict.values(), *program.constants.values())}
    names = {name for cls in classes for name in (cls.__module__, _registering(cls))} | set(_of_operators(program))
    strange = sorted(name for name in names if name.partition(".")[0] not in ("builtins", "collections", "torch"))
    return [(name, str(getattr(sys.modules.get(name), "__file__", ""))) for name in strange]


def _classes(spec: Any) -> Iterator[type]:
    if isinstance(spec.type, type):
        yield spec.type
    elif isinstance(spec.context, type):  # of a named tuple
        yield spec.context
    for child in spec.children():
        yield from _classes(child)


def _registering(cls: type) -> str:
    """The module that told pytree of it."""
    from torch.utils._pytree import SUPPORTED_NODES  # noqa: PLC0415 - no public name

    found = SUPPORTED_NODES.get(cls)
    return str(found.flatten_fn.__module__) if found is not None else "torch"


def _of_operators(program: torch.export.ExportedProgram) -> Iterator[str]:
    """Those that `torch.library.custom_op` made say which module did it; of others the dispatcher keeps the file."""
    import torch  # noqa: PLC0415 - see the module `backend`
    from torch._library.custom_ops import OPDEFS  # noqa: PLC0415 - no public name

    # Their names: a schema with a list among its defaults has no hash.
    schemas = (getattr(node.target, "_schema", None) for node in program.graph.nodes if node.op == "call_function")
    for name in sorted({str(schema.name) for schema in schemas if schema is not None}):
        function = getattr(OPDEFS.get(name), "_init_fn", None)
        if function is not None:
            yield str(function.__module__)
            continue
        told = torch._C._dispatch_dump(name)  # noqa: SLF001 - nothing else tells it
        if found := re.search(r"^debug: registered at (.+\.py):\d+", told, re.MULTILINE):
            yield from _modules_of(found[1], name)


def _modules_of(file: str, operator: str) -> Iterator[str]:
    """The module of a file; where that is torch's own, which define an operator for others, those that name it."""
    import torch  # noqa: PLC0415 - see the module `backend`

    own = str(Path(torch.__file__).parent)
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) or ""
        if name == "__main__" or not path.endswith(".py") or path.startswith(own):
            continue
        if path == file or (file.startswith(own) and "site-packages" not in path and _names(path, operator)):
            yield name


def _names(path: str, operator: str) -> bool:
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, ValueError):
        return False
    return f'"{operator}' in text or f"'{operator}" in text
