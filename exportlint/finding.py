"""The one record that every part speaks: static pass, trial and output."""

from __future__ import annotations

import enum
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


# What was measured is of a construct that surely does it. A rule may not be sure that this one does, until a trial
# shows it: then the words go.
DOUBT = "it may be that "


class Severity(str, enum.Enum):
    """How loud a finding is. It follows the measured truth of the chosen torch version and mode.

    >>> sorted(Severity, key=lambda severity: severity.rank)[0].value
    'error'
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the most severe."""
        return list(type(self)).index(self)


class Evidence(str, enum.Enum):
    """Where the belief comes from: read from the source, or shown or refuted by a trial."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    DISCOVERED = "discovered"
    CLEARED = "cleared"


class Applicability(str, enum.Enum):
    """May a fix be applied without a person looking at it?

    safe: yes; unsafe: it may change what the model computes; display: it is advice to read, with nothing to apply.

    >>> Fix("Choose with `torch.where`.").applicability.value
    'display'
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Link:
    """A page that exists: `kind` is exportdb, graph-break or docs.

    >>> Link("exportdb", "cond_predicate", "https://pytorch.org/docs/main/generated/exportdb/index.html#cond-predicate").id
    'cond_predicate'
    """

    kind: str
    id: str
    url: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `start` to `end` (line and column, both from 1, end exclusive) of a file by `text`.

    >>> Edit("net.py", start=(7, 12), end=(7, 18), text="x.detach()").text
    'x.detach()'
    """

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to write instead. With no edits it is advice to read (applicability display).

    `tried` is "verified", "failed" or "not tried". `both_sides_of`: the line of a decision; only
    inputs that take both of its sides can show that it is right. 0: there is none. `needs_python`:
    the program calls Python where it runs, which no target of deployment has. `kernel`: a fake kernel
    that the description holds, as Python. `switch`: a flag, by its path from the model, that is to be off;
    `loose_trace`: `torch.jit.trace` takes the rest with `strict=False`.

    >>> Fix("Use `.detach()`.").tried
    'not tried'
    """

    description: str
    applicability: Applicability = Applicability.DISPLAY
    edits: tuple[Edit, ...] = ()
    tried: str = "not tried"
    both_sides_of: int = 0
    needs_python: bool = False
    kernel: str = ""
    switch: str = ""
    loose_trace: bool = False


@dataclass(frozen=True, slots=True)
class TrailStep:
    """A line that a finding leads back to: where a value comes from, or a call on the way to the line.

    >>> TrailStep("`x` of forward", "net.py", 5).line
    5
    """

    text: str
    path: str
    line: int


class Wanted(str, enum.Enum):
    """Which rewrites of a finding somebody will look at: making them is most of what a finding costs."""

    NONE = "none"
    FIRST = "first"  # what a report shows
    ALL = "all"  # what a repair tries one after the other


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing torch.export refuses or gets wrong, at one place.

    rule          its name; of what no rule knows, "trial-" and the stage that found it
    path          relative to the working directory, with forward slashes
    line …        lines and columns start at 1; the end column is exclusive
    effect        the measured outcome by mode, such as {"non-strict": "refused"}; empty: not measured
    lowerings     the targets of deployment that it is about, each with the measured status: {"executorch": "refused"};
                  empty: it is about export
    shown_by      mode -> what of a trial shows it, by `exportlint.trial.protocol.shown_by`; a mode in which torch does
                  it right has nothing to show; empty: nobody knows
    target        the target of the trial that found, confirmed or refuted it, and `stage` where
    fingerprint   stays the same when the line moves
    case          which case of its rule it is; empty: a trial alone found it
    in_python     torch.compile has left the graph before it comes there
    predicted     the part of `message` that says what torch does with such code, as it was measured
    trail         where the value comes from that it is about, the nearest first, as the message tells it too
    calls         the calls that led torch to the line, the outermost first; empty: torch told none
    rewrites      all that its rule knows to write instead, the best one first, whether it was tried or not

    >>> finding = Finding("tensor-data-access", "net.py", 7, 12, 7, 18, Severity.ERROR, "`x.data` reads past autograd")
    >>> finding.evidence.value
    'suspected'
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
    shown_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    lowerings: Mapping[str, str] = field(default_factory=dict)
    rewrites: tuple[Fix, ...] = field(default=(), compare=False)
    trail: tuple[TrailStep, ...] = field(default=(), compare=False)
    calls: tuple[TrailStep, ...] = field(default=(), compare=False)
    case: str = field(default="", compare=False)
    predicted: str = field(default="", compare=False)
    in_python: bool = field(default=False, compare=False)

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
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
