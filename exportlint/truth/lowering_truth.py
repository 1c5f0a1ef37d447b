"""Lower fixtures to targets of deployment, by the same trials that users run: what each target does with each class."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.protocol.outcomes import COMPILED, NON_STRICT, SKIPPED
from exportlint.trial.protocol.stages import lowering
from exportlint.trial.protocol.target import Target, TargetKind
from exportlint.trial.run import run_trials
from exportlint.truth.fixture import FixtureClass, read_fixture
from exportlint.truth.measuring import steady

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from exportlint.trial.protocol.result import StageResult, TargetReport

Lowered = dict[str, dict[str, Any]]  # target of deployment -> record
_SECONDS = 200.0


def measure_lowered(
    fixture: Path, lowerings: Sequence[str], python: Path | None = None
) -> Iterator[tuple[FixtureClass, Lowered]]:
    """Every class of the fixture with what became of it on each of the `lowerings`.

    A target has no record where nothing was decided: its packages are not installed, or torch refuses the class.
    """
    options = TrialOptions((NON_STRICT,), tuple(lowerings), python=python, timeout=_SECONDS, quick=True, keep=True)
    for cls in read_fixture(fixture).classes:
        target = Target(cls.name, TargetKind.FIXTURE, f"{fixture}:{cls.name}", path=str(fixture), line=cls.line)
        (report,) = run_trials([target], options)
        yield cls, {name: record for name in lowerings if (record := _record(report, name, fixture))}


def _record(report: TargetReport, name: str, fixture: Path) -> dict[str, Any] | None:
    result = report.stage(lowering(name).name)
    if result is None or result.status in (SKIPPED, COMPILED):
        return None
    packages = {package: version for package, version in result.data.get("versions", {}).items() if package != "torch"}
    record: dict[str, Any] = {"status": result.status, "packages": packages}
    return record if result.passed else {**record, **_why(result, fixture)}


def _why(result: StageResult, fixture: Path) -> dict[str, Any]:
    own = os.path.realpath(fixture)
    frames = (frame for seen in result.observations for frame in seen.frames)
    lines = [frame.line for frame in frames if os.path.realpath(frame.path) == own]
    return {"error": steady(result.full_detail), "line": lines[-1] if lines else None}
