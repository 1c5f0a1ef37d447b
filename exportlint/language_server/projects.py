"""The files that are open, each judged as the pyproject.toml that is nearest to it says."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.config.settings import CommandLine, Config, load_config
from exportlint.errors import UserError
from exportlint.files import SourceFile, matches, shown
from exportlint.finding import Finding, Problem, Severity
from exportlint.workflow.living_check import LivingCheck
from exportlint.workflow.report_building import Gathered, build_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from exportlint.engine.values.abstract_value import Span, Value

NOT_JUDGED = "not-judged"  # what a problem with a file is called, where a finding has its rule


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known of one file.

    text      that was judged; while a file cannot be parsed, the last one that could be
    findings  of that text
    wrong     what keeps the text that it has now from being judged, placed in it
    """

    text: str
    findings: tuple[Finding, ...] = ()
    wrong: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What each file got, by its path, and what is wrong with a configuration, as sentences."""

    files: Mapping[Path, Judged]
    complaints: tuple[str, ...] = ()


@dataclass(slots=True)
class _Project:
    """The files of one pyproject.toml. `given`: the texts that the check has, each of which could be parsed."""

    config: Config
    living: LivingCheck
    stamp: object
    given: dict[Path, str] = field(default_factory=dict)


class Projects:
    """Judges texts. All of it belongs to one thread."""

    def __init__(self) -> None:
        self._asked = CommandLine()
        self._by_root: dict[Path, _Project] = {}
        self._of_folder: dict[Path, _Project] = {}

    def configure(self, *, mode: str | None, torch: str | None) -> None:
        """What the editor's settings overrule in every pyproject.toml."""
        self._asked = CommandLine(mode=mode, torch=torch)
        self.forget()

    def forget(self) -> None:
        """Every configuration is read anew."""
        self._by_root.clear()
        self._of_folder.clear()

    def changed(self, name: str) -> None:
        """It was written on the disk."""
        path = Path(name).resolve()
        if path.name == "pyproject.toml":
            self.forget()

    def config(self, path: Path) -> Config | None:
        """That of a file; None where it cannot be read."""
        project = self._project(path)
        return None if isinstance(project, UserError) else project.config

    def judge(self, texts: Mapping[Path, str]) -> Verdicts:
        """Judge the texts that stand for files, all that are open."""
        if any(project.stamp != _stamp(project.config.root) for project in self._by_root.values()):
            self.forget()
        found: dict[Path, Judged] = {}
        complaints: dict[str, None] = {}
        of_root: dict[Path, dict[Path, str]] = {}
        for path, text in texts.items():
            project = self._project(path)
            if isinstance(project, UserError):
                complaints[str(project)] = None
                found[path] = Judged(text)
            elif any(matches(pattern, project.config.root, str(path)) for pattern in project.config.exclude):
                found[path] = Judged(text)
            else:
                of_root.setdefault(project.config.root, {})[path] = text
        for root, project in self._by_root.items():
            found |= _judged(project, of_root.get(root, {}))
        return Verdicts(found, tuple(complaints))

    def beliefs(self, path: Path, text: str) -> Mapping[Span, Value]:
        """What the engine knows of places of the text; nothing where it cannot be parsed."""
        project = self._project(path)
        if isinstance(project, UserError) or tuple(_wrong(path, text)):
            return {}
        _give(project, path, text)
        return project.living.beliefs(path)

    def _project(self, path: Path) -> _Project | UserError:
        folder = path.parent
        if folder not in self._of_folder:
            try:
                config = load_config([str(path)], self._asked)
                if config.root not in self._by_root:
                    self._by_root[config.root] = _Project(config, LivingCheck(config), _stamp(config.root))
            except UserError as error:
                return error  # asked for again each time, until somebody mends the file
            self._of_folder[folder] = self._by_root[config.root]
        return self._of_folder[folder]


def _stamp(root: Path) -> object:
    """What changes when its pyproject.toml is written: not every editor tells."""
    try:
        status = (root / "pyproject.toml").stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _give(project: _Project, path: Path, text: str) -> None:
    if project.given.get(path) != text:
        project.given[path] = text
        project.living.give(path, text)


def _judged(project: _Project, texts: Mapping[Path, str]) -> dict[Path, Judged]:
    for path in project.given.keys() - texts.keys():
        del project.given[path]
        project.living.drop(path)
    wrong = {path: tuple(_wrong(path, text)) for path, text in texts.items()}
    for path, text in texts.items():
        if not wrong[path]:  # else its neighbours, too, go on with the last text that could be parsed
            _give(project, path, text)
    named = {shown(path): path for path in texts}
    findings, problems = _left(project, [path for path in texts if path in project.given])
    return {
        path: Judged(
            project.given.get(path, text),
            tuple(one for one in findings if named.get(one.path) == path),
            wrong[path] or tuple(_told(one) for one in problems if named.get(one.path) == path),
        )
        for path, text in texts.items()
    }


def _left(project: _Project, paths: list[Path]) -> tuple[tuple[Finding, ...], tuple[Problem, ...]]:
    """What the configuration and the comments in the files leave of what is found."""
    if not paths:
        return (), ()
    report = project.living.check(paths)
    files = tuple(SourceFile(path, shown(path), project.given[path]) for path in paths)
    made = build_report(Gathered(files, len(files), report.findings, report.problems), project.config)
    return made.findings, report.problems


def _wrong(path: Path, text: str) -> Iterator[Finding]:
    """Why it cannot be parsed, at its place."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        end = error.end_lineno or line, error.end_offset or 0
        until = end if end > (line, column) else (line, column + 1)
        message = f"this is not valid Python: {error.msg}"
        yield Finding(NOT_JUDGED, shown(path), line, max(column, 1), *until, Severity.ERROR, message)
    except (ValueError, RecursionError, MemoryError) as error:
        yield _told(Problem(shown(path), None, f"this cannot be parsed: {error or type(error).__name__}"))


def _told(problem: Problem) -> Finding:
    """A problem with a file, as a finding at its line."""
    line = problem.line or 1
    return Finding(NOT_JUDGED, problem.path, line, 1, line, 10_000, Severity.ERROR, problem.message)


def of_paths(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings by the path that they name."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.path, []).append(finding)
    return found
