"""The static pass: files in, findings out. Nothing is imported or executed of what is read.

Each file is judged for itself (`judge`), here or in other processes, or is remembered from an earlier run. What several
files say about the functions they share is joined here, in an order that depends on nothing but the files.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from exportlint.finding import Applicability, Finding, Fix, Link, Problem, Severity, fingerprint
from exportlint.static.memory import Memory
from exportlint.static.parsed import Files
from exportlint.static.severity import Verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from exportlint.files import SourceFile
    from exportlint.registry import RuleInfo
    from exportlint.static.judgement import Judgement, Told

# Another process has to import the parser and the rules first, which takes as long as judging so many bytes.
BYTES_WORTH_A_PROCESS = 200_000
OnJudged = Callable[[int, int], None]
Place = tuple[str, int, int, int, int, str]  # absolute path, lines and columns, rule


@dataclass(frozen=True, slots=True)
class StaticOptions:
    """How the static pass runs.

    torch   a measured version, None for the newest
    modes   "non-strict", "strict" or both
    jobs    how many processes may judge at the same time
    cache   the folder where judgements are kept between runs; None: they are not
    """

    torch: str | None = None
    modes: tuple[str, ...] = ("non-strict",)
    jobs: int = 1
    cache: Path | None = None


@dataclass(frozen=True, slots=True)
class StaticReport:
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    files: int


def check(
    files: Sequence[SourceFile],
    rules: Sequence[RuleInfo],
    options: StaticOptions,
    on_judged: OnJudged | None = None,
) -> StaticReport:
    """Judge the files. Every problem with a file is reported, and the others are still judged.

    `on_judged` is told how many files are judged, and of how many, each time that the number grows.
    """
    shown = {str(file.absolute): file.shown for file in files}
    known = Files()
    judgements = _judgements(files, known, rules, options, on_judged or _nobody)
    by_name = {rule.name: rule for rule in rules}
    # What was measured is read when a rule has told something.
    joined = _Joined(shown, cache(lambda name: Verdicts(by_name[name], options.torch, options.modes)), known)
    for judgement in judgements:
        joined.take(judgement)
    findings = sorted(joined.findings(), key=lambda f: f.sort_key)
    return StaticReport(tuple(findings), tuple(_problems(shown, judgements)), len(files))


def _nobody(_done: int, _of: int) -> None:
    pass


def _judgements(
    files: Sequence[SourceFile],
    known: Files,
    rules: Sequence[RuleInfo],
    options: StaticOptions,
    on_judged: OnJudged,
) -> list[Judgement]:
    """One for each file, in the order of their paths."""
    asked = frozenset(str(file.absolute) for file in files)
    with Memory(options.cache, rules) as memory:
        found = {file: memory.recall(file, known, asked) for file in files}
        missing = [file for file, judgement in found.items() if judgement is None]
        done = len(files) - len(missing)
        for file, judgement in _judged(missing, known, asked, rules, options.jobs) if missing else ():
            found[file] = judgement
            memory.keep(file, judgement)
            done += 1
            on_judged(done, len(files))
    return sorted((j for j in found.values() if j is not None), key=lambda j: j.path)


def _judged(
    files: Sequence[SourceFile], known: Files, asked: frozenset[str], rules: Sequence[RuleInfo], jobs: int
) -> Iterator[tuple[SourceFile, Judgement]]:
    jobs = min(jobs, len(files), 1 + _bytes_of(files, known) // BYTES_WORTH_A_PROCESS)
    if jobs > 1:
        from exportlint.static.processes import judged_by_processes  # noqa: PLC0415 (a small run needs none of it)

        yield from judged_by_processes(files, asked, rules, jobs)
        return
    from exportlint.static.judge import judge  # noqa: PLC0415 (libcst, which a run that remembers all does not need)

    for file in files:
        yield file, judge(file, known, rules, asked)


def _bytes_of(files: Sequence[SourceFile], known: Files) -> int:
    return sum(known.size(file.path) for file in files)


def _problems(shown: dict[str, str], judgements: Iterable[Judgement]) -> Iterator[Problem]:
    for judgement in judgements:
        name = shown[judgement.path]
        yield from (Problem(name, line, message) for line, message in judgement.wrong)
        yield from (Problem(name, None, message) for message in judgement.failed)


class _Joined:
    """What all judgements say, by place. Of several files that run the same function, one speaks for it."""

    def __init__(self, shown: dict[str, str], verdicts: Callable[[str], Verdicts], files: Files) -> None:
        self._shown = shown
        self._verdicts = verdicts
        self._files = files
        self._at: dict[Place, dict[str, list[tuple[Severity, Told]]]] = defaultdict(dict)

    def take(self, judgement: Judgement) -> None:
        for told in judgement.told:
            severity = self._verdicts(told.rule).severity(told.case)
            if severity is not None and told.path in self._shown:
                loudest = max(severity, Severity(told.at_most), key=lambda s: s.rank)
                place = (told.path, *told.place, told.rule)
                self._at[place].setdefault(judgement.path, []).append((loudest, told))

    def findings(self) -> Iterator[Finding]:
        seen: Counter[tuple[str, str, str]] = Counter()
        for place in sorted(self._at):
            by_file = self._at[place]
            speaker = min(by_file, key=lambda path: (_loudness(by_file[path]), path != place[0], path))
            said: set[str] = set()
            for severity, told in by_file[speaker]:
                if told.case not in said:
                    said.add(told.case)
                    yield self._finding(severity, told, seen)

    def _finding(self, severity: Severity, told: Told, seen: Counter[tuple[str, str, str]]) -> Finding:
        verdicts, shown = self._verdicts(told.rule), self._shown[told.path]
        line = self._files.line(told.path, told.place[0])
        occurrence = seen[told.rule, told.path, line.strip()]
        seen[told.rule, told.path, line.strip()] += 1
        return Finding(
            told.rule, shown, *told.place, severity, f"{told.message}: {verdicts.sentence(told.case)}",
            effect=verdicts.effect(told.case),
            links=tuple(Link(*link) for link in told.links),
            fix=Fix(told.instead, Applicability.DISPLAY),
            fingerprint=fingerprint(told.rule, shown, line, occurrence),
        )  # fmt: skip


def _loudness(said: Iterable[tuple[Severity, Told]]) -> int:
    return min(severity.rank for severity, _ in said)
