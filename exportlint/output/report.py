"""What every format is given: the findings of one run, what was tried, and what could not be checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.finding import Finding, Problem, Severity
from exportlint.output.background import NOTHING_BEHIND, Background
from exportlint.trial.protocol.purposes import COMPILE, EXPORT

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.trial.protocol.result import TargetReport


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do after this report: why, and the command."""

    why: str
    command: str


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How a report is rendered: colour only on terminals, a width in characters, the count per rule if asked for."""

    color: bool = False
    width: int = 100
    statistics: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What is listed beside the findings that count.

    coverage    the source lines that no sample ran
    operators   what each lowering would do with each operator
    """

    cleared: bool = False
    suppressed: bool = False
    suspected: bool = False
    coverage: bool = False
    operators: bool = False


NOTHING_MORE = Shown()


def _no_source(_path: str, _line: int) -> str | None:
    return None


def _no_page(_rule: str) -> str:
    return ""


@dataclass(frozen=True)
class Report:
    """`findings` count. `cleared`, `suppressed` and `unreached` (suspicions in code that no target ran) are shown only
    when asked for, by `also`, and never count.

    `left_out`: those of `suppressed` that the configuration silences, and no comment in the file.

    `baselined` are those of a baseline, `unchanged` those on lines that did not change; they are counted only. None
    where nobody asked.

    `source` gives a line of a file, or None when there is no such line. `next_step` comes after trials only.
    `background`: what else is known of a finding, for the format that asks for it. `page`: that of a rule, as Markdown;
    empty for a name that no rule has.
    """

    torch: str | None
    mode: str
    files: int
    findings: tuple[Finding, ...] = ()
    cleared: tuple[Finding, ...] = ()
    suppressed: tuple[Finding, ...] = ()
    targets: tuple[TargetReport, ...] = ()
    problems: tuple[Problem, ...] = ()
    unreached: tuple[Finding, ...] = ()
    baselined: tuple[Finding, ...] | None = None
    unchanged: tuple[Finding, ...] | None = None
    also: Shown = NOTHING_MORE
    next_step: NextStep | None = None
    purpose: str = EXPORT
    source: Callable[[str, int], str | None] = field(default=_no_source, compare=False)
    background: Background = field(default=NOTHING_BEHIND, compare=False)
    page: Callable[[str], str] = field(default=_no_page, compare=False)
    left_out: tuple[Finding, ...] = ()

    @property
    def shown(self) -> tuple[Finding, ...]:
        """What a format lists, in the order of places."""
        extra = (self.cleared if self.also.cleared else ()) + (self.suppressed if self.also.suppressed else ())
        extra += self.unreached if self.also.suspected else ()
        return tuple(sorted(self.findings + extra, key=lambda finding: finding.sort_key))

    def label(self, finding: Finding) -> str:
        """The mark of a finding that is shown but does not count, such as (cleared); "" for the others."""
        return self._labels.get(id(finding), "")

    @cached_property
    def _labels(self) -> dict[int, str]:
        cleared = {id(finding): " (cleared)" for finding in self.cleared}
        unreached = {id(finding): " (never ran)" for finding in self.unreached}
        return cleared | unreached | {id(finding): " (suppressed)" for finding in self.suppressed}

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings)

    def per_rule(self) -> list[tuple[str, int]]:
        """Rule and number of findings, the most frequent first."""
        counts = Counter(finding.rule for finding in self.findings)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def other_torch(self, target: TargetReport) -> str:
        """The torch that the target was tried with, as text behind its name; "" where it is the report's."""
        torch = target.torch
        return f", tried with torch {torch}" if torch and torch.partition("+")[0] != self.torch else ""

    @property
    def headline(self) -> str:
        """The run in one sentence."""
        problems = f", with {_plural(len(self.problems), 'problem')}" if self.problems else ""
        judged = f"{_plural(self.files, 'file')}{self._tried}{problems}"
        return f"{self._found} in {judged} ({self._measured}){self._hidden}"

    @property
    def _found(self) -> str:
        counts = [(self.count(severity), severity.value) for severity in Severity]
        return "Found " + ", ".join(_plural(n, word) for n, word in counts if n) if self.findings else "Found nothing"

    @property
    def _tried(self) -> str:
        if not self.targets:
            return ""
        from exportlint.trial.protocol.stages import SCRIPT  # noqa: PLC0415 (what is known of stages, after trials only)

        # A script is no model: its run gave some.
        tried = [target for target in self.targets if target.stage(SCRIPT.name) is None]
        return f" and {_plural(len(tried), 'target')}" if tried else ""

    @property
    def _measured(self) -> str:
        mode = "both modes" if self.mode == "both" else self.mode
        if self.purpose == COMPILE:  # which has no modes
            mode = "torch.compile"
        return f"torch {self.torch}, {mode}" if self.torch else mode

    @property
    def _hidden(self) -> str:
        parts = [(len(self.suppressed), "suppressed"), (len(self.cleared), "cleared")]
        parts += [(len(self.baselined or ()), "in the baseline"), (len(self.unchanged or ()), "on unchanged lines")]
        hidden = [f"{n} {word}" for n, word in parts if n]
        if self.unreached:
            more = "" if self.also.suspected else " (--show-suspected)"
            hidden.append(f"{len(self.unreached)} suspected in code that no target ran{more}")
        return f"; {', '.join(hidden)}" if hidden else ""


def _plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
