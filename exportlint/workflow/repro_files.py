"""Write the scripts of `--save-repro DIR`, where nothing of the user's is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.finding import Problem
from exportlint.repro.script import MADE_BY, Script, scripts
from exportlint.workflow.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.protocol.result import TargetReport
    from exportlint.workflow.report_building import Gathered


_HEAD = 5000  # characters of a file in which its first words stand


@contextmanager
def folder_for_models(scripts_folder: Path | None) -> Iterator[Path | None]:
    """A temporary folder for the live models that a trial keeps; None where no scripts are asked for.

    Raises UserError, before the trial, which may take long, where nothing can be written to the folder of the scripts.
    """
    if scripts_folder is None:
        yield None
        return
    try:
        scripts_folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=scripts_folder):
            pass
    except OSError as error:
        raise UserError(
            f"--save-repro: {scripts_folder} cannot be written to: {error.strerror}; name a folder of your own"
        ) from error
    with tempfile.TemporaryDirectory(prefix="exportlint-") as models:
        yield Path(models)


def save(gathered: Gathered, folder: Path) -> Gathered:
    """Write a script for each failure; its name goes to its stage, and what is in the way is a problem."""
    writer = _Writer(folder)
    targets = tuple(writer.with_scripts(report) for report in gathered.targets)
    return replace(gathered, targets=targets, problems=(*gathered.problems, *writer.problems))


class _Writer:
    """Writes the scripts of several targets into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[Problem] = []
        self._taken: set[str] = set()

    def with_scripts(self, report: TargetReport) -> TargetReport:
        """The report, with the paths of its scripts at their stages."""
        paths: dict[str, tuple[str, ...]] = {}
        for script in scripts(report):
            if script.text is None:
                say(f"target {report.name}: no script for {script.stage}: {script.why}")
            elif path := self._written(script, script.text):
                paths[script.stage] = (*paths.get(script.stage, ()), path)
        stages = (replace(stage, repros=paths.get(stage.name, ())) for stage in report.stages)
        return replace(report, stages=tuple(stages))

    def _written(self, script: Script, text: str) -> str | None:
        """Where it was written; None where somebody else's file stands."""
        path = self.folder / self._free_name(script)
        if not _replaced(path, text):
            what = "exists and is not from exportlint: it was left as it is"
            self.problems.append(Problem(path.as_posix(), None, what))
            return None
        if script.model_file:
            shutil.copyfile(script.model_file, self.folder / script.model_name)
        return path.as_posix()

    def _free_name(self, script: Script) -> str:
        """Two targets of one run may have the same name in different folders."""
        stem = script.name.removesuffix(".py")
        names = (script.name, *(f"{stem}-{number}.py" for number in range(2, 1000)))
        name = next(name for name in names if name not in self._taken)
        self._taken.add(name)
        return name


def _replaced(path: Path, text: str) -> bool:
    """All of it or nothing. A file that an earlier run wrote is replaced, any other is not touched."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".part", delete=False) as part:
        part.write(text)
    try:
        if path.exists() and MADE_BY in path.read_text("utf-8", errors="replace")[:_HEAD]:
            os.replace(part.name, path)  # noqa: PTH105 (NamedTemporaryFile gives a str)
            return True
        os.link(part.name, path)  # refuses to replace, whoever was quicker
    except FileExistsError:
        return False
    finally:
        Path(part.name).unlink(missing_ok=True)
    return True
