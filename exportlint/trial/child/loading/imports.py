"""Import the files and modules of a target, under names that stay the same."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.target import TargetError, is_file_source, split_source

if TYPE_CHECKING:
    from types import ModuleType


def resolve(part: str, source: str) -> Any:
    """The object that FILE_OR_MODULE:NAME stands for."""
    home, attribute = split_source(part, source)
    found: Any = import_source(home)
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise TargetError(f"{part} {source!r}: {home} has no {name!r}")
        found = getattr(found, name)
    return found


def import_source(home: str) -> ModuleType:
    """A file under a name of its own (in sys.modules: dataclasses, pickle and Dynamo look there), or a module."""
    return import_file(Path(home).resolve()) if is_file_source(home) else importlib.import_module(home)


_RELATIVE_IMPORT = re.compile(r"^\s*from\s+\.", re.MULTILINE)


def import_file(path: Path) -> ModuleType:
    if (path.parent / "__init__.py").exists() and _RELATIVE_IMPORT.search(path.read_text("utf-8")):
        return _import_inside_package(path)
    name = _module_name(path)
    if name in sys.modules:
        return sys.modules[name]
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    seed(0)
    spec.loader.exec_module(module)
    return module


def _module_name(path: Path) -> str:
    """The same for the same file in every run, because torch's messages quote it."""
    base = "exportlint_target_" + re.sub(r"\W", "_", path.stem)
    taken = (base, *(f"{base}_{number}" for number in range(2, 100)))
    return next(name for name in taken if getattr(sys.modules.get(name), "__file__", str(path)) == str(path))


def _import_inside_package(path: Path) -> ModuleType:
    """A file with relative imports only works under its package's own name."""
    root = path.parent
    while (root.parent / "__init__.py").exists():
        root = root.parent
    sys.path.insert(0, str(root.parent))
    return importlib.import_module(".".join(path.relative_to(root.parent).with_suffix("").parts))
