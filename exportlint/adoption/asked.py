"""What of adoption a command line asks for. Plain, so that a run that asks for nothing loads nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Adoption:
    """What was asked for; None and False for what was not.

    baseline        the file whose findings are left out
    write_baseline  the file that takes all findings
    prune_baseline  take out of the baseline what is gone
    diff_base       the revision since which a line has to have changed
    """

    baseline: Path | None
    write_baseline: Path | None
    prune_baseline: bool
    diff_base: str | None

    def with_configured(self, baseline: Path | None) -> Adoption:
        """With the baseline of the configuration, where the command line says nothing of one."""
        return self if self.baseline or self.write_baseline else replace(self, baseline=baseline)

    @property
    def is_asked(self) -> bool:
        """Is there anything to do?"""
        return bool(self.baseline or self.write_baseline or self.prune_baseline or self.diff_base is not None)
