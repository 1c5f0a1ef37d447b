"""The static pass: files in, findings out. Nothing is imported or executed of what is read."""

from __future__ import annotations

import ast
import re
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.files import SourceError, SourceFile
from exportlint.finding import Applicability, Finding, Fix, Problem, Severity, fingerprint
from exportlint.rule import Scope, Suspicion
from exportlint.static.code import CodePiece, Source
from exportlint.static.links import links_of
from exportlint.static.project import ModuleInfo, Project
from exportlint.static.provenance import Engine
from exportlint.static.severity import Verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.registry import RuleInfo

# A file that mentions none of these defines no module, exports nothing and is not looked into.
_RELEVANT = re.compile(r"\btorch\b|\bforward\b")


@dataclass(frozen=True, slots=True)
class StaticOptions:
    """`torch`: a measured version, None for the newest; `modes`: "non-strict", "strict" or both."""

    torch: str | None = None
    modes: tuple[str, ...] = ("non-strict",)


@dataclass(frozen=True, slots=True)
class StaticReport:
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    files: int


@dataclass(frozen=True, slots=True)
class _File:
    given: SourceFile
    source: Source
    module: ModuleInfo


def check(files: Sequence[SourceFile], rules: Sequence[RuleInfo], options: StaticOptions) -> StaticReport:
    """Judge the files. Every problem with a file is reported, and the others are still judged."""
    problems: list[Problem] = []
    findings: list[Finding] = []
    project = Project()
    read = list(_parsed(files, project, problems))
    engine = Engine(project)
    verdicts = {rule.name: Verdicts(rule, options.torch, options.modes) for rule in rules}
    for file in read:
        with _guarded(file, problems):
            engine.run(file.module)
    for file in read:
        with _guarded(file, problems):
            findings += _judged(file, engine, rules, verdicts)
    return StaticReport(tuple(sorted(findings, key=lambda f: f.sort_key)), tuple(problems), len(files))


def _parsed(files: Sequence[SourceFile], project: Project, problems: list[Problem]) -> Iterator[_File]:
    for file in files:
        try:
            text = file.read()
            if _RELEVANT.search(text):
                yield _File(file, Source(text), project.add(file.path.resolve(), ast.parse(text)))
            else:
                ast.parse(text)
        except SourceError as error:
            problems.append(Problem(file.shown, error.line, str(error)))
        except SyntaxError as error:
            problems.append(Problem(file.shown, error.lineno, f"is not valid Python: {error.msg}"))
        except (ValueError, RecursionError, MemoryError) as error:
            problems.append(Problem(file.shown, None, f"cannot be parsed: {error or type(error).__name__}"))


@contextmanager
def _guarded(file: _File, problems: list[Problem]) -> Iterator[None]:
    """An error of ours costs this file only, and is said."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever a rule does wrong must not stop the other files
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"
        problems.append(Problem(file.given.shown, None, f"exportlint failed on this file, please report it: {said}"))


def _judged(file: _File, engine: Engine, rules: Sequence[RuleInfo], verdicts: dict[str, Verdicts]) -> Iterator[Finding]:
    seen: Counter[tuple[str, str]] = Counter()
    told: set[tuple[object, ...]] = set()
    for suspicion in _suspicions(file, engine, rules):
        severity = verdicts[suspicion.rule].severity(suspicion.case)
        key = (suspicion.rule, suspicion.place, suspicion.case)
        if severity is None or key in told:
            continue
        told.add(key)
        line = file.source.lines[suspicion.place.line - 1]
        seen[suspicion.rule, line.strip()] += 1
        loudest = max(severity, suspicion.at_most, key=lambda s: s.rank)
        yield _finding(file, suspicion, loudest, verdicts[suspicion.rule], line, seen[suspicion.rule, line.strip()] - 1)


def _finding(
    file: _File, said: Suspicion, severity: Severity, verdicts: Verdicts, line: str, occurrence: int
) -> Finding:
    place = said.place
    return Finding(
        said.rule, file.given.shown, place.line, place.column, place.end_line, place.end_column, severity,
        f"{said.message}: {verdicts.sentence(said.case)}",
        effect=verdicts.effect(said.case),
        links=links_of(said.rule),
        fix=Fix(said.instead, Applicability.DISPLAY),
        fingerprint=fingerprint(said.rule, file.given.shown, line, occurrence),
    )  # fmt: skip


def _suspicions(file: _File, engine: Engine, rules: Sequence[RuleInfo]) -> Iterator[Suspicion]:
    belief = engine.beliefs[file.module.path]
    whole = CodePiece(file.source, file.module, belief, file.given.shown)
    yield from _visited(whole, [r for r in rules if r.cls.scope is Scope.FILE])
    mine = [r for r in rules if r.cls.scope is Scope.EXPORTED]
    nested = {id(n) for f in belief.reached for n in ast.walk(f.node) if n is not f.node}
    for function in belief.reached:
        if id(function.node) not in nested:
            yield from _visited(CodePiece(file.source, file.module, belief, file.given.shown, function), mine)


def _visited(piece: CodePiece, rules: Sequence[RuleInfo]) -> Iterator[Suspicion]:
    """Parsed with libcst only when some rule's words occur."""
    for rule in rules:
        if rule.cls.words is None or re.search(rule.cls.words, piece.text_of_piece):
            visitor = rule.cls(piece)
            piece.walk.run(visitor)
            yield from visitor.found
