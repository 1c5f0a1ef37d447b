"""What the court says of one edit, in real processes: the edited model beside the unedited one in eager."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from exportlint.finding import Edit
from exportlint.repair.edition import Edition
from exportlint.trial.parent.session import kept_session
from exportlint.trial.parent.stage_runner import StageRunner
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.protocol.stages import EAGER, SAME_BEHAVIOUR, SAME_PROGRAM, stage_named
from exportlint.trial.protocol.target import Target, TargetKind
from exportlint.workflow.repairing import under_other_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.repair.rounds import OtherSettings
    from exportlint.trial.protocol.result import StageResult

HEAD = "import torch\nfrom torch import nn\n\n\n"


@dataclass(frozen=True)
class Verdict:
    """`kept`: of the run of the unedited model; `same`: of the comparison; `settings`: under other settings."""

    kept: StageResult
    same: StageResult
    settings: OtherSettings

    @property
    def why_not(self) -> str:
        return "" if self.same.passed else self.same.full_detail

    @property
    def caveats(self) -> list[str]:
        found: list[str] = self.same.data.get("caveats", [])
        return found


@dataclass
class Court:
    """Of a file with a class `Net` that has `inputs()`."""

    folder: Path
    options: TrialOptions = field(init=False)

    def __post_init__(self) -> None:
        self.options = TrialOptions(behaviour=self.folder, keep=True)

    def verdict(self, before: str, after: str, *, unsafe: bool = False) -> Verdict:
        path = self.folder / "net.py"
        path.write_text(before, "utf-8")
        target = Target("Net", TargetKind.FIXTURE, f"{path}:Net", path=str(path), line=1)
        lines = before.split("\n")
        edition = replace(Edition(), began=float("inf")).with_edits(
            [Edit(str(path), (1, 1), (len(lines), len(lines[-1]) + 1), after)], []
        )
        options = replace(self.options, unsafe=unsafe)
        edited = replace(options, edited=edition.texts)
        file = str(options.behaviour_of(target))
        kept = self._stage(target, options, file=file, keep=True)
        same = self._stage(target, edited, file=file, unsafe=unsafe)
        return Verdict(kept, same, under_other_settings([target], options, edition))

    def program(self, before: str, after: str) -> StageResult:
        """Of the program of `after` beside what `before` computes in eager."""
        path = self.folder / "net.py"
        path.write_text(before, "utf-8")
        target = Target("Net", TargetKind.FIXTURE, f"{path}:Net", path=str(path), line=1)
        file = str(self.options.behaviour_of(target))
        self._stage(target, self.options, file=file, keep=True)
        edited = replace(self.options, edited={str(path.resolve()): after})
        with kept_session(None) as server, StageRunner(server, target, edited) as runner:
            assert runner.load().passed
            assert runner.fresh(EAGER).passed
            exported = runner.export(stage_named("export-non-strict"))
            assert exported.passed, exported.full_detail
            return runner.following(SAME_PROGRAM, mode="non-strict", file=file)

    def _stage(self, target: Target, options: TrialOptions, **asked: Any) -> StageResult:
        with kept_session(None) as server, StageRunner(server, target, options) as runner:
            loaded = runner.load()
            assert loaded.passed, loaded.full_detail
            return runner.fresh(SAME_BEHAVIOUR, **asked)


@contextlib.contextmanager
def court() -> Iterator[Court]:
    with TemporaryDirectory() as folder:
        yield Court(Path(folder))


def verdict(before: str, after: str, *, unsafe: bool = False) -> Verdict:
    with court() as one:
        return one.verdict(HEAD + dedent(before), HEAD + dedent(after), unsafe=unsafe)


def program_beside(before: str, after: str) -> StageResult:
    with court() as one:
        return one.program(HEAD + dedent(before), HEAD + dedent(after))
