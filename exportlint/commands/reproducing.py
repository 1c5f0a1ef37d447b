"""`--save-repro DIR`: the scripts of a trial, written where nothing of the user's is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.commands.reporting import say
from exportlint.errors import UserError
from exportlint.finding import Problem
from exportlint.output.report import Stage, Target
from exportlint.repro.script import MADE_BY, Script, scripts

if TYPE_CHECKING:
    from exportlint.commands.gathering import Gathered
    from exportlint.trial.report import TargetReport


def prepare(folder: Path) -> None:
    """Before the trial, which may take long: can anything be written there?"""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"--save-repro: {folder} cannot be written to: {error.strerror}; name a folder of your own"
        ) from error


@contextmanager
def kept(folder: Path | None) -> Iterator[Path | None]:
    """Prepares the folder of the scripts; a temporary one, for what the trial keeps of live models."""
    if folder is None:
        yield None
        return
    prepare(folder)
    with tempfile.TemporaryDirectory(prefix="exportlint-") as parts:
        yield Path(parts)


def saved(gathered: Gathered, reports: Sequence[TargetReport], folder: Path | None) -> Gathered:
    """The scripts written, if a folder is given; with their names on the ladders, and what was in the way."""
    if folder is None:
        return gathered
    ladders, unwritten = save(reports, gathered.targets, folder)
    return replace(gathered, targets=ladders, problems=(*gathered.problems, *unwritten))


def save(
    reports: Sequence[TargetReport], targets: Sequence[Target], folder: Path
) -> tuple[tuple[Target, ...], tuple[Problem, ...]]:
    """The targets with the scripts of their stages; a problem for each file that is in the way."""
    taken: set[str] = set()
    problems: list[Problem] = []
    done = []
    for report, target in zip(reports, targets, strict=True):
        paths: dict[str, tuple[str, ...]] = {}
        for script in scripts(report):
            if script.text is None:
                say(f"target {report.name}: no script for {script.stage}: {script.why}")
                continue
            path = folder / _free(script, taken)
            if _written(path, script.text):
                if script.parts:
                    shutil.copyfile(script.parts, folder / script.parts_name)
                paths[script.stage] = (*paths.get(script.stage, ()), path.as_posix())
            else:
                problems.append(
                    Problem(path.as_posix(), None, "exists and is not from exportlint: it was left as it is")
                )
        stages = (replace(stage, repros=paths.get(stage.name, ())) for stage in target.stages)
        done.append(replace(target, stages=tuple[Stage, ...](stages)))
    return tuple(done), tuple(problems)


def _free(script: Script, taken: set[str]) -> str:
    """Two targets of one run may have the same name in different folders."""
    stem = script.name.removesuffix(".py")
    names = (script.name, *(f"{stem}-{number}.py" for number in range(2, 1000)))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name


def _written(path: Path, text: str) -> bool:
    """All of it or nothing. A file that an earlier run wrote is replaced, any other is not touched."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".part", delete=False) as part:
        part.write(text)
    try:
        if path.exists() and MADE_BY in path.read_text("utf-8", errors="replace")[:5000]:
            os.replace(part.name, path)  # noqa: PTH105 (NamedTemporaryFile gives a str)
            return True
        os.link(part.name, path)  # refuses to replace, whoever was quicker
    except FileExistsError:
        return False
    finally:
        Path(part.name).unlink(missing_ok=True)
    return True
