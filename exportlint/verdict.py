"""Static meets dynamic: what is suspected, confirmed, discovered, cleared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding
from exportlint.trial.feeding import feeding_lines
from exportlint.trial.reasons import Told, shown
from exportlint.trial.report import MODES, TargetReport
from exportlint.trial.told import agrees, nameless, of_export, told_by, united

if TYPE_CHECKING:
    from collections.abc import Sequence


def merge(
    findings: Sequence[Finding], reports: Sequence[TargetReport], *, mode: str = "non-strict", root: Path | None = None
) -> list[Finding]:
    """Every finding of both kinds, each place and reason once.

    `findings` is what the static pass suspects, `mode` (non-strict, strict or both) what severity follows; paths are
    relative to `root`, the working directory by default.
    """
    root = (root or Path.cwd()).resolve()
    modes = MODES if mode == "both" else (mode,)
    met = _Meeting(findings)
    for report in reports:
        for told in told_by(report, root, modes):
            met.meet(told, _ran(report, root), root)
        if all(agrees(report, mode) for mode in modes):
            met.clear(report.name, _ran(report, root))
    return met.result()


def _predicts(static: Finding, told: Told) -> bool:
    return all(static.effect.get(mode) == told.outcomes[mode] for mode in told.outcomes)


Ran = Mapping[str, frozenset[int]]


def _ran(report: TargetReport, root: Path) -> Ran:
    """The lines that eager ran, by the path that findings carry."""
    return {shown(str(Path(path).resolve()), root): lines for path, lines in report.executed.items()}


@dataclass
class _Meeting:
    """Static findings by index, as they are joined one by one; and what only trials told."""

    static: Sequence[Finding]
    joined: dict[int, Finding] = field(default_factory=dict)
    cleared: dict[int, str] = field(default_factory=dict)
    alone: dict[tuple[str, int, str, str], Finding] = field(default_factory=dict)

    def meet(self, told: Told, ran: Ran, root: Path) -> None:
        """Join what a trial of a target told to the suspicion it is about, or keep it for itself."""
        index = self._at_place(told) if told.placed else self._by_elimination(told, ran)
        if index is None and told.placed:
            index = self._above(told, root)
        if index is not None:
            self.joined[index] = _confirmed(self.joined.get(index, self.static[index]), told)
            return
        finding = told.finding
        key = (finding.path, finding.line, finding.rule, told.family)
        known = self.alone.get(key)
        self.alone[key] = united(known, finding) if known else finding

    def _at_place(self, told: Told) -> int | None:
        """The static finding at the same place; of several, the one of the same rule, then the most severe."""
        finding = told.finding
        if not of_export(told):
            return None
        here = [
            (static.rule != finding.rule, static.severity.rank, index)
            for index, static in enumerate(self.static)
            if static.path == finding.path and static.line <= finding.line <= static.end_line
        ]
        return min(here)[2] if here else None

    def _above(self, told: Told, root: Path) -> int | None:
        """A line that no rule knows: the nearest suspicion that predicts it, of those that feed the line."""
        finding = told.finding
        if not (of_export(told) and told.outcomes and nameless(finding)):
            return None
        for line in feeding_lines(str(root / finding.path), finding.line):
            for index, static in enumerate(self.static):
                here = static.path == finding.path and static.line == line
                if here and any(static.effect.get(mode) == said for mode, said in told.outcomes.items()):
                    return index
        return None

    def _by_elimination(self, told: Told, ran: Ran) -> int | None:
        """Torch names no line: the one suspicion among the lines that ran which predicts just this outcome, or, of what
        comes after the export and no suspicion predicts, is of the rule that knows torch's words."""
        finding = told.finding
        predicted = of_export(told) and bool(finding.effect)
        own = [
            index
            for index, static in enumerate(self.static)
            if any(line in ran.get(static.path, ()) for line in range(static.line, static.end_line + 1))
            and (static.rule == finding.rule or (predicted and nameless(finding)))
            and (_predicts(static, told) or not predicted)
        ]
        return own[0] if len(own) == 1 else None

    def clear(self, target: str, ran: Ran) -> None:
        """The suspicions whose lines ran in a target that exports and agrees with eager, in every mode that counts."""
        for index, static in enumerate(self.static):
            if any(line in ran.get(static.path, ()) for line in range(static.line, static.end_line + 1)):
                self.cleared.setdefault(index, target)

    def result(self) -> list[Finding]:
        met = [self._final(index, static) for index, static in enumerate(self.static)]
        return sorted([*met, *self.alone.values()], key=lambda finding: finding.sort_key)

    def _final(self, index: int, static: Finding) -> Finding:
        if index in self.joined:
            return self.joined[index]
        if index in self.cleared:
            return replace(static, evidence=Evidence.CLEARED, target=self.cleared[index])
        return static


_ONLY = "; torch names no line, and of those that ran only this one is suspected of it"


def _confirmed(static: Finding, joined: Told) -> Finding:
    """The static rule, message and fix; the trial's target, stage, words, links and measured effect."""
    told = joined.finding
    words = ""
    if static.evidence is not Evidence.CONFIRMED:
        above = f" (line {told.line})" if joined.placed and told.line > static.end_line else ""
        words = f"; tried{above}: {told.message}" + ("" if joined.placed else _ONLY)
    return replace(
        static,
        evidence=Evidence.CONFIRMED,
        severity=min(static.severity, told.severity, key=lambda severity: severity.rank),
        message=static.message + words,
        effect={**static.effect, **told.effect},
        target=static.target or told.target,
        stage=static.stage or told.stage,
        links=tuple(dict.fromkeys((*static.links, *told.links))),
        fix=static.fix or told.fix,
    )
