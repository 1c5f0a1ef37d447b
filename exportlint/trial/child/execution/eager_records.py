"""Keep the records of eager for the target's later stages."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from exportlint.trial.child.execution.call_record import RunRecord


_FILE = "eager.pickle"


def keep_records(folder: Path, first: RunRecord, again: RunRecord) -> None:
    """Store two runs of eager, each of a process of its own."""
    (folder / _FILE).write_bytes(pickle.dumps((first, again)))


def kept_records(folder: Path) -> tuple[RunRecord, RunRecord]:
    """What `keep_records` stored."""
    found: tuple[RunRecord, RunRecord] = pickle.loads((folder / _FILE).read_bytes())  # noqa: S301 - our own fork wrote it
    return found
