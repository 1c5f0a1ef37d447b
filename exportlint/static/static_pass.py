"""The static pass: files in, findings out. Nothing is imported or executed of what is read.

Each file is judged for itself (`check_file`), here or in other processes, or is remembered from an earlier run. What
several files report about the functions they share is merged (`merging`), in an order that depends on the files alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.engine.entry.declared_target import files_named_by
from exportlint.engine.source.parsed import FileStore
from exportlint.files import SourceFile
from exportlint.finding import Finding, Problem, Wanted
from exportlint.static.judgement import MOST_BYTES
from exportlint.static.merging import CaseJudge, MergedSuspicions
from exportlint.static.severity import CompiledCases, ExportedAndCompiled, LoweredCases, MeasuredCases, judge_between
from exportlint.trial.protocol.outcomes import NON_STRICT
from exportlint.trial.protocol.purposes import COMPILE, EXPORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.registry import RuleInfo
    from exportlint.static.judgement import Judgement
    from exportlint.static.judgement_cache import JudgementCache


# Another process has to import the parser and the rules first, which takes as long as judging so many bytes.
BYTES_WORTH_A_PROCESS = 200_000
# The third only where a judgement failed in the second, so that another file speaks of a place.
_ROUNDS = 3
OnJudged = Callable[[int, int], None]
LinesByFile = Mapping[str, frozenset[int]]
Judge = Callable[[Mapping[SourceFile, LinesByFile]], "Iterator[tuple[SourceFile, Judgement]]"]
# Of a rule, and of code that torch.compile is known not to reach (True).
JudgeOfCases = Callable[["RuleInfo", bool], CaseJudge]


@dataclass(frozen=True, slots=True)
class StaticOptions:
    """How the static pass runs.

    torch   a measured version, None for the newest
    modes   "non-strict", "strict" or both
    jobs    how many processes may judge at the same time
    cache   the folder where judgements are kept between runs; None: they are not
    targets those that the configuration names; their inputs show what a model's parameters are
    lowerings  the targets of deployment that somebody ships to
    settings   what is set for some of them, by name
    rewrites   which of a finding's rewrites are made
    mended_at  of some files, by absolute path, the lines of which alone rewrites are made
    purpose    what the models are judged for: export, compile or both
    cache_bytes  how large what is kept between runs may become
    judge      what decides how the cases of a rule are told; None: what was measured of `torch`, for the purpose
    """

    torch: str | None = None
    modes: tuple[str, ...] = (NON_STRICT,)
    jobs: int = 1
    cache: Path | None = None
    targets: tuple[DeclaredTarget, ...] = ()
    lowerings: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rewrites: Wanted = Wanted.ALL
    mended_at: Mapping[str, frozenset[int]] = field(default_factory=dict)
    purpose: str = EXPORT
    cache_bytes: int = MOST_BYTES
    judge: JudgeOfCases | None = None


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

    `on_judged` is called with how many files are judged, and of how many, each time that the number grows.
    """
    return StaticPass(rules, options).check(files, on_judged)


class StaticPass:
    """The static pass in a process that lives: what did not change since the last check is neither parsed nor judged.

    >>> from pathlib import Path
    >>> from exportlint.files import SourceFile
    >>> running = StaticPass([], StaticOptions())
    >>> running.check([SourceFile(Path("net.py"), "net.py", "import torch")]).files
    1
    """

    def __init__(self, rules: Sequence[RuleInfo], options: StaticOptions) -> None:
        self._rules = rules
        self._options = options
        self._known = FileStore()
        self._judgements: dict[str, Judgement] = {}
        self._by_name = {rule.name: rule for rule in rules}
        # What was measured is read only when a rule has reported something.
        judge = options.judge or (lambda rule, in_python: _measured(rule, options, in_python=in_python))
        self._measured = cache(lambda name, in_python: judge(self._by_name[name], in_python))

    @property
    def files(self) -> FileStore:
        """The files as the last check read them."""
        return self._known

    @property
    def read(self) -> frozenset[Path]:
        """The files that its judgements rest on, those that were judged among them."""
        return frozenset(Path(path) for one in self._judgements.values() for path in one.read)

    def check(self, files: Sequence[SourceFile], on_judged: OnJudged | None = None) -> StaticReport:
        """Judge the files as they are now, in the way of the function `check`."""
        self._known = self._known.renewed()
        shown = {str(file.absolute): file.shown for file in files}
        for file in files:  # also where another one imports it
            if file.text is not None:
                self._known.give(file.absolute, file.text)
        judgements, merged = self._judged(files, shown, on_judged or _nobody)
        findings = sorted(merged.findings(), key=lambda f: f.sort_key)
        return StaticReport(tuple(findings), tuple(_problems(shown, judgements)), len(files))

    def _judged(
        self, files: Sequence[SourceFile], shown: dict[str, str], on_judged: OnJudged
    ) -> tuple[list[Judgement], MergedSuspicions]:
        """One for each file, in the order of their paths, and what they say together."""
        known, options, asked = self._known, self._options, frozenset(shown)
        given = set(map(str, known.given))
        # What is remembered has the rewrites of all that a file holds.
        folder = None if options.mended_at else options.cache
        with ExitStack() as leaving:
            memory = leaving.enter_context(self._memory(folder)) if folder else None
            judges = leaving.enter_context(_Judges(known, asked, self._rules, options))
            found = {
                file: self._recalled(file, asked) or (memory.recall(file, known, asked) if memory else None)
                for file in files
            }
            missing: dict[SourceFile, LinesByFile] = {file: {} for file, judged in found.items() if judged is None}
            done = len(files) - len(missing)
            for _ in range(_ROUNDS):
                for file, judgement in judges.judged(missing):
                    found[file] = judgement
                    if memory and given.isdisjoint(judgement.read):  # else it holds for this run alone
                        memory.keep(file, judgement)
                    if done < len(files):
                        done += 1
                        on_judged(done, len(files))
                judgements = sorted((one for one in found.values() if one is not None), key=lambda one: one.path)
                merged = MergedSuspicions(shown, self._measured, known)
                for judgement in judgements:
                    merged.add(judgement)
                # Rewrites for functions of other files are made a second time round, when it is known which of the
                # files that run a function speaks of it: a library's models run the same ones hundreds of times.
                unmade = merged.unmade()
                missing = {file: unmade[path] for file in files if (path := str(file.absolute)) in unmade}
                if not missing:
                    break
        self._judgements |= {one.path: one for one in judgements if not one.failed}
        return judgements, merged

    def _memory(self, folder: Path) -> JudgementCache:
        from exportlint.static.judgement_cache import JudgementCache  # noqa: PLC0415 (SQLite, where something is kept)

        options = self._options
        return JudgementCache(
            folder, self._rules, options.targets, wanted=options.rewrites, most_bytes=options.cache_bytes
        )

    def _recalled(self, file: SourceFile, asked: frozenset[str]) -> Judgement | None:
        """The judgement of an earlier check of this process, if it still holds."""
        judgement = self._judgements.get(str(file.absolute))
        return judgement if judgement and judgement.holds(self._known, asked) else None


class _Judges:
    """Who judges files: this process, or others where there is enough to do. They stay until the end of a check, with
    what they have learnt of the project."""

    def __init__(
        self, known: FileStore, asked: frozenset[str], rules: Sequence[RuleInfo], options: StaticOptions
    ) -> None:
        self._known = known
        self._asked = asked
        self._rules = rules
        self._options = options
        self._judge: Judge | None = None
        self._leaving = ExitStack()

    def __enter__(self) -> _Judges:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_error: object) -> None:
        self._leaving.close()

    def judged(self, files: Mapping[SourceFile, LinesByFile]) -> Iterator[tuple[SourceFile, Judgement]]:
        """Each file with its judgement; `files` with the lines of other files for which rewrites are made."""
        if files:
            self._judge = self._judge or self._here_or_elsewhere(files)
            yield from self._judge(files)

    def _here_or_elsewhere(self, files: Iterable[SourceFile]) -> Judge:
        options, rules, asked = self._options, self._rules, self._asked
        wanted, mended_at, targets = options.rewrites, options.mended_at, options.targets
        sizes = [self._known.size(file.path) for file in files]
        jobs = min(options.jobs, len(sizes), 1 + sum(sizes) // BYTES_WORTH_A_PROCESS)
        if jobs > 1:
            from exportlint.static.worker_pool import WorkerPool  # noqa: PLC0415 (a small run needs none of it)

            pool = WorkerPool(asked, rules, targets, jobs, wanted=wanted, mended_at=mended_at, given=self._known.given)
            return self._leaving.enter_context(pool).judged
        from exportlint.engine.source.symbols import ProjectIndex  # noqa: PLC0415 (as below)
        from exportlint.static.check_file import check_file  # noqa: PLC0415 (libcst, which a run that remembers all does not need)

        index = ProjectIndex(self._known, files_named_by(targets))
        self._leaving.callback(index.close)

        def here(files: Mapping[SourceFile, LinesByFile]) -> Iterator[tuple[SourceFile, Judgement]]:
            for file, lines in files.items():
                one = check_file(
                    file, index, rules, asked, targets, wanted=wanted, mended_at=mended_at, mended_elsewhere=lines
                )
                yield file, one

        return here


def _measured(rule: RuleInfo, options: StaticOptions, *, in_python: bool) -> CaseJudge:
    if rule.cls.lowerings:
        return LoweredCases(rule, options.torch, options.lowerings, options.settings)
    make_compiled = partial(CompiledCases, rule, in_python=in_python)
    compiled = judge_between(make_compiled, options.torch, rule.compiled()) if options.purpose != EXPORT else None
    if compiled is not None and options.purpose == COMPILE:
        return compiled
    exported = judge_between(partial(MeasuredCases, rule, modes=options.modes), options.torch, rule.truth())
    return exported if compiled is None else ExportedAndCompiled(exported, compiled)


def _nobody(_done: int, _of: int) -> None:
    pass


def _problems(shown: dict[str, str], judgements: Iterable[Judgement]) -> Iterator[Problem]:
    for judgement in judgements:
        name = shown[judgement.path]
        yield from (Problem(name, line, message) for line, message in judgement.wrong)
        yield from (Problem(name, None, message) for message in judgement.failed)
