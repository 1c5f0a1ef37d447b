"""From a report to scripts: one for each stage, and mode, that did not pass."""

from __future__ import annotations

import ast
import importlib.util
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.repro import bodies
from exportlint.repro.setup import own_export, setup
from exportlint.trial.report import FAILED, MODES
from exportlint.trial.run import LOWERINGS

if TYPE_CHECKING:
    from exportlint.trial.observation import Observation
    from exportlint.trial.report import StageResult, TargetReport
    from exportlint.trial.target import Target

MADE_BY = "Made by exportlint"
OURS = "exportlint-"  # how files begin that have no words in which to say so


@dataclass(frozen=True, slots=True)
class Script:
    """`name` is a file name, `stage` the stage that fails; `text` is None where `why` there can be no script.

    `parts`: the file that must lie beside it as `parts_name`.
    """

    stage: str
    name: str
    text: str | None
    why: str = ""
    parts: Path | None = None
    parts_name: str = ""


def scripts(report: TargetReport) -> Iterator[Script]:
    """A script for everything that failed. `draft` and the like only look closer at what other stages tell; a user's
    script that fails is a script already."""
    file = f"{OURS}{_slug(report.name)}-{zlib.crc32(report.name.encode()):08x}.pt"
    kept = report.parts.file if report.parts else None
    for stage in report.stages:
        if stage.status not in FAILED or stage.name in ("draft", "explain", "further", "submodules", "script"):
            continue
        for mode, seen in _failures(stage, report):
            name = "-".join(filter(None, (_slug(report.name), stage.name, mode if "export" not in stage.name else "")))
            body = _body(report, stage, mode, seen)
            before = setup(report, file, others=_other_values(seen))
            if before is None or body is None or _is_wrapped(report):
                yield Script(stage.name, f"{name}.py", None, _why_not(report, seen, named=before is not None))
            else:
                text = "\n\n".join([_head(report, stage, seen, file if kept else ""), *before, *body])
                yield Script(stage.name, f"{name}.py", text, "", kept, file)


def _is_wrapped(report: TargetReport) -> bool:
    """A function, which a trial puts into a module of its own making. Kept parts hold that module too."""
    load = report.stage("load")
    kept = report.parts is not None and report.parts.file is not None
    return load is not None and "wrapped in a module" in load.detail and not kept


def _why_not(report: TargetReport, seen: Observation | None, *, named: bool) -> str:
    if _is_wrapped(report):
        return "what was tried is a module around the target, which only a trial makes"
    if named:
        return (
            f"only a trial can show it ({seen.details['check']})"
            if seen and "check" in seen.details
            else "it needs a trial"
        )
    if report.parts is not None:
        return f"{report.parts.why}, so only what builds it can show it"
    return "the target did not load"


def _other_values(seen: Observation | None) -> bool:
    return seen is not None and seen.kind == "difference" and bool(seen.details.get("draw"))


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", Path(name).name.replace(".py", "")).strip("-") or "target"


def _failures(stage: StageResult, report: TargetReport) -> Iterator[tuple[str, Observation | None]]:
    """Each mode in which the stage failed, with what it told of that first."""
    told = [seen for seen in stage.observations if seen.kind in ("exception", "difference")]
    if stage.name != "soundness":
        passed = (s.name.removeprefix("export-") for s in report.stages if s.name.startswith("export-") and s.passed)
        mode = stage.name.removeprefix("export-")
        yield mode if mode in MODES else next(passed, ""), next(iter(told), None)
        return
    for mode in MODES:
        if seen := next((seen for seen in told if seen.details.get("mode") == mode), None):
            yield mode, seen


def _body(report: TargetReport, stage: StageResult, mode: str, seen: Observation | None) -> list[str] | None:
    if stage.name in ("load", "eager"):
        return [bodies.LOAD if stage.name == "load" else bodies.EAGER]
    if report.target is None:
        return None
    export = _export(report.target, strict=mode == "strict")
    if after := _after(stage.name):
        return [export, bodies.CALLS, bodies.PROGRAM + after + bodies.BESIDE_EAGER]
    if seen is not None and seen.kind == "difference":
        shown = bodies.difference(seen.details)
        return [export, bodies.CALLS, shown] if shown else None
    return [export, "export()\n"] if stage.name.startswith("export-") else None


def _export(target: Target, *, strict: bool) -> str:
    if not own_export(target):
        return bodies.EXPORT.format(strict=strict)
    return bodies.OWN_EXPORT.format(strict=strict, cls=f"home.{target.source.rpartition(':')[2]}")


def _after(stage: str) -> str:
    """What the stage does with the program; a lowering says it in a constant REPRO of its module."""
    if not stage.startswith("lower-"):
        return bodies.FURTHER.get(stage, "")
    name = stage.removeprefix("lower-")
    module = next((point.value for point in entry_points(group=LOWERINGS) if point.name == name), "")
    spec = importlib.util.find_spec(module) if module else None
    tree = ast.parse(Path(spec.origin).read_text("utf-8")) if spec and spec.origin else ast.Module([], [])
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "REPRO" for t in node.targets):
            return str(ast.literal_eval(node.value))
    return ""


def _head(report: TargetReport, stage: StageResult, seen: Observation | None, file: str) -> str:
    text = seen.first_line if seen else stage.detail
    said = " ".join(f"{seen.error_class}: {text}".split() if seen and seen.error_class else text.split())
    place = f"\n\nAt {seen.user_path}:{seen.user_line}." if seen and seen.user_path else ""
    needs = f"torch, cloudpickle, {file} beside it" if file else "torch"
    words = said.replace("\\", "\\\\").replace('"""', "'''")
    return (
        f'"""{report.name}: {stage.name} {stage.status}.\n\n{words}{place}\n\n{MADE_BY} from a trial with torch '
        f'{report.torch}. It needs {needs} and the model\'s own code, and fails as the trial did.\n"""\n'
    )
