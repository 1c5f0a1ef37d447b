"""Scripts that fail as a trial did, without exportlint.

A script is three blocks: a head that says what it shows; code that makes the target anew (`model()`, `inputs()`,
`shapes()`, `reference()`), from where the target stands, or from a file with the parts of a live model; and a body that
does what the failing stage did, or compares with eager as the check did that saw the _code_of_check. All of it is plain
code, since who gets it by mail has only torch. Where a failure cannot be told in such a way, there is no script, and
the reason is said.
"""

from __future__ import annotations

import ast
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.findings.wording.difference_messages import in_words
from exportlint.trial.protocol.lowering_file import constant_of_lowering, constant_of_module
from exportlint.trial.protocol.options import CALL_PLAN
from exportlint.trial.protocol.outcomes import FAILED, MODES, STRICT
from exportlint.trial.protocol.stages import LOAD, Stage, StageKind
from exportlint.trial.protocol.target import EXAMPLE_ARGS, Target, TargetKind, is_file_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import StageResult, TargetReport


MADE_BY = "Made by exportlint"
OURS = "exportlint-"  # how the names of our files begin that hold no text


@dataclass(frozen=True, slots=True)
class Script:
    """`name` is a file name, `stage` the stage that fails; `text` is None where `why` there can be no script.

    `model_file`: the file that must lie beside it as `model_name`.
    """

    stage: str
    name: str
    text: str | None
    why: str = ""
    model_file: Path | None = None
    model_name: str = ""


def scripts(report: TargetReport) -> Iterator[Script]:
    """A script for everything that failed, of stages that a script can repeat."""
    file = f"{OURS}{slug(report.name)}-{zlib.crc32(report.name.encode()):08x}.pt"
    kept = report.kept_model.file if report.kept_model else None
    for result in report.stages:
        if result.status not in FAILED or not result.row.repro:
            continue
        for mode, seen in _failures(result, report):
            name = "-".join(filter(None, (slug(report.name), result.name, "" if result.row.mode else mode)))
            body = _body(report, result, mode, seen)
            others = seen is not None and seen.kind == "difference" and bool(seen.details.get("input_set"))
            before = _code_of_target(report, file, others=others)
            if before is None or body is None or _is_wrapped(report):
                yield Script(result.name, f"{name}.py", None, _why_not(report, seen, named=before is not None))
            else:
                text = "\n\n".join([_head(report, result, seen, file if kept else ""), *before, *body])
                yield Script(result.name, f"{name}.py", text, "", kept, file)


def can_repeat(report: TargetReport, stage: str) -> bool:
    """Did the stage fail in a way that a script can show, once the model is kept where no code names it?"""
    result = report.stage(stage)
    if result is None or result.status not in FAILED or not result.row.repro:
        return False
    return any(_body(report, result, mode, seen) is not None for mode, seen in _failures(result, report))


def _is_wrapped(report: TargetReport) -> bool:
    """A function, which a trial puts into a module of its own making. A kept model holds that module too."""
    load = report.stage(LOAD.name)
    kept = report.kept_model is not None and report.kept_model.file is not None
    return load is not None and bool(load.data.get("wrapped")) and not kept


def _why_not(report: TargetReport, seen: Observation | None, *, named: bool) -> str:
    if _is_wrapped(report):
        return "what was tried is a module around the target, which only a trial makes"
    if named:
        return f"only a trial can show it ({seen.check})" if seen and seen.check else "it needs a trial"
    if report.kept_model is not None:
        return f"{report.kept_model.why}, so only what builds it can show it"
    return "the target did not load"


def slug(name: str) -> str:
    """The name of a target as part of a file's name."""
    return re.sub(r"\W+", "-", Path(name).name.replace(".py", "")).strip("-") or "target"


def _failures(result: StageResult, report: TargetReport) -> Iterator[tuple[str, Observation | None]]:
    """Each mode in which the stage failed, with the first observation of that."""
    failures = [seen for seen in result.observations if seen.kind in ("exception", "difference")]
    if result.row.kind is not StageKind.COMPARE:
        passed = (one.row.mode for one in report.stages if one.row.mode and one.passed)
        yield result.row.mode or next(passed, None) or "", next(iter(failures), None)
        return
    for mode in MODES:
        if seen := next((seen for seen in failures if seen.details.get("mode") == mode), None):
            yield mode, seen


def _body(report: TargetReport, result: StageResult, mode: str, seen: Observation | None) -> list[str] | None:
    match result.row.kind:
        case StageKind.LOAD:
            return [_LOADS]
        case StageKind.EAGER:
            return [_RUNS_IN_EAGER]
    if report.target is None:
        return None
    strict = mode == STRICT
    own = f"home.{report.target.source.rpartition(':')[2]}"
    brings = _brings_own_export(report.target)
    export = _OWN_EXPORT.format(strict=strict, cls=own) if brings else _EXPORT.format(strict=strict)
    if after := _repro_of_stage(result.row):
        return [export, _CALLS, _PROGRAM + after + _BESIDE_EAGER]
    if seen is not None and seen.kind == "difference":
        shown = _code_of_check(seen.details)
        return [export, _CALLS, shown] if shown else None
    return [export, "export()\n"] if result.row.mode else None


def _repro_of_stage(stage: Stage) -> str:
    """What the stage does with the program: the constant REPRO of its module, or of its lowering's."""
    if stage.lowering:
        return constant_of_lowering(stage.lowering, "REPRO") or ""
    return constant_of_module(f"exportlint.trial.child.stages.{stage.module}", "REPRO") or ""


def _head(report: TargetReport, result: StageResult, seen: Observation | None, file: str) -> str:
    text = in_words(seen).partition("\n")[0] if seen and seen.kind == "difference" else seen.first_line if seen else ""
    plain = f"{seen.error_class}: {text}" if seen and seen.error_class else text or result.full_detail
    place = f"\n\nAt {seen.user_path}:{seen.user_line}." if seen and seen.user else ""
    needs = f"torch, cloudpickle, {file} beside it" if file else "torch"
    words = " ".join(plain.split()).replace("\\", "\\\\").replace('"""', "'''")
    return (
        f'"""{report.name}: {result.name} {result.status}.\n\n{words}{place}\n\n{MADE_BY} from a trial with torch '
        f'{report.torch}. It needs {needs} and the model\'s own code, and fails as the trial did.\n"""\n'
    )


# What a stage did, and what a check saw.


_EXPORT = """\
def export(number=0):
    made, (args, kwargs) = model(), inputs()
    seed(number)
    program = torch.export.export(made, args, kwargs or None, dynamic_shapes=shapes(), strict={strict})
    return made, program
"""
_OWN_EXPORT = """\
def export(number=0):
    seed(0)
    random.seed(number)
    return None, {cls}.export({strict})
"""
_CALLS = """\
def calls(program, input_sets):
    rows = []
    for number, input_set in enumerate(input_sets):
        args, kwargs = inputs(input_set)
        seed(100 + number)
        output = program(*args, **kwargs)
        rows.append([x.detach().clone() if isinstance(x, torch.Tensor) else x for x in leaves([output, args, kwargs])])
    return rows


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    elif hasattr(value, "__dict__") and not isinstance(value, torch.Tensor) and not callable(value):
        value = list(vars(value).values())
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else [value]


def same(ours, theirs, rtol=1e-4, atol=1e-5):
    ours, theirs = leaves(ours), leaves(theirs)
    assert len(ours) == len(theirs), f"{len(ours)} values in eager, {len(theirs)} in the exported program"
    for a, b in zip(ours, theirs):
        assert type(a) is type(b), f"eager {a!r}, the exported program {b!r}"
        if isinstance(a, (torch.Tensor, float)):
            torch.testing.assert_close(b, a, rtol=rtol, atol=atol, equal_nan=True)
        else:
            assert repr(a) == repr(b), f"eager {a!r}, the exported program {b!r}"
"""
_PROGRAM = "_, program = export()\nexported = program.module() if hasattr(program, 'module') else program\n"
_PRINTED = """\
def printed(program):
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as out:
        calls(program, {input_sets})
    return out.getvalue()


"""
_LOGGED = """\
def logged(program):
    import logging

    texts, handler = [], logging.Handler(level=0)
    handler.emit = lambda entry: entry.name.startswith("torch") or texts.append(entry.getMessage())
    logging.getLogger().addHandler(handler)
    calls(program, {input_sets})
    logging.getLogger().removeHandler(handler)
    return texts


"""
_LITERALS = """\
def literals(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in literals(item)]
    if isinstance(value, dict):
        return literals(list(value.values()))
    return [value] if isinstance(value, (bool, int, float, str)) else []


def graph(program):
    nodes = [(str(node.target), literals((node.args, node.kwargs))) for node in program.graph.nodes]
    return nodes, {name: repr(value) for name, value in program.constants.items()}


ballast = [bytes(size) for size in range(1, 480, 16) for _ in range(2_000)]
first = graph(export(0)[1])
kept = ballast[::3]
del ballast
second = graph(export(1)[1])
for a, b in zip(first[0], second[0]):
    assert a == b, f"a literal is another one in a second export: {a}, {b}"
assert first[1] == second[1], "a constant is another one in a second export"
"""
_FAKE = """\
from torch._subclasses.fake_tensor import FakeTensor

made, program = export()
held = dict(program.constants)
for name, module in made.named_modules():
    own = {**vars(module), **dict(module.named_buffers(recurse=False))}
    held |= {f"{name}.{key}": value for key, value in own.items()}
left = [name for name, value in held.items() if any(isinstance(leaf, FakeTensor) for leaf in leaves(value))]
assert not left, f"the export left tensors without data: {left}"
"""
_FROZEN = """\
ours, theirs = ([repr(row) for row in calls(one, (0, 0))] for one in (reference(), exported))
assert ours[0] == ours[1] or theirs[0] != theirs[1], "eager moves from call to call, the exported program never"
"""
_BUFFERS = """\
eager = reference()
calls(eager, {input_sets})
calls(exported, {input_sets})
theirs = dict(exported.named_buffers())
for name, value in eager.named_buffers():
    if name in theirs:
        torch.testing.assert_close(theirs[name], value, equal_nan=True, msg=lambda text: f"buffer {{name}}: {{text}}")
"""

# By `details["check"]`; `input_sets` are the calls up to the one that differs.
_CHECKS = {
    "output": _PROGRAM + "same(calls(reference(), {input_sets}), calls(exported, {input_sets}))\n",
    "raises": _PROGRAM + "calls(reference(), {input_sets})\ncalls(exported, {input_sets})\n",
    "raises-in-eager-only": _PROGRAM + "calls(exported, {input_sets})\ncalls(reference(), {input_sets})\n",
    "frozen": _PROGRAM + _FROZEN,
    "stdout": _PRINTED + _PROGRAM + "ours, theirs = printed(reference()), printed(exported)\n"
    "assert ours == theirs, f'eager printed {{ours!r}}, the exported program {{theirs!r}}'\n",
    "log": _LOGGED + _PROGRAM + "ours, theirs = logged(reference()), logged(exported)\n"
    "assert ours == theirs, f'eager logged {{ours}}, the exported program {{theirs}}'\n",
    "buffer": _PROGRAM + _BUFFERS,
    "baked": _LITERALS.replace("{", "{{").replace("}", "}}"),
    "fake-tensor-left": _FAKE.replace("{", "{{").replace("}", "}}"),
    "eager-after-export": "before = calls(model(), {input_sets})\nmade, _ = export()\n"
    "same(before, calls(made, {input_sets}))\n",
}
_CHECKS["state"] = _CHECKS["input-effect"] = _CHECKS["output"]

_LOADS = "model()\ninputs()\nshapes()\n"
_RUNS_IN_EAGER = "args, kwargs = inputs()\nseed(100)\nreference()(*args, **kwargs)\n"


def _code_of_check(details: Mapping[str, Any]) -> str | None:
    """Code that shows what a comparison with eager found; None for a check that only exportlint makes."""
    body = _CHECKS.get(str(details.get("check")))
    # Each input set is called twice: call 1 of input set 0 is the second of the plan.
    last = 2 * int(details.get("input_set") or 0) + int(details.get("call") or 0)
    return body.format(input_sets=CALL_PLAN[: last + 1]) if body else None


# For a stage that goes on from the exported program; compiled kernels add up in another order.
_BESIDE_EAGER = "same(calls(reference(), (0, 0)), calls(exported, (0, 0)), rtol=1e-3, atol=1e-4)\n"


# The target, made anew.


_START = """\
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
_FROM_FILE = """\
def from_file(path, name):
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    seed(0)
    spec.loader.exec_module(module)
    return module
"""
_MADE = """\
def made(found):
    owner = getattr(found, "__self__", None)
    if isinstance(found, torch.nn.Module) or isinstance(owner, torch.nn.Module) or not callable(found):
        return copied(found)
    seed(0)
    return found()


def as_tuple(args):
    if isinstance(args, list):  # of several further inputs the first
        args = args[0]
    return args if isinstance(args, tuple) else (args,)
"""


def _code_of_target(report: TargetReport, file: str, *, others: bool) -> list[str] | None:
    """Blocks of code that define `model()`, `inputs(input_set)`, `shapes()` and `reference()`.

    file     will lie beside the script, with the parts that the trial kept of a live model
    others   input set 1 is asked for: the target's other inputs, or other values of the sample's shapes

    None where nothing names the model.
    """
    target, imports = report.target, _Imports()
    if target is None or (parts := _parts_of(report, target, imports, file)) is None:
        return None
    files = [_FROM_FILE] if any("from_file(" in line for line in imports.lines) else []
    made = [_MADE] if target.kind is TargetKind.CALLABLES else []
    loading = "\n".join([f"sys.path.insert(0, {str(Path.cwd())!r})", *imports.lines, ""])
    # The very functions by which the trial makes other values of the same shapes.
    making = "\n\n\n".join(_text_of_functions("with_other_values", "_other_tensor")) + "\n"
    new_values = [making] if others and parts.others is None else []
    return [_START, *files, *made, loading, *new_values, parts.code(others=others)]


def _parts_of(report: TargetReport, target: Target, imports: _Imports, file: str) -> _TargetCode | None:
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


def _text_of_functions(*names: str) -> Iterator[str]:
    text = (Path(__file__).parents[1] / "trial" / "child" / "execution" / "inputs" / "input_sets.py").read_text("utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            bare = ast.get_source_segment(text, node) or ""
            yield re.sub(r"(?m)\s*# noqa.*$", "", bare).replace(": Any", "").replace(" -> Any", "")


class _Imports:
    """The import lines of a script: each file or module that a part of the target comes from is loaded once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, str] = {}

    def name(self, home: str) -> str:
        if home not in self._names:
            self._names[home] = f"home{len(self._names) or ''}"
            self.lines.append(f"{self._names[home]} = {_loading_of(home)}")
            folder = _package_root(Path(home)) if is_file_source(home) else None
            if folder:
                self.lines.insert(0, f"sys.path.insert(0, {str(folder)!r})")
        return self._names[home]

    def attribute(self, source: str) -> str:
        home, _, attribute = source.rpartition(":")
        return f"{self.name(home)}.{attribute}"


def _loading_of(home: str) -> str:
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
class _TargetCode:
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


def _of_module(target: Target, imports: _Imports) -> _TargetCode:
    home = imports.name(target.source)
    given = f"{home}.{target.args or EXAMPLE_ARGS}"
    args = f"copied({given}) if isinstance({given}, tuple) else (copied({given}),)"
    kwargs = f"copied(getattr({home}, 'example_kwargs', None)) or {{}}"
    shapes = f"getattr({home}, 'dynamic_shapes', None)"
    return _TargetCode(f"copied({home}.model)", f"({args})", kwargs, shapes)


def _of_callables(target: Target, imports: _Imports) -> _TargetCode:
    def called(source: str | None, wrap: str = "{}") -> str | None:
        return wrap.format(f"{imports.attribute(source)}()") if source else None

    args, others = called(target.args, "as_tuple({})"), called(target.other_args, "as_tuple({})")
    kwargs, shapes = called(target.kwargs, "{} or {{}}"), called(target.dynamic_shapes)
    model = f"made({imports.attribute(target.source)})"
    return _TargetCode(model, args or "()", kwargs or "{}", shapes or "None", others=others)


def _of_zoo(code: Sequence[str], imports: _Imports) -> _TargetCode:
    imported, model, args, kwargs = code
    imports.lines.append(imported)
    return _TargetCode(model, args, kwargs)


def _of_file(file: str, search: Sequence[str], imports: _Imports) -> _TargetCode:
    if search:
        imports.lines.append(f"sys.path += [folder for folder in {list(search)!r} if folder not in sys.path]")
    imports.lines += [
        f"file = os.path.join(os.path.dirname(os.path.abspath(__file__)), {file!r})",
        'parts = torch.load(file, map_location="cpu", weights_only=False)',
    ]
    model, args, kwargs = (f'copied(parts["{part}"])' for part in ("model", "args", "kwargs"))
    return _TargetCode(model, args, kwargs, 'parts["shapes"]', others=None)


def _of_fixture(target: Target, imports: _Imports) -> _TargetCode:
    cls = imports.attribute(target.source)
    model = f"{cls}()" if _has_member(target, "export") else f"{cls}().eval()"
    reference = f"{cls}.reference()" if _has_member(target, "reference") else "model()"
    others = f"{cls}.other_inputs()" if _has_member(target, "other_inputs") else None
    kwargs = f"{cls}.kwargs()" if _has_member(target, "kwargs") else "{}"
    shapes = f"{cls}.dynamic_shapes()" if _has_member(target, "dynamic_shapes") else "None"
    return _TargetCode(model, f"{cls}.inputs()", kwargs, shapes, reference, others)


def _brings_own_export(target: Target) -> bool:
    """Does the target bring its own export call?"""
    return target.kind is TargetKind.FIXTURE and _has_member(target, "export")


def _has_member(target: Target, name: str) -> bool:
    home, _, cls = target.source.rpartition(":")
    classes = (node for node in ast.parse(Path(home).read_text("utf-8")).body if isinstance(node, ast.ClassDef))
    own = next((node for node in classes if node.name == cls), None)
    return own is not None and any(isinstance(n, ast.FunctionDef) and n.name == name for n in own.body)
