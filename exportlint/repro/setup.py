"""Write the first half of a repro script: code that makes the model and its inputs as the trial made them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.trial.protocol.stages import LOAD
from exportlint.trial.protocol.target import Target, TargetKind, is_file_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.trial.protocol.result import TargetReport


START = """\
import copy
import importlib
import importlib.util
import os
import random
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import torch

torch.set_num_threads(1)


def seed(number):
    random.seed(number)
    torch.manual_seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)


def copied(value):
    try:
        return copy.deepcopy(value)
    except Exception:
        return value
"""
FROM_FILE = """\
def from_file(path, name):
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    seed(0)
    spec.loader.exec_module(module)
    return module
"""
MADE = """\
def made(found):
    owner = getattr(found, "__self__", None)
    if isinstance(found, torch.nn.Module) or isinstance(owner, torch.nn.Module) or not callable(found):
        return copied(found)
    seed(0)
    return found()


def as_tuple(args):
    return args if isinstance(args, tuple) else (args,)
"""


def setup(report: TargetReport, file: str, *, others: bool) -> list[str] | None:
    """Blocks of code that define `model()`, `inputs(input_set)`, `shapes()` and `reference()`.

    file     will lie beside the script, with the parts that the trial kept of a live model
    others   input set 1 is asked for: the target's other inputs, or other values of the sample's shapes

    None where nothing names the model.
    """
    target, imports = report.target, Imports()
    if target is None or (parts := _parts(report, target, imports, file)) is None:
        return None
    files = [FROM_FILE] if any("from_file(" in line for line in imports.lines) else []
    made = [MADE] if target.kind is TargetKind.CALLABLES else []
    loading = "\n".join([f"sys.path.insert(0, {str(Path.cwd())!r})", *imports.lines, ""])
    new_values = [_making_new_values()] if others and parts.others is None else []
    return [START, *files, *made, loading, *new_values, parts.code(others=others)]


def _parts(report: TargetReport, target: Target, imports: Imports, file: str) -> TargetCode | None:
    match target.kind:
        case TargetKind.MODULE:
            return _of_module(target, imports)
        case TargetKind.FIXTURE:
            return _of_fixture(target, imports)
        case TargetKind.CALLABLES:
            return _of_callables(target, imports)
    load = report.stage(LOAD.name)
    if load and (code := load.data.get("code")):
        return _of_zoo(code, imports)
    return _of_file(file, report.kept_model.search, imports) if report.kept_model and report.kept_model.file else None


def _making_new_values() -> str:
    """The very functions by which the trial makes other values of the same shapes."""
    return "\n\n\n".join(_functions("with_other_values", "_other_tensor")) + "\n"


def _functions(*names: str) -> Iterator[str]:
    text = (Path(__file__).parents[1] / "trial" / "child" / "execution" / "inputs" / "input_sets.py").read_text("utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            bare = ast.get_source_segment(text, node) or ""
            yield re.sub(r"(?m)\s*# noqa.*$", "", bare).replace(": Any", "").replace(" -> Any", "")


class Imports:
    """The import lines of a script: each file or module that a part of the target comes from is loaded once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, str] = {}

    def name(self, home: str) -> str:
        if home not in self._names:
            self._names[home] = f"home{len(self._names) or ''}"
            self.lines.append(f"{self._names[home]} = {_loaded(home)}")
            folder = _package_root(Path(home)) if is_file_source(home) else None
            if folder:
                self.lines.insert(0, f"sys.path.insert(0, {str(folder)!r})")
        return self._names[home]

    def attribute(self, source: str) -> str:
        home, _, attribute = source.rpartition(":")
        return f"{self.name(home)}.{attribute}"


def _loaded(home: str) -> str:
    if not is_file_source(home):
        return f"importlib.import_module({home!r})"
    path = Path(home).resolve()
    if root := _package_root(path):
        return f"importlib.import_module({'.'.join(path.relative_to(root).with_suffix('').parts)!r})"
    # Under the name that it has in a trial, because torch's messages quote it.
    name = "exportlint_target_" + re.sub(r"\W", "_", path.stem)
    return f"from_file({str(path)!r}, {name!r})"


def _package_root(path: Path) -> Path | None:
    """The folder to import from, where a file has relative imports and so works under its package's name only."""
    path = path.resolve()
    if not (path.parent / "__init__.py").exists() or not re.search(r"(?m)^\s*from\s+\.", path.read_text("utf-8")):
        return None
    return next(folder for folder in path.parents if not (folder / "__init__.py").exists())


@dataclass(frozen=True)
class TargetCode:
    """Expressions that make the parts of a target anew."""

    model: str
    args: str
    kwargs: str = "{}"
    shapes: str = "None"
    reference: str = "model()"
    others: str | None = None

    def code(self, *, others: bool) -> str:
        chosen = f"({self.others} if input_set else {self.args})" if others and self.others else self.args
        anew = "copied(with_other_values((args, kwargs), input_set)) if input_set else "
        changed = anew if others and not self.others else ""
        return (
            f"def model():\n    seed(0)\n    return {self.model}\n\n\n"
            f"def reference():\n    seed(0)\n    return {self.reference}\n\n\n"
            f"def inputs(input_set=0):\n    seed(7 + input_set)\n    args, kwargs = {chosen}, {self.kwargs}\n"
            f"    return {changed}(args, kwargs)\n\n\n"
            f"def shapes():\n    return {self.shapes}\n"
        )


def _of_module(target: Target, imports: Imports) -> TargetCode:
    home = imports.name(target.source)
    example = f"copied({home}.example_args)"
    args = f"{example} if isinstance({home}.example_args, tuple) else ({example},)"
    kwargs = f"copied(getattr({home}, 'example_kwargs', None)) or {{}}"
    shapes = f"getattr({home}, 'dynamic_shapes', None)"
    return TargetCode(f"copied({home}.model)", f"({args})", kwargs, shapes)


def _of_callables(target: Target, imports: Imports) -> TargetCode:
    def called(source: str | None, wrap: str = "{}") -> str | None:
        return wrap.format(f"{imports.attribute(source)}()") if source else None

    args, others = called(target.args, "as_tuple({})"), called(target.other_args, "as_tuple({})")
    kwargs, shapes = called(target.kwargs, "{} or {{}}"), called(target.dynamic_shapes)
    model = f"made({imports.attribute(target.source)})"
    return TargetCode(model, args or "()", kwargs or "{}", shapes or "None", others=others)


def _of_zoo(code: Sequence[str], imports: Imports) -> TargetCode:
    imported, model, args, kwargs = code
    imports.lines.append(imported)
    return TargetCode(model, args, kwargs)


def _of_file(file: str, search: Sequence[str], imports: Imports) -> TargetCode:
    if search:
        imports.lines.append(f"sys.path += [folder for folder in {list(search)!r} if folder not in sys.path]")
    imports.lines += [
        f"file = os.path.join(os.path.dirname(os.path.abspath(__file__)), {file!r})",
        'parts = torch.load(file, map_location="cpu", weights_only=False)',
    ]
    model, args, kwargs = (f'copied(parts["{part}"])' for part in ("model", "args", "kwargs"))
    return TargetCode(model, args, kwargs, 'parts["shapes"]', others=None)


def _of_fixture(target: Target, imports: Imports) -> TargetCode:
    cls = imports.attribute(target.source)
    model = f"{cls}()" if _has_member(target, "export") else f"{cls}().eval()"
    reference = f"{cls}.reference()" if _has_member(target, "reference") else "model()"
    others = f"{cls}.other_inputs()" if _has_member(target, "other_inputs") else None
    kwargs = f"{cls}.kwargs()" if _has_member(target, "kwargs") else "{}"
    shapes = f"{cls}.dynamic_shapes()" if _has_member(target, "dynamic_shapes") else "None"
    return TargetCode(model, f"{cls}.inputs()", kwargs, shapes, reference, others)


def own_export(target: Target) -> bool:
    """Does the target bring its own export call?"""
    return target.kind is TargetKind.FIXTURE and _has_member(target, "export")


def _has_member(target: Target, name: str) -> bool:
    home, _, cls = target.source.rpartition(":")
    classes = (node for node in ast.parse(Path(home).read_text("utf-8")).body if isinstance(node, ast.ClassDef))
    own = next((node for node in classes if node.name == cls), None)
    return own is not None and any(isinstance(n, ast.FunctionDef) and n.name == name for n in own.body)
