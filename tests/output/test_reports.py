"""Twelve reports as a person reads them, each of a model that was really tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inline_snapshot import external_file
from processes import exportlint
from sources import MODELS, ROOT

pytestmark = pytest.mark.slow

SNAPSHOTS = Path(__file__).with_name("snapshots") / "reports"
EXAMPLES = (
    "branch_on_score",
    "checked_range",
    "clean_encoder",
    "clip_through_data",
    "counter_on_self",
    "dynamic_batch",
)
SEVERAL_DEFECTS = ("decoder_loop", "detector_head", "energy", "outputs", "batches", "validation")
FILES = [
    *(ROOT / "fixtures/examples" / f"{name}.py" for name in EXAMPLES),
    *(MODELS / "multi" / f"{name}.py" for name in SEVERAL_DEFECTS),
]
SCREEN = 40  # lines


@pytest.fixture(scope="module")
def reports() -> dict[str, str]:
    """Name of the file -> its part of the report, with the same seconds in every run."""
    names = [str(file.relative_to(ROOT)) for file in FILES]
    text = exportlint(ROOT, "trial", *names, "--jobs", "2").stdout
    parts = re.split(r"^target ", text, flags=re.MULTILINE)[1:]
    return {Path(part.partition("\n")[0]).stem: _steady("target " + part) for part in parts}


def _steady(text: str) -> str:
    """Without what stands below the last target: suspicions of no target, and the run's headline."""
    text = re.sub(r"^(  [a-z-]+ +[a-z-]+ +)\d+\.\d\d(?= |$)", r"\g<1>0.00", text, flags=re.MULTILINE)
    text = re.sub(r"\d+\.\d kB", "N kB", re.sub(r" +0\.00", "     0.00", text))
    return re.split(r"\nFound |\nread in the source, and", text)[0].rstrip() + "\n"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_report_reads_as_it_did(reports: dict[str, str], file: Path) -> None:
    assert reports[file.stem] == external_file(SNAPSHOTS / f"{file.stem}.txt")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_failure_fits_on_a_screen(file: Path) -> None:
    report = (SNAPSHOTS / f"{file.stem}.txt").read_text("utf-8")
    failures = re.split(r"\n\n(?=cause |error|warning|note)", report)
    assert max(len(failure.splitlines()) for failure in failures) <= SCREEN
