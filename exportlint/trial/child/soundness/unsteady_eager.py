"""Check: eager gives the same values in a second run. Where it does not, values are not compared, as a note reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.soundness.differences import is_unsteady
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.soundness.subject import Subject


def unsteady_eager(subject: Subject) -> Iterator[Observation]:
    """A note where eager gives other values in another process."""
    if is_unsteady(subject.eager, subject.again):
        yield Observation("note", details={"note": "eager-unstable"})
