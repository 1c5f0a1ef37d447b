"""Make scripts of a report: one for each stage, and mode, that did not pass."""

from __future__ import annotations

import ast
import importlib.util
import re
import zlib
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.repro import bodies
from exportlint.repro.setup import own_export, setup
from exportlint.trial.findings.wording.difference_messages import in_words
from exportlint.trial.protocol.outcomes import FAILED, MODES, STRICT
from exportlint.trial.protocol.stages import LOAD, LOWERINGS, Stage, StageKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import StageResult, TargetReport
    from exportlint.trial.protocol.target import Target


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
            before = setup(report, file, others=_other_values(seen))
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


def _other_values(seen: Observation | None) -> bool:
    return seen is not None and seen.kind == "difference" and bool(seen.details.get("input_set"))


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
            return [bodies.LOAD]
        case StageKind.EAGER:
            return [bodies.EAGER]
    if report.target is None:
        return None
    export = _export(report.target, strict=mode == STRICT)
    if after := _after(result.row):
        return [export, bodies.CALLS, bodies.PROGRAM + after + bodies.BESIDE_EAGER]
    if seen is not None and seen.kind == "difference":
        shown = bodies.difference(seen.details)
        return [export, bodies.CALLS, shown] if shown else None
    return [export, "export()\n"] if result.row.mode else None


def _export(target: Target, *, strict: bool) -> str:
    if not own_export(target):
        return bodies.EXPORT.format(strict=strict)
    return bodies.OWN_EXPORT.format(strict=strict, cls=f"home.{target.source.rpartition(':')[2]}")


def _after(stage: Stage) -> str:
    """What the stage does with the program: the constant REPRO of its module, or of its lowering's."""
    module = f"exportlint.trial.child.stages.{stage.module}"
    if stage.lowering:
        points = entry_points(group=LOWERINGS)
        module = next((point.module for point in points if point.name == stage.lowering), "")
    spec = importlib.util.find_spec(module) if module else None
    tree = ast.parse(Path(spec.origin).read_text("utf-8")) if spec and spec.origin else ast.Module([], [])
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "REPRO" for t in node.targets):
            return str(ast.literal_eval(node.value))
    return ""


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
