"""Keep the artefacts of `--artifacts DIR`, each in a folder, whole or not at all; nothing of the user's is lost."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.finding import Problem
from exportlint.repro.script import slug
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.protocol.result import StageResult, TargetReport
    from exportlint.workflow.report_building import Gathered


# Lists what we wrote into a folder: such a folder, with nothing else in it, may be replaced.
CONTENTS = "made-by-exportlint.json"


@contextmanager
def folder_for_artefacts(folder: Path | None) -> Iterator[Path | None]:
    """A temporary folder inside of `folder`, from which artefacts are moved into it; None where none are kept.

    Raises UserError, before the trial, which may take long, where nothing can be written.
    """
    if folder is None:
        yield None
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".exportlint-", dir=folder, ignore_cleanup_errors=True) as made:
            yield Path(made)
    except OSError as error:
        raise UserError(
            f"--artifacts: {folder} cannot be written to: {error.strerror}; name a folder of your own"
        ) from error


def keep(gathered: Gathered, folder: Path) -> Gathered:
    """Move what passed into `folder`; its place goes to its stage, and what is in the way is a problem."""
    keeper = _Keeper(folder)
    targets = tuple(keeper.kept(report) for report in gathered.targets)
    return replace(gathered, targets=targets, problems=(*gathered.problems, *keeper.problems))


class _Keeper:
    """Moves the artefacts of several targets into one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: set[str] = set()
        self.problems: list[Problem] = []

    def kept(self, report: TargetReport) -> TargetReport:
        """The report, with the folders of its artefacts at their stages."""
        return replace(report, stages=tuple(self._moved(report, stage) for stage in report.stages))

    def _moved(self, report: TargetReport, stage: StageResult) -> StageResult:
        if not stage.row.lowering or "kept" not in stage.data:
            return stage
        made = Path(stage.data["kept"])
        place = self._folder / self._free_name(f"{slug(report.name)}-{stage.row.lowering}")
        _write_contents(made, report, stage)
        if place.exists() and not _is_ours(place):
            what = "exists and is not from exportlint: it was left as it is"
            self.problems.append(Problem(place.as_posix(), None, what))
            return stage
        _replace(made, place)
        return replace(stage, artifact=place.as_posix())

    def _free_name(self, name: str) -> str:
        """Two targets of one run may have the same name in different folders."""
        names = (name, *(f"{name}-{number}" for number in range(2, 1000)))
        free = next(one for one in names if one not in self._taken)
        self._taken.add(free)
        return free


def _write_contents(made: Path, report: TargetReport, stage: StageResult) -> None:
    said = {
        "exportlint": __version__,
        "torch": report.torch,
        "target": report.name,
        "lowering": stage.row.lowering,
        "proved": stage.detail,
        "files": [CONTENTS, *_files(made)],
    }
    (made / CONTENTS).write_text(json.dumps(said, indent=2) + "\n", "utf-8")


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def _is_ours(place: Path) -> bool:
    try:
        said = json.loads((place / CONTENTS).read_text("utf-8"))
        return set(_files(place)) <= set(said["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _replace(made: Path, place: Path) -> None:
    """`made` gets the modes of any new folder: temporary ones are for their owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    made.chmod(0o777 & ~mask)
    if place.exists():
        place.rename(made.with_suffix(".old"))
    made.rename(place)
