"""Places in the repository and lines of the sources that tests speak of."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
MODELS = TESTS / "trial/models"
SCRIPTS = TESTS / "trial/scripts"


def line_of(text: str, source: Path | str) -> int:
    """The number of the first line that holds the text; `source` is a file, or the source itself."""
    whole = source.read_text("utf-8") if isinstance(source, Path) else source
    return next(number for number, line in enumerate(whole.split("\n"), 1) if text in line)


def marked(file: Path, mark: str) -> dict[int, str]:
    """Line number -> what stands behind `mark` on it."""
    lines = enumerate(file.read_text("utf-8").split("\n"), 1)
    return {number: line.partition(mark)[2] for number, line in lines if mark in line}
