"""Make the report of everything that a run found: select, ignore, per-file-ignores, comments, cleared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.config.settings import JudgedRules, RuleNames
from exportlint.files import SourceError, SourceFile, matches
from exportlint.finding import Evidence, Finding, Problem, fingerprint
from exportlint.output.report import NOTHING_MORE, Report, Shown
from exportlint.static import suppressions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from exportlint.config.settings import Config
    from exportlint.trial.protocol.result import TargetReport


@dataclass(frozen=True, slots=True)
class Gathered:
    """What one run found, before anything is left out.

    only_what_ran  files are read because targets ran them, and nobody asked about the rest of them
    stopped_by     the number of the signal that ended the trials before they were done
    """

    files: tuple[SourceFile, ...]
    checked: int
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...] = ()
    targets: tuple[TargetReport, ...] = ()
    only_what_ran: bool = False
    stopped_by: int | None = None


def build_report(gathered: Gathered, config: Config, shown: Shown = NOTHING_MORE) -> Report:
    """The report with what the configuration and the comments in the files leave of it."""
    sources = Sources(gathered.files)
    wanted = [finding for finding in gathered.findings if config.wants(finding.rule)]
    left_out = [finding for finding in wanted if _left_out(finding, config)] if config.per_file_ignores else []
    ids = {id(finding) for finding in left_out}
    applied = suppressions.apply(
        [finding for finding in wanted if id(finding) not in ids],
        sources.texts(finding.path for finding in wanted),
        known=RuleNames(),
        judged=JudgedRules(config),
        all_ran=config.all_rules_run,
    )
    complaints = (c for c in applied.complaints if c.path in sources.files and config.wants(c.rule))
    kept = (*applied.kept, *_with_fingerprints((c for c in complaints if not _left_out(c, config)), sources))
    of_models = {info.name for info in config.rules() if info.judges_models} if gathered.only_what_ran else set()
    unreached = {id(finding) for finding in _unreached(kept, gathered.targets, of_models)}
    counting = (f for f in kept if f.evidence is not Evidence.CLEARED and id(f) not in unreached)
    return Report(
        torch=config.torch,
        mode=config.mode,
        files=gathered.checked,
        findings=tuple(sorted(counting, key=lambda finding: finding.sort_key)),
        cleared=tuple(f for f in kept if f.evidence is Evidence.CLEARED),
        unreached=tuple(f for f in kept if id(f) in unreached),
        suppressed=(*applied.suppressed, *left_out),
        left_out=tuple(left_out),
        targets=gathered.targets,
        problems=gathered.problems,
        also=shown,
        purpose=config.purpose,
        source=sources.line,
    )


def _unreached(
    findings: Iterable[Finding], targets: Iterable[TargetReport], of_models: Collection[str]
) -> Iterator[Finding]:
    """Suspicions of the rules `of_models` that stand where no target ran, once a target ran."""
    reports = [target for target in targets if target.executed]
    for finding in findings if reports else ():
        if finding.rule in of_models and finding.evidence is Evidence.SUSPECTED:
            lines = range(finding.line, finding.end_line + 1)
            if not any(target.ran(finding.path, lines) for target in reports):
                yield finding


class Sources:
    """The text of files, read again only where a report or a comment needs it."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self.files: Mapping[str, SourceFile] = {file.shown: file for file in files}
        self._texts: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}

    def texts(self, found_in: Iterable[str]) -> dict[str, str]:
        """Path -> text of the files with findings (of those too that a trial ran, and nobody asked to check), and of
        the checked files that may hold a comment for us."""
        hit = dict.fromkeys(found_in)
        named = dict.fromkeys((*self.files, *hit))
        return {path: self.text(path) for path in named if path in hit or self._may_silence(path)}

    def _may_silence(self, path: str) -> bool:
        """Told by its bytes: most files hold no such comment, and to decode them takes longer than to read them."""
        file = self.files[path]
        try:
            return file.text is not None or suppressions.may_name_us(file.path.read_bytes())
        except OSError:  # a problem that is already reported
            return False

    def line(self, path: str, number: int) -> str | None:
        if path not in self._lines:
            self._lines[path] = self.text(path).split("\n")
        lines = self._lines[path]
        return lines[number - 1] if 0 < number <= len(lines) else None

    def text(self, path: str) -> str:
        if path not in self._texts:
            file = self.files.get(path) or SourceFile(Path(path), path)
            try:
                self._texts[path] = file.read()
            except SourceError:  # a problem that is already reported, or a file that a trial removed
                self._texts[path] = ""
        return self._texts[path]


def _left_out(finding: Finding, config: Config) -> bool:
    """Does a pattern of per-file-ignores name the finding's file and rule?"""
    patterns = (pattern for pattern, rules in config.per_file_ignores.items() if finding.rule in rules)
    return any(matches(pattern, config.root, finding.path) for pattern in patterns)


def _with_fingerprints(complaints: Iterable[Finding], sources: Sources) -> Iterable[Finding]:
    seen: Counter[tuple[str, str]] = Counter()
    for complaint in complaints:
        line = sources.line(complaint.path, complaint.line) or ""
        print_of = fingerprint(complaint.rule, complaint.path, line, seen[complaint.path, line.strip()])
        seen[complaint.path, line.strip()] += 1
        yield replace(complaint, fingerprint=print_of)
