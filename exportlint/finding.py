"""The one record every part speaks: static pass, trial, verdict and output."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


class Severity(str, enum.Enum):
    """How loud a finding is. It follows the measured truth of the chosen torch version and mode."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the most severe."""
        return list(type(self)).index(self)


class Evidence(str, enum.Enum):
    """Where the belief comes from; see DESIGN, section 2."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    DISCOVERED = "discovered"
    CLEARED = "cleared"


class Outcome(str, enum.Enum):
    """What a torch version really did with a model in a mode."""

    EXPORTS = "exports"
    DIFFERS = "differs"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"


class Applicability(str, enum.Enum):
    """May a fix be applied without a person looking at it?"""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Link:
    """A page that exists: kind is exportdb, graph-break or docs."""

    kind: str
    id: str
    url: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace start..end (line and column, both from 1, end exclusive) of a file by text."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to write instead. With no edits it is advice to read (applicability display)."""

    description: str
    applicability: Applicability = Applicability.DISPLAY
    edits: tuple[Edit, ...] = ()
    tried: str = "not tried"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing torch.export refuses or gets wrong, at one place.

    Lines and columns start at 1; `path` is relative to the working directory with forward slashes.
    `effect` gives the measured outcome by mode, such as {"non-strict": "refused"}; empty: not measured.
    """

    rule: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    severity: Severity
    message: str
    evidence: Evidence = Evidence.SUSPECTED
    effect: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    stage: str | None = None
    links: tuple[Link, ...] = ()
    fix: Fix | None = None
    fingerprint: str = ""

    @property
    def sort_key(self) -> tuple[str, int, int, int, str, str]:
        return (self.path, self.line, self.column, self.severity.rank, self.rule, self.message)


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be checked, and why. It makes the exit code 2; the other files are still checked."""

    path: str
    line: int | None
    message: str


def fingerprint(rule: str, path: str, source_line: str, occurrence: int = 0) -> str:
    """An id that survives a move of the line: rule, path, the text of the line, and which of its equals this is."""
    text = "\0".join((rule, path, source_line.strip(), str(occurrence)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
